"""CMND, the older Vietnamese identity card: nine digits, known by the words beside it."""

from __future__ import annotations

from ingatan.screening.identifiers import cccd
from ingatan.screening.identifiers.kind import numbered

KIND = numbered(
    "cmnd",
    lengths=frozenset({9}),
    bare=lambda number: False,
    words=cccd.WORDS,
    reads="9 digits beside a word for an identity card",
    example="the number of an old identity card",
    languages=("vi", "en"),
)
