"""Named queries: found by name, with a promise, or refused."""

from __future__ import annotations

import pytest

from ingatan.storage import queries


def test_a_query_is_found_without_its_comments() -> None:
    assert queries.load("migrate.lock").startswith(b"select pg_advisory_xact_lock(")


def test_an_unknown_name_says_the_nearest() -> None:
    with pytest.raises(KeyError, match=r"migrate\.locks.*nearest is 'migrate\.lock'"):
        queries.load("migrate.locks")


def test_several_queries_in_a_file() -> None:
    text = "-- About.\n\n-- name: a.b\n-- One.\nselect 1\n\n-- name: a.c\n-- Two.\nselect\n    -- why\n    2;\n"
    assert queries.parse(text, "a") == {"a.b": b"select 1", "a.c": b"select\n    2"}


@pytest.mark.parametrize(
    "text",
    [
        "-- name: b.c\n-- Other noun.\nselect 1",
        "-- name: a.b\n-- Twice.\nselect 1\n-- name: a.b\n-- Twice.\nselect 2",
        "-- name: a.b\nselect 1",
        "-- name: a.b\n-- No statement.\n",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Query '"):
        queries.parse(text, "a")
