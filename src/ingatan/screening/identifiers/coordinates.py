"""Coordinates of a place: decimal pairs of four places or more, degrees and minutes, map links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind
from ingatan.screening.view import View


@cache
def _pattern() -> re.Pattern[str]:
    degrees = r"\d{1,3}\s?[°º]\s?(?:\d{1,2}(?:\.\d{1,6})?\s?['′’]\s?)?(?:\d{1,2}(?:\.\d{1,6})?\s?(?:[\"″”]|'')\s?)?"
    latitude, longitude = r"[-+]?(?:[0-8]?\d|90)\.\d{4,15}", r"[-+]?(?:1[0-7]\d|180|\d?\d)\.\d{4,15}"
    return re.compile(
        rf"(?<![\w.]){latitude}°?\s{{0,2}}[ns]?\s{{0,2}}[,; /]\s{{0,2}}{longitude}(?!\w)"
        rf"|(?<!\w){degrees}(?:[ns]|lu|ls|b)[\s,;]{{0,3}}{degrees}(?:[ewo]|bt|bb|đ|t)(?!\w)"
        r"|(?<!\w)(?:lat(?:itude)?|lintang|vĩ độ)\W{1,3}[-+]?\d{1,2}\.\d{3,15}\W{1,4}"
        r"(?:lo?ng?(?:itude)?|bujur|kinh độ)\W{1,3}[-+]?\d{1,3}\.\d{3,15}"
    )


def _places(view: View) -> Iterator[tuple[int, int]]:
    for match in _pattern().finditer(view.mapped.folded):
        yield match.start(), match.end()


KIND = Kind(
    name="coordinates",
    places=_places,
    reads="a pair of decimal degrees with four places or more, degrees with minutes, latitude and longitude by name",
    example="where a home is on the map",
    languages=CODES,
)
