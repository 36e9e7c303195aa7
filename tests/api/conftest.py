"""A service under settings of a test's choosing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingatan.settings import PREFIX
from ingatan.storage import embedded
from tests.serving import Service, serving
from tests.tables import Tables

Under = Callable[..., AbstractContextManager[Service]]
"""Serve the test's one database, again and again, each time under other settings: ``under(MEMORY__IDLE_MINUTES="2")``.

``prefix`` is that of the variables; ``parts`` are what ``serving`` takes besides the environment.
"""


@pytest.fixture
def under(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Under:
    @contextmanager
    def serve(*, prefix: str = PREFIX, parts: dict[str, Any] | None = None, **named: str) -> Iterator[Service]:
        environ = {f"{prefix}{name}": value for name, value in named.items()}
        with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ, **(parts or {})) as running:
            yield running

    return serve


@pytest.fixture
def tables(server: embedded.EmbeddedServer, database_name: str) -> Tables:
    """The tables of the test's own database."""
    return Tables.of(server, database_name)
