"""The attributes a memory can fill, and when two statements fill one with the same value.

A single-valued slot holds one value at a time (CONTRACT §4): a newer statement with another value replaces the older.
Many-valued slots hold any number. Values are compared by what they name: words without function words, numbers with
their units, names, and negation; never by similarity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ingatan.languages import CODES, load
from ingatan.languages.sentences import lowered
from ingatan.text import fold, unaccent, words


class Slot(StrEnum):
    """What a statement is about. Stored as text; unknown text is treated as many-valued."""

    NAME = "name"
    FORM_OF_ADDRESS = "form_of_address"
    ANSWER_LANGUAGE = "answer_language"
    ANSWER_LENGTH = "answer_length"
    ANSWER_TONE = "answer_tone"
    ROLE = "role"
    WORKPLACE = "workplace"
    RESIDENCE = "residence"
    WORKING_HOURS = "working_hours"
    TEAM = "team"
    ANSWER_FORMAT = "answer_format"
    NOTIFICATION = "notification"
    PROJECT = "project"
    SECTOR = "sector"
    EDUCATION = "education"
    TOOL = "tool"
    LANGUAGE_SPOKEN = "language_spoken"
    HOBBY = "hobby"
    INTEREST = "interest"
    POSSESSION = "possession"
    LIKE = "like"
    DISLIKE = "dislike"


SINGLE_VALUED = frozenset(
    {
        Slot.NAME, Slot.FORM_OF_ADDRESS, Slot.ANSWER_LANGUAGE, Slot.ANSWER_LENGTH, Slot.ANSWER_TONE, Slot.ROLE,
        Slot.WORKPLACE, Slot.RESIDENCE, Slot.WORKING_HOURS, Slot.TEAM,
    }
)  # fmt: skip
"""Formats and notifications are many-valued: "no emojis" and "use tables" both stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What a statement says for its slot: comparable, never stored. ``negated`` counts denials modulo two."""

    words: frozenset[str]
    numbers: tuple[str, ...]
    negated: bool


_ANSWER_LANGUAGES = {
    "en": ("english", "inggris", "ingris", "tieng anh"),
    "id": ("indonesian", "indonesia", "indo", "tieng indonesia"),
    "vi": ("vietnamese", "vietnam", "tieng viet"),
    "ace": ("acehnese", "aceh"),
}
_HONORIFICS = frozenset(
    {
        "mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madam", "pak", "bapak", "bu", "ibu", "bang", "abang", "kak",
        "kakak", "mas", "mbak", "om", "tante", "teungku", "tgk", "cut", "anh", "chi", "em", "co", "chu", "bac", "ong",
        "ba", "thay",
    }
)  # fmt: skip
"""Titles by which people want to be called, unaccented: elsewhere they tell no two values apart."""
_SAID_OTHERWISE = re.compile(
    r"(?:,\s*)?\b(?:not|instead of|rather than|no longer|bukan|daripada|ketimbang|jangan|không phải|thay vì|không còn"
    r"|đừng)\b(?!\s+(?:only|just|hanya|chỉ)\b).*$|,\s*(?:không|khong)\b.*$"
)
"""What follows is what the value is not. Over folded text."""


def named_in(text: str) -> frozenset[str]:
    """Every attribute that ``text`` says something of, by any sign in any language; rather too many than too few."""
    view = lowered(text)
    found = set()
    for code in CODES:
        language = load(code)
        for table in ("facts", "preference_slots", "matters", "naming"):
            found |= {slot for slot in getattr(language, table) if language.search(slot, view, table=table) is not None}
    return frozenset(found)


def single_valued(slot: str | None) -> bool:
    """Whether ``slot`` holds one value at a time; False for None and for unknown names."""
    return slot is not None and slot in SINGLE_VALUED


def value_of(slot: str, text: str) -> Value:
    """The value that ``text`` gives ``slot``, ready to compare. Words are folded and unaccented."""
    folded = fold(text)
    if single_valued(slot):
        folded = _SAID_OTHERWISE.sub("", folded).strip() or folded
    folded = unaccent(folded)
    named = None
    if slot == Slot.ANSWER_LANGUAGE:
        named = _language_named(folded)
    elif slot == Slot.ANSWER_LENGTH:
        named = _length_named(folded)
    numbers, negated = _numbers(folded), _negated(folded)
    if named is not None:
        return Value(words=frozenset({named}), numbers=numbers, negated=negated)
    plain = _plain_words() | _listed("negation") | set(numbers)
    if slot == Slot.FORM_OF_ADDRESS:
        plain -= _HONORIFICS  # "Pak Rizal" and "Bang Rizal" are two ways to be called
    return Value(words=frozenset(words(folded)) - plain, numbers=numbers, negated=negated)


def same_value(slot: str, one: str, other: str) -> bool:
    """Whether two statements give ``slot`` the same value. Unsure is different."""
    return value_of(slot, one) == value_of(slot, other)


def _numbers(folded: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\d+(?:[.,:/]\d+)*%?", folded))


def _negated(folded: str) -> bool:
    return sum(word in _listed("negation") for word in words(folded)) % 2 == 1


def _language_named(folded: str) -> str | None:
    """The first language named, or None."""
    places = {
        code: min((at for name in names if (at := _place(name, folded)) >= 0), default=-1)
        for code, names in _ANSWER_LANGUAGES.items()
    }
    named = [(at, code) for code, at in places.items() if at >= 0]
    return min(named)[1] if named else None


def _length_named(folded: str) -> str | None:
    short = any(_place(name, folded) >= 0 for name in _listed("short"))
    long = any(_place(name, folded) >= 0 for name in _listed("long"))
    if short == long:
        return None
    return "short" if short else "long"


def _place(name: str, folded: str) -> int:
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded)
    return -1 if found is None else found.start()


@cache
def _listed(name: str) -> frozenset[str]:
    """List ``name`` of every language, unaccented."""
    return frozenset(unaccent(word) for code in CODES for word in load(code).lists[name])


@cache
def _plain_words() -> frozenset[str]:
    """Function words and the frames around a value: they do not tell two values apart."""
    return _listed("function_words") | _listed("value_frames")
