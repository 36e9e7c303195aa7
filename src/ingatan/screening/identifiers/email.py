"""E-mail addresses, also with the signs spelled out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind
from ingatan.screening.view import View

_SIGNS = ("@", "at", "a còng", "a cong")


@cache
def _pattern() -> re.Pattern[str]:
    zone = (
        r"(?:com|net|org|id|vn|io|edu|gov|example|test|co|info|me|dev|app|mail|uk|de|fr|xyz|biz|local|ai|sg|my|jp|au"
        r"|eu)"
    )
    return re.compile(
        r"(?<![\w.+-])[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"
        r"|(?<![\w.+-])[\w.+-]{1,64}\s?(?:@|[(\[{]\s?at\s?[)\]}]| at | a còng | a cong )\s?[\w-]{1,64}"
        rf"(?:\s?(?:\.|[(\[{{]\s?(?:dot|titik|chấm)\s?[)\]}}]| dot | titik | chấm | cham )\s?[\w-]{{1,64}}){{0,3}}?"
        rf"\s?(?:\.|[(\[{{]\s?(?:dot|titik|chấm)\s?[)\]}}]| dot | titik | chấm | cham )\s?{zone}(?!\w)"
    )


def _places(view: View) -> Iterator[tuple[int, int]]:
    folded = view.mapped.folded
    if not any(sign in folded for sign in _SIGNS):
        return
    for match in _pattern().finditer(folded):
        end = match.end()
        while folded[end - 1] in "-.":
            end -= 1
        yield match.start(), end


KIND = Kind(
    name="email",
    places=_places,
    reads="a mailbox, @ and a domain, also spelled as (at), dot, titik, chấm",
    example="an e-mail address",
    languages=CODES,
    numeric=False,
)
