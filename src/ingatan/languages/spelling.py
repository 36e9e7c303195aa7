"""Chat spellings made plain for matching: "gausah", "pendek2", "k thích", "ur" (pure, linear, offsets kept).

Only patterns read the plain form; what is quoted stays as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ingatan.languages import load
from ingatan.text import unaccent

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_DOUBLED = re.compile(r"([a-z]{3,20})2(an|nya|in)?")
_SINGLE = frozenset("UK")
"""Capitals that stand for a word at a sentence's beginning ("U can ...", "K thích ...")."""
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A text in plain spelling; ``offsets[i]`` is where its character ``i`` stands in the text as typed.

    One offset more than characters: the last is the end.
    """

    text: str
    offsets: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The offsets as typed of the plain characters from ``start`` to ``end``."""
        return self.offsets[start], self.offsets[end]


@cache
def _spellings(code: str) -> dict[str, str]:
    return load(code).spellings


def spelled(text: str, codes: Sequence[str]) -> Spelled:
    """``text`` with each word that a language of ``codes`` spells otherwise replaced; a capital stays one.

    A word in capitals is left alone unless all is; a text without diacritics stays one.
    """
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    unmarked = text == unaccent(text)
    shouted = text.isupper()
    for found in _WORD.finditer(text):
        if found[0].isupper() and not shouted and found[0] not in _SINGLE:
            continue  # an abbreviation or a name: "SMP", "R"
        plain = _plain(found[0], codes)
        if plain is None:
            continue
        if unmarked:
            plain = unaccent(plain)  # patterns read a text without marks by their unmarked form
        pieces.append(text[at : found.start()])
        offsets.extend(range(at, found.start()))
        pieces.append(plain)
        last = found.end() - 1
        offsets.extend(min(found.start() + position, last) for position in range(len(plain)))
        at = found.end()
    pieces.append(text[at:])
    offsets.extend(range(at, len(text) + 1))
    return Spelled(text="".join(pieces), offsets=tuple(offsets))


def _plain(word: str, codes: Sequence[str]) -> str | None:
    lower = word.lower()
    for code in codes:
        plain = _spellings(code).get(lower)
        if plain is not None:
            return plain[0].upper() + plain[1:] if word[0].isupper() else plain
    doubled = _DOUBLED.fullmatch(lower) if "id" in codes else None
    if doubled is not None:
        return f"{doubled[1]}-{doubled[1]}{doubled[2] or ''}"
    if lower.startswith(("yyy", "www")):
        return None  # part of a date format or an address
    stretched = _STRETCHED.sub(r"\1", word)
    return stretched if stretched != word and not word.isupper() else None
