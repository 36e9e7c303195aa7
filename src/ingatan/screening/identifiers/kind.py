"""One kind of identifier: its name, how it is found in a view, and what the catalogue page says of it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ingatan.screening.detector import Detector
from ingatan.screening.numbers import Number, of_work
from ingatan.screening.view import View
from ingatan.text import unaccent
from ingatan.types import Reason

BEFORE_CHARACTERS = 60
"""A word for a number stands at most so far before it ..."""
AFTER_CHARACTERS = 30
"""... or after it."""
_BREAK = re.compile(r"[.!?]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where a value of a kind stands in the raw text: raw[start:end]."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """``places(view)`` yields (start, end) in ``view.mapped``, in order; a ``numeric`` one never without a digit."""

    name: str
    places: Callable[[View], Iterator[tuple[int, int]]]
    reads: str
    example: str
    languages: tuple[str, ...] = ()
    numeric: bool = True

    def spans(self, view: View) -> Iterator[Span]:
        """Every value of this kind, by its place in the raw text."""
        if self.numeric and not view.digits:
            return
        for start, end in self.places(view):
            first, last = view.mapped.span(start, end)
            yield Span(start=first, end=last, kind=self.name)

    def detector(self) -> Detector:
        """The detector of this kind."""
        return Detector(
            name=f"identifier.{self.name}",
            reason=Reason.IDENTIFIER,
            finds=lambda view: (view.digits or not self.numeric) and next(self.places(view), None) is not None,
            reads=self.reads,
            languages=self.languages,
            example=self.example,
        )


@cache
def library(name: str) -> Any:
    """A heavy or many-moduled library, imported when the first number asks for it."""
    return importlib.import_module(name)


def valid(module: str, digits: str) -> bool:
    """Whether ``stdnum.<module>`` takes ``digits``: length, structure, checksum."""
    return bool(library(f"stdnum.{module}").is_valid(digits))


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")


def beside(view: View, start: int, end: int, words: str) -> bool:
    """Whether one of ``words`` (a pattern, without marks) stands in the sentence before text[start:end] or after it."""
    folded = view.mapped.folded
    before = unaccent(folded[max(0, start - BEFORE_CHARACTERS) : start])
    after = unaccent(folded[end : end + AFTER_CHARACTERS])
    pattern = _compiled(words)
    return bool(pattern.search(before) or pattern.search(_BREAK.split(after, maxsplit=1)[0]))


def numbered(
    name: str,
    *,
    lengths: frozenset[int],
    bare: Callable[[Number], bool],
    words: str,
    reads: str,
    example: str,
    languages: tuple[str, ...] = (),
    checked: bool = False,
) -> Kind:
    """A kind written as digits of some ``lengths``: ``bare`` speaks for itself, any other only beside ``words``.

    Without a checksum (``checked``) a number that a thing of work bears, such as an order, is none.

    ``words`` is a pattern over text without marks; empty where no word helps.
    """

    def places(view: View) -> Iterator[tuple[int, int]]:
        for number in view.numbers:
            if len(number.digits) not in lengths or number.date:
                continue
            alone = bare(number) and (checked or not of_work(view.mapped.folded, number.start))
            if alone or (words and beside(view, number.start, number.end, words)):
                yield number.start, number.end

    return Kind(name=name, places=places, reads=reads, example=example, languages=languages)


def matched(
    name: str,
    *,
    pattern: Callable[[], re.Pattern[str]],
    takes: Callable[[str], bool] = bool,
    words: str = "",
    reads: str,
    example: str,
    languages: tuple[str, ...] = (),
    numeric: bool = True,
) -> Kind:
    """A kind with a form of its own: ``pattern`` over ``view.upper``, ``takes`` for a checksum, ``words`` beside it."""

    def places(view: View) -> Iterator[tuple[int, int]]:
        for match in pattern().finditer(view.upper):
            if takes(match[0]) and (not words or beside(view, match.start(), match.end(), words)):
                yield match.start(), match.end()

    return Kind(name=name, places=places, reads=reads, example=example, languages=languages, numeric=numeric)
