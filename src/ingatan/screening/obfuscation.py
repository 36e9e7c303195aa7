"""Hiding itself: text in tag characters, text that runs the other way, words cut by invisible signs.

What stands hidden in a code is no detector's work: ``screen`` puts every reading of a text (``decoding``) to all
detectors and adds this reason to theirs.
"""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.decoding import tagged
from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _signs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    overriding = re.compile("[\u202d\u202e]")
    cut = re.compile("(?<=[A-Za-z])[\u200b-\u200f\u2060-\u2064\ufeff\u034f\u180e]+(?=[A-Za-z])")
    return overriding, cut


def _finds(view: View) -> bool:
    if view.raw.isascii():
        return False
    overriding, cut = _signs()
    if overriding.search(view.raw) or len(tagged(view.raw)) > 1:
        return True
    if not cut.search(view.raw):
        return False
    return bool(view.labels or View(raw=cut.sub(" ", view.raw), language=view.language).labels)


DETECTOR = Detector(
    name="obfuscation",
    reason=Reason.OBFUSCATED,
    finds=_finds,
    reads="tag characters, overridden direction, words cut by invisible signs, and whatever a decoded reading reveals",
    example="an order in base64, ROT13 or leet",
)
