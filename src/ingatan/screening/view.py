"""How a text looks to the detectors: as it was sent, and as a reader or a model would read it. Never stored."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from ingatan.screening import classifier
from ingatan.screening.confusables import latin
from ingatan.screening.decoding import readings
from ingatan.screening.lexicon import lexicon, tone_placement
from ingatan.screening.mapped import Mapped, mapped
from ingatan.screening.numbers import Number, numbers
from ingatan.screening.phrases import MASK
from ingatan.text import unaccent, visible

CHARACTERS_MAX = 20_000
"""A text is judged up to here; ``screen`` refuses what is longer."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:\n]|[,()\"\u201c\u201d]|--|[\u2013\u2014]")
_STOPS = frozenset(".!?;\n")
_PAUSES = frozenset(':,()"\u201c\u201d\u2013\u2014')
_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)")
_ABBREVIATED = re.compile(r"\b(st|mr|mrs|ms|dr|jl|no|prof|ir)\.")
_DIGIT = re.compile(r"[0-9]")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'", "\u02bc": "'"})
_ENDINGS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_SHORT_IS = frozenset({"he", "she", "it", "that", "what", "who", "there", "here", "where", "how"})
_OPENED = {"can't": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"), "ain't": ("am", "not")}
_OPENED |= {"cannot": ("can", "not"), "im": ("i", "am"), "ive": ("i", "have"), "dont": ("do", "not")}
_OPENED |= {"doesnt": ("does", "not"), "cant": ("can", "not")}


def readable(text: str) -> str:
    """``text`` as it reads: NFKC, nothing invisible, look-alike letters of other scripts as Latin, case folded."""
    shown = visible(unicodedata.normalize("NFKC", text)).translate(_QUOTES).casefold().translate(latin())
    return tone_placement(unicodedata.normalize("NFC", shown))


def split(text: str) -> tuple[str, ...]:
    """The words of a readable text, contractions opened, "." for a sentence's end, "," for a pause; begins with "."."""
    words = ["."]
    for word in _WORD.findall(_ABBREVIATED.sub(r"\1", _NUMBER.sub("", text))):
        if word in _STOPS:
            words.append(".")
        elif word in _PAUSES or word == "--":
            words.append(",")
        elif word in _OPENED:
            words.extend(_OPENED[word])
        elif "'" in word:
            words.extend(_opened(word))
        else:
            words.append(word)
    return tuple(words)


def _opened(word: str) -> tuple[str, ...]:
    stem, _, ending = word.rpartition("'")
    if ending == "t" and stem.endswith("n"):
        return (stem[:-1], "not")
    if ending in _ENDINGS:
        return (stem, _ENDINGS[ending])
    if ending == "s":
        return (stem, "is") if stem in _SHORT_IS else (stem,)
    return (word.replace("'", ""),)


@dataclass(frozen=True)
class View:
    """One text under judgement. ``raw`` is as sent; everything else is derived on demand."""

    raw: str
    language: str

    @cached_property
    def text(self) -> str:
        """The readable form of ``raw``."""
        return readable(self.raw)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of ``text``."""
        return split(self.text)

    @cached_property
    def shown(self) -> str:
        """``raw`` in NFKC without what is invisible, case kept: for formats in which case counts."""
        return visible(unicodedata.normalize("NFKC", self.raw))

    @cached_property
    def mapped(self) -> Mapped:
        """``raw`` sign by sign, with the place of each."""
        return mapped(self.raw)

    @cached_property
    def upper(self) -> str:
        """``mapped.text`` in capitals, sign for sign."""
        upper = self.mapped.text.upper()
        return upper if len(upper) == len(self.mapped.text) else self.mapped.text

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """The longer numbers of ``mapped``."""
        return numbers(self.mapped.folded)

    @cached_property
    def digits(self) -> bool:
        """Whether there is any digit: most texts have none, and then no detector of numbers looks further."""
        return _DIGIT.search(self.mapped.folded) is not None

    @cached_property
    def readings(self) -> tuple[tuple[View, bool], ...]:
        """What the text says once decoded, each with whether that is only a guess; bounded (``decoding``)."""
        return tuple((View(raw=text, language=self.language), guess) for text, guess in readings(self.raw))

    @cached_property
    def steering(self) -> str | None:
        """Whether a sentence of ``text`` orders or grants, as ``classifier.steering`` has it."""
        return classifier.steering(self.text)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The classes whose word lists match, work contexts blanked out first for the sensitive ones.

        What a wish says of norms ("if a rule has been repealed, tell me") is blanked out for all of them.
        """
        books = lexicon()
        bare = self.language == "vi" and unaccent(self.text) == self.text
        wished, masked = list(self.words), list(self.words)
        for label, start, end in books.masks.spans(self.words, bare=bare):
            blank = [MASK if word not in (".", ",") else word for word in self.words[start:end]]
            masked[start:end] = blank
            if label == "wish":
                wished[start:end] = blank
        found = {label for label, _, _ in books.plain.spans(wished, bare=bare)}
        found.update(label for label, _, _ in books.sensitive.spans(masked, bare=bare))
        return frozenset(found)
