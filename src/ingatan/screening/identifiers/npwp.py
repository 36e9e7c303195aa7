"""NPWP, the Indonesian tax number: 15 digits in the old form, 16 in the new (a NIK, or 0 and the old one)."""

from __future__ import annotations

import re

from ingatan.screening.identifiers.kind import numbered, valid
from ingatan.screening.numbers import Number

_WRITTEN = re.compile(r"\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}")


def _bare(number: Number) -> bool:
    return bool(_WRITTEN.fullmatch(number.written)) or (
        len(number.digits) == 16 and number.digits.startswith("0") and valid("id.npwp", number.digits)
    )


KIND = numbered(
    "npwp",
    lengths=frozenset({15, 16}),
    bare=_bare,
    checked=True,
    words=r"npwp\d*|(?:no|nomor)\.? ?(?:pokok )?wajib pajak|tax (?:id|number|no)|nomor pajak",
    reads="15 digits in the written form, 16 with 0 in front by checksum, or 15 or 16 beside a word for it",
    example="a taxpayer's number",
    languages=("id", "en"),
)
