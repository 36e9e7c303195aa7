"""What a quote licenses: may these words be stored on the strength of those?

This is licensing, not entailment. A paraphrase is licensed when every content word, number, unit and name in it
stands in the quote in the same order, when it negates, limits, hedges and compares as the quote does, and when all it
adds is of a small closed frame ("prefers", "works at", "user", "wants to be called") for which the quote holds a cue.
A text that is not licensed may still be true; then the person's own clause is stored instead.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from ingatan.memories.wording import fragments, frames, pattern, single
from ingatan.text import fold, unaccent, words

_ENDINGS = ("ing", "ed", "es", "s", "nya", "ku", "lah")
STEM_LETTERS_MIN = 3


def stem(word: str) -> str:
    """A crude stem for comparing inflections (works, working; kantornya); words with digits or marks stay whole."""
    if any(c.isdigit() for c in word) or unaccent(word) != word:
        return word
    word = word.removesuffix("'s").removesuffix("\u2019s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_LETTERS_MIN:
            word = word.removesuffix(ending)
            break
    if len(word) > STEM_LETTERS_MIN and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > STEM_LETTERS_MIN else word


def content(text: str) -> list[str]:
    """The stems of the words of ``text`` that carry content, in order."""
    return [stem(word) for word in words(text) if word not in single("filler")]


def _kept(text: str) -> Counter[str]:
    """The words of ``text`` that a paraphrase may neither add nor drop: negations, limits, hedges, comparisons.

    What was compared away ("over coffee", "to coffee" of what one prefers) must not end as what was chosen.
    """
    folded = fold(text).replace("\u2019", "'")
    found = Counter(
        "not" if name == "negation" and match[0].endswith("n't") else match[0]
        for name in ("negation", "hedge", "comparison")
        for match in pattern(name).finditer(folded)
    )
    found["rival"] = len(_rival().findall(folded))
    return found


@cache
def _rival() -> re.Pattern[str]:
    return re.compile(fragments("support", "rival"))


def licensed(text: str, quote: str, *, language: str) -> bool:
    """Whether ``quote`` licenses ``text`` (see the module). All languages' frames apply; ``language`` is the text's."""
    if fold(text) == fold(quote):
        return True
    if _kept(text) != _kept(quote):
        return False
    folded = fold(quote)
    allowed = {word for frame in frames() if frame.cues and frame.cues.search(folded) for word in frame.words}
    return _follows(text, quote, frozenset(allowed), ordered=True)


def recurring(text: str, quotes: list[str]) -> bool:
    """Whether ``text`` names a subject that stands in every one of ``quotes`` and adds only the frame for interests."""
    allowed = frozenset(word for frame in frames() if frame.cues is None for word in frame.words)
    subject = [word for word in content(text) if word not in {stem(frame_word) for frame_word in allowed}]
    return bool(subject) and all(_follows(text, quote, allowed, ordered=False) for quote in quotes)


def _follows(text: str, quote: str, allowed: frozenset[str], *, ordered: bool) -> bool:
    have = [stem(word) for word in words(quote)]
    at = 0
    for word in words(text):
        stemmed = stem(word)
        start = at if ordered else 0
        if stemmed in have[start:]:
            at = have.index(stemmed, start) + 1
        elif word not in single("filler") and word not in allowed:
            return False
    return True
