"""What a clause that no template names still shows by broad word classes: a wish, a taste, a trade, an activity.

It is asked only of clauses that nothing speaks against (see ``statements``). Hardly any class decides alone: a trade or
an activity needs something it is tied to, a wish needs what it is about and signs that it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingatan.languages import Language
from ingatan.languages.sentences import lowered, masked
from ingatan.types import MemoryType

WISH_SIGNS_MIN = 2
TRADE_WORDS_MAX = 8
"""A clause of so few words that opens with a trade needs nothing that the trade is tied to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a clause is by its word classes; ``signs`` counts what makes it a wish (0 where it is none)."""

    type: MemoryType | None
    signs: int


def evident(clause: str, languages: Sequence[Language], *, oneoff: bool, explicit: bool) -> Evidence:
    """What ``clause`` shows. ``oneoff``: it speaks of this answer, so it is no wish."""
    found = _Found(clause, languages)
    signs = 0
    if not oneoff and found.any("matter"):
        signs = found.count("lean", "habit", "ask", "taste") + explicit + WISH_SIGNS_MIN * found.any("firm")
    return Evidence(type=_type(found, signs, oneoff=oneoff, short=len(clause.split()) <= TRADE_WORDS_MAX), signs=signs)


def _type(found: _Found, signs: int, *, oneoff: bool, short: bool) -> MemoryType | None:
    acts = found.any("finite") and not found.any("about_self")  # "teachers in X got a raise"
    trade = found.any("trade") and (short or found.tied()) and not acts
    lasting = found.any("doing") and found.tied()
    if not oneoff and found.any("taste") and not lasting and not trade:
        return MemoryType.PREFERENCE
    wished = signs >= WISH_SIGNS_MIN or (signs == 1 and not found.any("chore"))
    if wished and not (lasting and not found.any("firm", "lean", "taste")) and not trade and not found.any("own"):
        return MemoryType.PREFERENCE
    told = trade or lasting or found.any("trade_own", "own") or (found.any("subject", "staying") and found.tied())
    if told and not (oneoff and not found.any("about_self")):
        return MemoryType.FACT
    if oneoff or found.any("chore"):
        return None
    standing = found.any("firm") or (found.any("always") and found.any("ask", "lean"))
    return MemoryType.PREFERENCE if standing or (found.any("pick") and found.any("habit")) else None


class _Found:
    """Which classes stand in a clause, each looked for once at most."""

    def __init__(self, clause: str, languages: Sequence[Language]) -> None:
        self._clause = clause.replace("’", "'")
        self._view = lowered(masked(clause))
        self._languages = languages

    def any(self, *names: str) -> bool:
        return any(language.search(name, self._view) is not None for name in names for language in self._languages)

    def count(self, *names: str) -> int:
        return sum(self.any(name) for name in names)

    def tied(self) -> bool:
        placed = any(language.search("place", self._clause, table="cased") is not None for language in self._languages)
        return placed or self.any("anchor")
