"""What is known about each language: word lists and patterns as data, compiled on first use.

``languages/{en,id,vi}/statements.toml`` hold the data and say at their head what each table means; ``evidence.toml``
beside it adds broad word classes, chat spellings and further templates under the same names, ``refusals.toml``
signs that a sentence is no statement, ``events.toml`` what tells of an event. Nothing is read or compiled at import.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ingatan.languages.patterns import compiled
from ingatan.text import unaccent

CODES = ("en", "id", "vi")
_OPEN_ENDED = frozenset({"lead", "tail", "polite", "forget", "forget_everything", "laughter", "names", "denied"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Where a named pattern was found in a view: half-open character offsets."""

    start: int
    end: int


class Language:
    """One language's word lists and named patterns.

    A view is lower-cased text of the same length as the original (see ``sentences.lowered``). Vietnamese typed without
    marks is matched with the patterns' unaccented form.
    """

    def __init__(self, code: str, data: dict[str, dict[str, list[str]]]) -> None:
        self.code = code
        self.lists = data["lists"]
        self.patterns = data["patterns"]
        self.cased = data.get("cased", {})
        self.facts = data["facts"]
        self.preference_slots = data["preference_slots"]
        self.topics = data["topics"]
        self.matters = data["matters"]
        self.naming = data["naming"]
        self.spellings: dict[str, str] = {
            typed: plain for plain, forms in data.get("spellings", {}).items() for typed in forms
        }
        self._compiled: dict[tuple[str, str, bool], re.Pattern[str]] = {}

    def search(self, name: str, view: str, *, table: str = "patterns") -> Match | None:
        """The first place where pattern ``name`` of ``table`` holds in ``view``; None also for an unknown name."""
        bare = self.code == "vi" and view == unaccent(view)
        key = (table, name, bare)
        pattern = self._compiled.get(key)
        if pattern is None:
            templates = getattr(self, table).get(name)
            if not templates:
                return None
            pattern = self._compiled[key] = compiled(templates, self.lists, bare=bare, open_ended=name in _OPEN_ENDED)
        found = pattern.search(view)
        return None if found is None else Match(start=found.start(), end=found.end())


@cache
def load(code: str) -> Language:
    """The language ``code`` (one of ``CODES``), read once a process."""
    root = resources.files("ingatan.languages").joinpath(code)
    data: dict[str, dict[str, list[str]]] = {}
    for name in ("statements.toml", "evidence.toml", "refusals.toml", "forgetting.toml", "events.toml"):
        for table, entries in tomllib.loads(root.joinpath(name).read_text(encoding="utf-8")).items():
            held = data.setdefault(table, {})
            for entry, values in entries.items():
                held[entry] = held.get(entry, []) + values
    return Language(code, data)
