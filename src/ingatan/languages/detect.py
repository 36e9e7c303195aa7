"""Which of the languages a short text is in, by its function words. Mixed texts list every language present."""

from __future__ import annotations

import re
from functools import cache

from ingatan.languages import CODES, Language, load
from ingatan.languages.sentences import lowered
from ingatan.text import unaccent

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_MARKED = re.compile(r"[ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]")
WORDS_MAX = 80
PRESENT_SHARE = 0.2
"""A language is present when it scores at least this share of the best one."""


def _class_words(language: Language) -> frozenset[str]:
    """The single words of the classes, which clipped sentences ("penjahit rumahan, daerah X") consist of."""
    names = ("role_noun", "role_word", "organisation", "field", "seeming", "reach")
    return frozenset(word for name in names for entry in language.lists.get(name, ()) for word in entry.split())


@cache
def _vocabulary(code: str) -> frozenset[str]:
    language = load(code)
    entries = frozenset(language.lists["function_words"]) | language.spellings.keys() | _class_words(language)
    return entries | {unaccent(entry) for entry in entries} if code == "vi" else entries


def present(text: str) -> tuple[str, ...]:
    """The languages found in ``text``, likeliest first; never empty (English when nothing is known)."""
    found = _WORD.findall(lowered(text[:1000]))[:WORDS_MAX]
    scores = {code: 0.0 for code in CODES}
    for word in found:
        holders = [code for code in CODES if word in _vocabulary(code)]
        for code in holders:
            scores[code] += 1 / len(holders)
        if _MARKED.search(word):
            scores["vi"] += 1.0
    best = max(scores.values())
    if scores["vi"] < best and not _MARKED.search(lowered(text[:1000])):
        scores["vi"] = 0.0  # its unmarked words are words of the others too
    if best == 0:
        return ("en",)
    ranked = sorted(CODES, key=lambda code: (-scores[code], CODES.index(code)))
    found_in = tuple(code for code in ranked if scores[code] >= max(0.5, PRESENT_SHARE * best))
    return found_in or tuple(ranked[:1])  # of one word that all three share


def language_of(text: str) -> str:
    """The likeliest language of ``text``: ``en``, ``id`` or ``vi``."""
    return present(text)[0]
