"""IBAN: country, check digits, account; the checksum of ISO 13616."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.identifiers.kind import matched, valid


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(
        r"(?<![^\W_])[A-Z]{2}\d{2}[A-Z0-9]{11,30}(?![^\W_])"
        r"|(?<![^\W_])[A-Z]{2}\d{2}(?:[ \n-][A-Z0-9]{4}){2,7}(?:[ \n-][A-Z0-9]{1,3})?(?![^\W_])"
    )


def _takes(written: str) -> bool:
    compact = re.sub(r"[\s-]", "", written)
    return 15 <= len(compact) <= 34 and bool(valid_iban(compact))


def valid_iban(compact: str) -> bool:
    """Whether country, length and check digits are those of an IBAN."""
    return valid("iban", compact) or valid("iso7064.mod_97_10", compact[4:] + compact[:4])


KIND = matched(
    "iban",
    pattern=_pattern,
    takes=_takes,
    reads="country code, check digits and account by checksum, in groups or not",
    example="an account in international form",
)
