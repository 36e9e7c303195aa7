"""Queries of the tests' own, beside the shipped ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingatan.storage import queries


@pytest.fixture(scope="session", autouse=True)
def _test_queries() -> None:
    for noun in ("rows", "probe"):
        queries.register(Path(__file__).with_name(f"{noun}.sql").read_text(encoding="utf-8"), noun)
