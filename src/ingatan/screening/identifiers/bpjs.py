"""BPJS, Indonesian social insurance: health (13 digits, 000 in front) and employment (11 digits)."""

from __future__ import annotations

from ingatan.screening.identifiers.kind import numbered

KIND = numbered(
    "bpjs",
    lengths=frozenset({11, 13}),
    bare=lambda number: len(number.digits) == 13 and number.digits.startswith("000") and number.digits[3:] != "0" * 10,
    words=r"bpjs(?:tk)?|jkn|kis|jamsostek|kpj|(?:no|nomor)\.? ?(?:kartu )?peserta|ketenagakerjaan",
    reads="13 digits with 000 in front, or 11 or 13 beside a word for it",
    example="a member's number of a health fund",
    languages=("id", "en"),
)
