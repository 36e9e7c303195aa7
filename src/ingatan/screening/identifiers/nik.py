"""NIK, the number of an Indonesian identity card: province, district, date of birth (women: day + 40), serial."""

from __future__ import annotations

import re

from ingatan.screening.identifiers.kind import numbered
from ingatan.screening.numbers import Number

WORDS = r"nik|(?:no|nomor)\.? ?(?:e-?)?ktp|e-?ktp|ktp|ktp-el|nomor induk(?: kependudukan)?|national id(?: number)?"
_PROVINCE = re.compile(r"1[1-9]|21|3[1-6]|5[1-3]|6[1-5]|7[1-6]|8[12]|9[1-7]")
"""First two digits: the province of issue (Kemendagri codes)."""


def structured(digits: str) -> bool:
    """Whether 16 digits are built like a NIK or KK number: province, district, date, serial."""
    if len(digits) != 16 or not _PROVINCE.match(digits) or digits[-4:] == "0000":
        return False
    day, month = int(digits[6:8]), int(digits[8:10])
    return digits[2:4] != "00" and 1 <= (day - 40 if day > 40 else day) <= 31 and 1 <= month <= 12


def _bare(number: Number) -> bool:
    return structured(number.digits)


KIND = numbered(
    "nik",
    lengths=frozenset({16}),
    bare=_bare,
    words=WORDS,
    reads="16 digits built of province, district, date and serial, or any 16 beside a word for it",
    example="the number of an identity card (KTP)",
    languages=("id", "en"),
)
