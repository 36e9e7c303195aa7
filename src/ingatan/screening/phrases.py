"""A phrasebook: word patterns as data, matched in one pass over a list of words.

A pattern is words separated by spaces. Each place may be

``word``    that word; in Vietnamese lists also the word typed without its marks
``a|b``     one of several
``a_b``     words that belong together, as one of several
``pre*``    any word with that beginning
``@set``    a word or phrase of a named set
``#``       a word with a digit in it
``~n``      up to n words of any kind within the sentence
``^n``      up to n words within the sentence, none of them a first or second person
``-n``      up to n words within the clause
``$``       the end of a sentence or clause
``x?``      the place may be left out
``+``       stands between two places that both hold alternatives, and matches nothing itself

A space always begins a new place, so ``a|b c|d`` is refused: either ``a|b_c|d`` or ``a|b + c|d`` is meant.

Sentence ends are the word ``"."``, commas and the like are ``","``; a text begins with ``"."``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ingatan.text import unaccent

END = "."
PAUSE = ","
MASK = "\u25a1"
BARE_LETTERS_MIN = 5
"""A single Vietnamese word of fewer letters is too ambiguous to be known without its marks."""
SHORT_LETTERS_MIN = 5
"""Shorter syllables are not known without their marks in a text that has marks: "an" is a name there, not "án"."""
PERSONS = "persons"
"""The name of the set of first and second person words that a ``^n`` gap never crosses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a pattern; ``gap`` of -1 means it is a word, not a gap."""

    words: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    barred: frozenset[str] = frozenset()
    gap: int = -1
    number: bool = False
    end: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A compiled pattern and the label it stands for. ``bare`` ones count in unmarked Vietnamese only."""

    label: str
    places: tuple[Place, ...]
    bare: bool = False


def spellings(word: str, *, unmarked: bool, letters_min: int = 0) -> tuple[str, ...]:
    """The ways ``word`` is typed: as it is and, where ``unmarked``, without its marks if it has ``letters_min``."""
    bare = unaccent(word) if unmarked else word
    return (word,) if bare == word or len(bare) < letters_min else (word, bare)


def _place(text: str, sets: Mapping[str, Sequence[str]], *, unmarked: bool, letters_min: int = 0) -> Place:
    optional = len(text) > 1 and text.endswith("?")
    text = text[:-1] if optional else text
    if text[0] in "~^-" and text[1:].isdigit():
        barred = {"~": (), "^": sets.get(PERSONS, ()), "-": (PAUSE,)}[text[0]]
        return Place(gap=int(text[1:]), barred=frozenset(barred))
    words: set[str] = set()
    prefixes: list[str] = []
    phrases: list[tuple[str, ...]] = []
    number = end = False
    for part in text.split("|"):
        if part == "#":
            number = True
        elif part == "$":
            end = True
        elif part.endswith("*"):
            forms = spellings(part[:-1], unmarked=unmarked, letters_min=letters_min)
            if unaccent(part) == part:
                prefixes.extend(forms)
            else:
                words.update(forms)  # a marked syllable stands alone: "tù" is no beginning of "Tùng"
        elif part.startswith("@"):
            for member in sets[part[1:]]:
                split = tuple(member.split())
                if len(split) == 1:
                    words.add(member)
                else:
                    phrases.append(split)
        elif "_" in part:
            phrases.extend(
                tuple(form.split("_")) for form in spellings(part, unmarked=unmarked, letters_min=letters_min)
            )
        else:
            words.update(spellings(part, unmarked=unmarked, letters_min=letters_min))
    return Place(
        words=frozenset(words),
        prefixes=tuple(prefixes),
        phrases=tuple(phrases),
        number=number,
        end=end,
        optional=optional,
    )


def parse(label: str, text: str, sets: Mapping[str, Sequence[str]], *, unmarked: bool) -> Iterator[Pattern]:
    """Compile one pattern; a Vietnamese one of a single word also as a ``bare`` pattern of its unmarked spelling."""
    parts = text.split()
    for left, right in pairwise(parts):
        if "|" in left and "|" in right:
            raise ValueError(f"Pattern '{text}' ({label}): join '{left} {right}' by _ or stand + between them.")
    parts = [part for part in parts if part != "+"]
    while len(parts) > 1 and parts[-1][0] == "~" and parts[-1][1:].isdigit():
        parts.pop()  # a gap at the end asks for nothing
    alone = parts[0]
    if unmarked and len(parts) == 1 and not set("@|") & set(alone):
        yield Pattern(label=label, places=(_place(alone, sets, unmarked=False),))
        if unaccent(alone) != alone and len(alone.rstrip("*")) >= BARE_LETTERS_MIN:
            yield Pattern(label=label, places=(_place(unaccent(alone), sets, unmarked=False),), bare=True)
        return
    least = SHORT_LETTERS_MIN if unmarked else 0
    places = tuple(_place(part, sets, unmarked=unmarked, letters_min=least) for part in parts)
    yield Pattern(label=label, places=places)
    if unmarked and unaccent(text) != text:
        anyhow = tuple(_place(part, sets, unmarked=True) for part in parts)
        if anyhow != places:
            yield Pattern(label=label, places=anyhow, bare=True)


def _ends(place: Place, words: Sequence[str], at: int) -> Iterator[int]:
    """Where ``place`` may end when it begins at ``at``."""
    if at >= len(words):
        if place.end:
            yield at
        return
    word = words[at]
    if place.end and word in (END, PAUSE):
        yield at
    plain = word in place.words or (place.number and any(c.isdigit() for c in word))
    if plain or (place.prefixes and word.startswith(place.prefixes)):
        yield at + 1
    for phrase in place.phrases:
        if phrase[0] == word and tuple(words[at : at + len(phrase)]) == phrase:
            yield at + len(phrase)


def _match(places: Sequence[Place], index: int, words: Sequence[str], at: int) -> int | None:
    if index == len(places):
        return at
    place = places[index]
    if place.gap >= 0:
        for skipped in range(place.gap + 1):
            found = _match(places, index + 1, words, at + skipped)
            if found is not None:
                return found
            crossed = at + skipped
            if crossed >= len(words) or words[crossed] == END or words[crossed] in place.barred:
                return None
        return None
    for end in _ends(place, words, at):
        found = _match(places, index + 1, words, end)
        if found is not None:
            return found
    return _match(places, index + 1, words, at) if place.optional else None


@dataclass(slots=True)
class Phrasebook:
    """Patterns by the words they may begin with: matching costs a look-up a word, not a try of every pattern."""

    by_word: dict[str, list[Pattern]] = field(default_factory=dict)
    by_prefix: dict[str, list[Pattern]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[Pattern]) -> Phrasebook:
        """Index ``patterns``; each must begin with a word, a prefix or a set, after any optional places."""
        book = cls()
        for pattern in patterns:
            for place in pattern.places:
                for first in {*place.words, *(phrase[0] for phrase in place.phrases)}:
                    book.by_word.setdefault(first, []).append(pattern)
                for prefix in place.prefixes:
                    book.by_prefix.setdefault(prefix, []).append(pattern)
                if not place.optional:
                    break
        book.lengths = tuple(sorted({len(prefix) for prefix in book.by_prefix}))
        return book

    def spans(self, words: Sequence[str], *, bare: bool) -> Iterator[tuple[str, int, int]]:
        """Every match as (label, first word, word after the last), in order of the first word."""
        for at, word in enumerate(words):
            candidates = list(self.by_word.get(word, ()))
            for length in self.lengths:
                if length > len(word):
                    break
                candidates.extend(self.by_prefix.get(word[:length], ()))
            for pattern in candidates:
                if pattern.bare and not bare:
                    continue
                end = _match(pattern.places, 0, words, at)
                if end is not None:
                    yield pattern.label, at, end
