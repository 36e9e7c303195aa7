"""The last line: a sentence that speaks of the world and of nobody present, or states as known what the rules are.

What may be remembered is about the person or about the answers they want. A sentence with neither a first person nor a
word of asking or answering, and with a norm or a subject of its own, is a fact about something or somebody else.
"""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.lexicon import lexicon
from ingatan.screening.phrases import END, PAUSE
from ingatan.screening.view import View, split
from ingatan.text import unaccent
from ingatan.types import Reason


@cache
def _sentences() -> re.Pattern[str]:
    return re.compile(r"(?<!\d)[^.!?;\n]+(?:(?<=\d)[.](?=\d)[^.!?;\n]+)*([.!?;\n]*)")


def _world(words: tuple[str, ...], *, bare: bool) -> bool:
    """Whether one sentence, as its words, states something of the world."""
    spans = list(lexicon().sentence.spans(words, bare=bare))
    told: set[int] = set()
    for label, start, end in spans:
        if label == "tag":
            told.update(range(start, end))
    seen = {label for label, start, end in spans if label != "tag" and not told.issuperset(range(start, end))}
    if "belief" in seen:
        return "norm" in seen
    if seen & {"person", "wish"}:
        return False
    first = next((at for at, word in enumerate(words) if at not in told and word not in (END, PAUSE)), len(words))
    opened = any(label == "opener" and start == first for label, start, _ in spans)
    return opened or "norm" in seen


def _finds(view: View) -> bool:
    bare = view.language == "vi" and unaccent(view.text) == view.text
    return any("?" not in match[1] and _world(split(match[0]), bare=bare) for match in _sentences().finditer(view.text))


DETECTOR = Detector(name="impersonal", reason=Reason.DOCUMENT_FACT, finds=_finds)
"""Sentences about the world rather than about the person."""
