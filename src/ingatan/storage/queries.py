"""Named queries from ``storage/sql/*.sql``, one file a noun.

A query begins with ``-- name: noun.verb`` and a comment on what it promises, and ends where the next one begins.
Parameters are ``%(name)s``; a literal percent sign is written ``%%`` everywhere. Comment lines are not sent.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources

MARK = "-- name: "


def load(name: str) -> bytes:
    """The text of query ``name``, ready for the driver; KeyError naming the nearest if there is none. Read once."""
    try:
        return _all()[name]
    except KeyError:
        raise KeyError(f"No query is named '{name}'.{_nearest(name)}") from None


def names() -> frozenset[str]:
    """Every query's name."""
    return frozenset(_all())


def parse(text: str, noun: str) -> dict[str, bytes]:
    """The queries in ``text`` by name; ValueError for a wrong prefix, a repeated name, a missing promise or no SQL."""
    found: dict[str, bytes] = {}
    for part in ("\n" + text).split("\n" + MARK)[1:]:
        name, _, body = part.partition("\n")
        name = name.strip()
        lines = body.splitlines()
        statement = "\n".join(line for line in lines if not line.lstrip().startswith("--")).strip().removesuffix(";")
        if not name.startswith(f"{noun}.") or name in found:
            raise ValueError(f"Query '{name}' in {noun}.sql is repeated, or does not begin with '{noun}.'")
        if not statement or not lines[0].startswith("-- "):
            raise ValueError(f"Query '{name}' needs SQL, and first a comment that says what it promises.")
        found[name] = statement.encode()
    return found


def register(text: str, noun: str) -> None:
    """Add the queries in ``text`` beside the shipped ones: for tests and for what extends this package."""
    _all().update(parse(text, noun))


@cache
def _all() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for file in resources.files("ingatan.storage").joinpath("sql").iterdir():
        if file.name.endswith(".sql"):
            found.update(parse(file.read_text(encoding="utf-8"), file.name.removesuffix(".sql")))
    return found


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, _all(), n=1, cutoff=0.0)
    return f" The nearest is '{close[0]}'." if close else ""
