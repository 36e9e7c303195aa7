"""NINO of the United Kingdom: two letters, six digits, one letter A to D."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.screening.identifiers.kind import Kind, beside
from ingatan.screening.view import View

WORDS = r"nino|ni (?:number|no)|national insurance(?: number| no)?"
_UNUSED = re.compile(r"BG|GB|KN|NK|NT|TN|ZZ|[DFIQUV]|.[DFIOQUV]")


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(r"(?<![^\W_])[A-Z]{2}(?:[ -]?\d{2}){3}[ -]?[A-D](?![^\W_])")


def _places(view: View) -> Iterator[tuple[int, int]]:
    for match in _pattern().finditer(view.upper):
        if not _UNUSED.match(match[0]) or beside(view, match.start(), match.end(), WORDS):
            yield match.start(), match.end()


KIND = Kind(
    name="nino",
    places=_places,
    reads="two letters of the prefixes in use, or any beside a word for it, six digits, a letter A to D",
    example="a national insurance number",
    languages=("en",),
)
