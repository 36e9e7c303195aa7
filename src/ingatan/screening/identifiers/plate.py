"""Number plates of Indonesia and Vietnam."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.screening.identifiers.kind import Kind, beside
from ingatan.screening.view import View

WORDS = (
    r"plat(?: nomor| no)?|nopol|nomor polisi|tnkb|bien so(?: xe)?|bks|licen[cs]e plate|number plate"
    r"|plate(?: number| no)?"
)


@cache
def _indonesian() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\w/-])(?!(?:UU|PP|PM|SK|SE|NO|RT|RW|QS|PO|TH|PR|ID)\b)[A-Z]{1,2} ?\d{3,4} ?[A-Z]{1,3}(?![\w/-])"
    )


@cache
def _vietnamese() -> re.Pattern[str]:
    return re.compile(r"(?<![\w/-])\d{2}[A-Za-zĐđ][A-Za-z0-9]?[- ]?\d{3}\.?\d{2}(?!\w)")


@cache
def _beside() -> re.Pattern[str]:
    return re.compile(r"(?<![^\W_])(?:[a-z]{1,3}[ -]?\d{1,4}[ -]?[a-z]{0,3}|\d{2}[a-z]\d?[- ]?\d{4,5})(?![^\W_])")


def _places(view: View) -> Iterator[tuple[int, int]]:
    text = view.mapped.text
    for pattern in (_indonesian(), _vietnamese()):
        for match in pattern.finditer(text):
            yield match.start(), match.end()
    for match in _beside().finditer(view.mapped.folded):
        if beside(view, match.start(), match.end(), WORDS):
            yield match.start(), match.end()


KIND = Kind(
    name="plate",
    places=_places,
    reads="letters and digits as on an Indonesian or Vietnamese plate, any like it beside a word for a plate",
    example="the plate of a car",
    languages=("id", "vi", "en"),
)
