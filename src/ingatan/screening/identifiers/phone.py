"""Telephone numbers: by the numbering plans of the world beside a + or a word, of Indonesia and Vietnam without."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind, beside, library
from ingatan.screening.numbers import Number, of_work
from ingatan.screening.view import View

NATIONAL = ("ID", "VN")
"""Regions whose numbers are recognised as dialled at home."""
WORDS = (
    r"(?:tele)?phones?(?: number| no)?|cell(?:phone)?|mobile|tel|whatsapp|wa"
    r"|call(?:ed|ing)?|dial|text me|sms|fax|hotline"
    r"|messages? to|answer(?:ing|s)? (?:at|on)|desk|ext|reach (?:me|us|him|her|them)"
    r"|contact(?: number| me| us)?|ring|telegram|zalo|viber"
    r"|hp|handphone|hape|telp|telepon|telpon|tlp|kontak|hubungi|nomor(?:ku| saya| aku)?|telfon"
    r"|sdt|so (?:dien thoai|dt|may|phon)|dien thoai|dt|goi|lien (?:he|lac)|alo"
)


_BOOK = re.compile(r"(?<!\w)(?:isbn|issn|ismn|ean)(?:-?1[03])?\W{0,3}$")
"""What stands right before the number of a book, a journal or a product."""
_BOOK_CHARACTERS = 12
"""So far before a number its word is looked for."""


def dialled(number: Number) -> bool:
    """Whether a number is valid in a numbering plan as it is written: with +, with a country's code, or at home."""
    digits = number.digits
    if number.written.startswith(("+", "(+")) or digits.startswith("00"):
        return _valid("+" + digits.removeprefix("00"), None)
    if digits[:2] in ("62", "84") and _valid("+" + digits, None):
        return True
    return digits[0] == "0" and any(_valid(digits, region) for region in NATIONAL)


def _valid(written: str, region: str | None) -> bool:
    phonenumbers = library("phonenumbers")
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(written, region)))
    except phonenumbers.NumberParseException:
        return False


def _places(view: View) -> Iterator[tuple[int, int]]:
    for number in view.numbers:
        if not 7 <= len(number.digits) <= 15 or number.date or not (number.whole or len(number.digits) >= 9):
            continue
        before = max(0, number.start - _BOOK_CHARACTERS)
        if "+" not in number.written and _BOOK.search(view.mapped.folded, before, number.start):
            continue
        alone = len(number.digits) >= 9 and dialled(number) and not of_work(view.mapped.folded, number.start)
        known = alone or (not number.amount and beside(view, number.start, number.end, WORDS))
        if known or _north_american(number):
            yield _opened(view, number), number.end


def _north_american(number: Number) -> bool:
    """Whether ten digits are written as at home in North America: (212) 555-0123 or 212-555-0123."""
    shape = [len(group) for group in "".join(c if c.isdecimal() else " " for c in number.written).split()]
    if shape not in ([3, 3, 4], [1, 3, 3, 4]) or not set(number.written) & set("-("):
        return False
    return _valid(number.digits[-10:], "US")


def _opened(view: View, number: Number) -> int:
    """Where the number begins, without a bracket that is not closed within it."""
    return number.start + (number.written.startswith("(") and ")" not in number.written)


KIND = Kind(
    name="phone",
    places=_places,
    reads="numbers of the world's numbering plans with +, Indonesian and Vietnamese ones as dialled, any beside a word",
    example="a mobile number",
    languages=CODES,
)
