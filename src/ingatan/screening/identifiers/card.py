"""Payment cards: 12 to 19 digits with an issuer's prefix and Luhn's checksum."""

from __future__ import annotations

import re

from ingatan.screening.identifiers.kind import numbered, valid
from ingatan.screening.numbers import Number

WORDS = (
    r"(?:credit|debit|visa|master|atm|bank|payment) ?card(?: number| no)?|card number|mastercard|amex"
    r"|kartu (?:kredit|debit|atm)|(?:no|nomor)\.? ?kartu|the (?:tin dung|ghi no|atm|visa|ngan hang)|so the"
)
_ISSUER = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689])\d{11,16}|35\d{14,17}"
    r"|(?:2131|1800)\d{11}|6(?:011|4[4-9]|5)\d{12,15}|62\d{14,17}|(?:50|5[6-9]|6\d)\d{10,17}|9[27]\d{14,17}"
)
"""Prefixes and lengths by network (ISO/IEC 7812 ranges as the networks publish them)."""


def luhn(digits: str) -> bool:
    """Whether ``digits`` are a card number by issuer prefix, length and Luhn's checksum."""
    if not 12 <= len(digits) <= 19 or not _ISSUER.fullmatch(digits) or len(set(digits)) < 2:
        return False
    return valid("luhn", digits)


def _bare(number: Number) -> bool:
    return luhn(number.digits) and (len(number.digits) > 12 or number.whole) and not number.amount


KIND = numbered(
    "card",
    lengths=frozenset(range(12, 20)),
    bare=_bare,
    checked=True,
    words=WORDS,
    reads="12 to 19 digits by issuer and checksum, or any beside a word for a card",
    example="the number of a credit card",
)
