"""Events that a person tells: which clauses say what they did, or what became of their matter, at the organisation.

Precision first: an act of their own, done, about an order, a case, a letter, an office and the like; no plan, no
supposition, no habit, nobody else's act, no claim that somebody approved or allowed something. Pure, over the lists of
``events.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from ingatan.languages import CODES, Language, load
from ingatan.languages.sentences import lowered, masked

EVENTS_MAX = 10
"""Events proposed each time a conversation is read, or in one reply of a model; they are outside S1's caps."""
_CLAIM = "event_claim"
_SPEAKS_AGAINST = (
    _CLAIM, "event_not", "event_private", "others", "conditional", "standing_sure", "laughter", "guess", "doubt",
)  # fmt: skip
_ABOUT = ("event_handled", "event_papers", "event_own_office", "event_place")
_TOKEN = re.compile(r"[^\s,;:!?()\"'…]+(?:'[a-z]+)?")
_SHORTENED = re.compile(r"\b(i|we)'(?:ve|d)\b")


def tells_event(clause: str, languages: Sequence[Language]) -> bool:
    """Whether ``clause``, in which nothing is asked, tells such an event in ``languages``."""
    found = _Found(lowered(masked(clause)), languages)
    return found.happened() and not found.any(*_SPEAKS_AGAINST)


def claims(text: str, *, happened: bool) -> bool:
    """Whether ``text`` says that somebody approved or allowed something, or put the person before others, in any
    language; with ``happened`` only where it would tell an event but for that."""
    found = _Found(lowered(masked(text)), [load(code) for code in CODES])
    return found.any(_CLAIM) and (not happened or found.happened())


def same_event(one: str, other: str) -> bool:
    """Whether two clauses tell one event: the same words, numbers included, in the same order, but for where the time
    stands and for words like "already". Unsure is different."""
    return _told(one) == _told(other)


@cache
def fillers() -> frozenset[str]:
    """The words that may stand in one telling of an event and not in another, lowered, over all languages."""
    return frozenset(word for code in CODES for word in load(code).lists["event_filler"])


class _Found:
    """Which classes stand in a clause, in any of the languages."""

    def __init__(self, view: str, languages: Sequence[Language]) -> None:
        self._view = view
        self._languages = languages

    def any(self, *names: str) -> bool:
        return any(language.search(name, self._view) is not None for name in names for language in self._languages)

    def happened(self) -> bool:
        """It has the form of such an event, whatever speaks against it."""
        if not self.any(*_ABOUT):
            return False
        return any(
            (self.any(past) or (self.any(dated) and self.any("event_time"))) and concerns(self)
            for past, dated, concerns in _KINDS
        )

    def handled(self) -> bool:
        """It is about what an organisation handles, by its name, its number or the office."""
        return self.any("event_handled", "event_own_office") or self.numbered()

    def numbered(self) -> bool:
        """It is about such a thing with its number, or with the office."""
        thing = self.any("event_handled", "event_papers")
        return thing and self.any("event_number", "event_own_office", "event_place")

    def at_office(self) -> bool:
        """It is about the office, and a matter that was brought there unless it is that of whom they talk to."""
        return self.any("event_own_office") or (self.any("event_place") and self.any("event_handled", "event_number"))


_KINDS: tuple[tuple[str, str, Callable[[_Found], bool]], ...] = (
    ("event_done", "event_act", _Found.handled),
    ("event_received", "event_receive", _Found.numbered),
    ("event_visited", "event_visit", _Found.at_office),
    ("event_befell", "event_befall", lambda found: True),
)
"""Past by its form, past only with a time, and what it must be about."""


def _told(clause: str) -> tuple[list[str], list[str]]:
    """The words of ``clause`` without its time, and those of the time."""
    view, when = _SHORTENED.sub(r"\1", lowered(clause)), ""
    for code in CODES:
        found = load(code).search("event_time", view)
        if found is not None:
            view, when = f"{view[: found.start]} {view[found.end :]}", view[found.start : found.end]
            break
    return [word for each in _TOKEN.findall(view) if (word := each.rstrip(".")) not in fillers()], when.split()
