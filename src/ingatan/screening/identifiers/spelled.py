"""Numbers spelled out in words, in three languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind
from ingatan.screening.view import View

SPOKEN_DIGITS_MIN = 5
"""So many words for digits in a row are a number that was spelled out."""


@cache
def _pattern() -> re.Pattern[str]:
    digit = (
        r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple"
        r"|nol|kosong|satu|dua|tiga|empat|lima|enam|tujuh|delapan|lapan|sembilan"
        r"|không|khong|một|mot|mốt|hai|ba|bốn|bon|tư|năm|nam|lăm|sáu|sau|bảy|bay|bẩy|tám|tam|chín|chin)"
    )
    return re.compile(rf"(?<!\w)(?:{digit}[\s,.-]{{1,3}}){{{SPOKEN_DIGITS_MIN - 1},}}{digit}(?!\w)")


def _places(view: View) -> Iterator[tuple[int, int]]:
    for match in _pattern().finditer(view.mapped.folded):
        yield match.start(), match.end()


KIND = Kind(
    name="spelled",
    places=_places,
    reads="five words for digits in a row or more",
    example="a phone number read out digit by digit",
    languages=CODES,
    numeric=False,
)
