"""Vietnamese social and health insurance: ten digits, or two letters and thirteen digits on the older cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.screening.identifiers.kind import Kind, beside
from ingatan.screening.view import View

WORDS = (
    r"bhxh|bhyt|(?:so |the |ma so )(?:so )?bao hiem(?: xa hoi| y te)?|bao hiem (?:xa hoi|y te)"
    r"|(?:social|health) insurance"
)


@cache
def _card() -> re.Pattern[str]:
    letters = (
        "DN|HX|CH|NN|TK|HC|XK|HT|TB|NO|CT|XB|TN|CS|XN|MV|TE|BT|HN|DT|DK|XD|TS|TC|TQ|TA|TY|HG|LS|PV|CB|KC|HD|CN|HS|SV|GB"
        "|GD|CC|CK|CD|CA|CY"
    )
    return re.compile(rf"(?<![^\W_])(?:{letters})[ -]?[1-5][ -]?\d{{2}}(?:[ .-]?\d){{10}}(?![^\W_])")


def _places(view: View) -> Iterator[tuple[int, int]]:
    for match in _card().finditer(view.mapped.text):
        yield match.start(), match.end()
    for number in view.numbers:
        if len(number.digits) == 10 and beside(view, number.start, number.end, WORDS):
            yield number.start, number.end


KIND = Kind(
    name="vn_insurance",
    places=_places,
    reads="10 digits beside a word for insurance, or the letters and digits of an older card",
    example="the number of a health card",
    languages=("vi", "en"),
)
