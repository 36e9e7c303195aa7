"""What the field cases share: the tables as an administrator sees them, and everything that is logged."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from ingatan import telemetry
from ingatan.storage import embedded
from tests.tables import Tables


@pytest.fixture
def tables(server: embedded.EmbeddedServer, database_name: str) -> Tables:
    """The tables of the test's own database."""
    return Tables.of(server, database_name)


@pytest.fixture
def heard() -> Iterator[io.StringIO]:
    """Everything that is logged in this process at the lowest level, by whatever library."""
    out = io.StringIO()
    telemetry.configure("debug", stream=out)
    handler = logging.StreamHandler(out)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # the test's own client
    logging.getLogger("httpx").setLevel(logging.WARNING)
    yield out
    root.removeHandler(handler)
    root.setLevel(before)
    telemetry.configure("info")
