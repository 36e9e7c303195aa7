"""A text as it reads, sign by sign, that still knows where each sign stood: for values whose place is asked for."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from ingatan.screening.confusables import DASHES, latin
from ingatan.text import visible


@dataclass(frozen=True, slots=True)
class Mapped:
    """``text`` keeps case, ``folded`` has none and reads look-alikes as Latin; both are equally long.

    ``origins`` holds the place in the raw text of each sign, or is empty where all places are the same.
    """

    text: str
    folded: str
    origins: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end], not empty, stands in the raw text; invisible signs within it are part of it."""
        if not self.origins:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


def mapped(raw: str) -> Mapped:
    """``raw`` without what is invisible, digits of every script and width as 0 to 9, dashes as hyphens. Linear."""
    if raw.isascii():
        return Mapped(raw, raw.lower(), ())
    signs: list[str] = []
    origins: list[int] = []
    for at, sign in enumerate(raw):
        for shown in _shown(sign):
            signs.append(shown)
            origins.append(at)
    table = latin()
    folded = [_folded(sign).translate(table) for sign in signs]
    same = origins == list(range(len(raw)))
    return Mapped("".join(signs), "".join(folded), () if same else tuple(origins))


def _shown(sign: str) -> str:
    if sign.isascii():
        return sign
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    shown = visible(unicodedata.normalize("NFKC", sign))
    return shown.translate(DASHES)


def _folded(sign: str) -> str:
    folded = sign.casefold()
    return folded if len(folded) == 1 else sign
