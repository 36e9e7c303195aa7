"""Passports: a letter or two and seven digits beside a word for it; the machine-readable zone by its check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind, beside
from ingatan.screening.view import View

WORDS = r"passports?|paspor(?:ku|nya)?|ho chieu|travel document|no\.? paspor"
_WEIGHTS = (7, 3, 1)


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(r"(?<![^\W_])(?:[a-z]{1,2}[ -]?\d{6,8}|[a-z]\d[a-z]\d{6}|\d{9})(?![^\W_])")


@cache
def _zone() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9<])[A-Z0-9<]{9}\d[A-Z<]{3}\d{6}\d[MFX<]\d{6}\d[A-Z0-9<]{2,17}")


def check_digit(value: str) -> int:
    """The check digit of ICAO 9303 over ``value``."""
    total = 0
    for at, sign in enumerate(value):
        number = 0 if sign == "<" else int(sign, 36)
        total += number * _WEIGHTS[at % 3]
    return total % 10


def _places(view: View) -> Iterator[tuple[int, int]]:
    folded = view.mapped.folded
    for match in _pattern().finditer(folded):
        if beside(view, match.start(), match.end(), WORDS):
            yield match.start(), match.end()
    if "<" not in folded:
        return
    for match in _zone().finditer(view.mapped.text):
        zone = match[0]
        if check_digit(zone[:9]) == int(zone[9]) or check_digit(zone[13:19]) == int(zone[19]):
            yield match.start(), match.end()


KIND = Kind(
    name="passport",
    places=_places,
    reads="one or two letters and 6 to 8 digits beside a word for a passport; a machine-readable zone by check digit",
    example="a passport's number",
    languages=CODES,
)
