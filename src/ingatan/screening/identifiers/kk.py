"""KK, the number of an Indonesian family card: built like a NIK, known by the words beside it."""

from __future__ import annotations

from ingatan.screening.identifiers.kind import numbered

KIND = numbered(
    "kk",
    lengths=frozenset({16}),
    bare=lambda number: False,
    words=r"kartu keluarga|(?:no|nomor)\.? ?kk|kk|family card",
    reads="16 digits beside a word for a family card (alone they read as a NIK)",
    example="the number of a family card",
    languages=("id", "en"),
)
