"""The closed word lists by which a statement is told from what is none, and by which a paraphrase is licensed.

Read at first use from ``languages/*/statement.toml``. People mix languages, so each list is the union of all three.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ingatan.languages import CODES

_SEPARATOR = re.compile(r"[,\n]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Words a paraphrase may add, and the cues of which the quote must hold one (none: recurring interests)."""

    words: frozenset[str]
    cues: re.Pattern[str] | None


def _items(text: str) -> list[str]:
    return [" ".join(part.split()) for part in _SEPARATOR.split(text) if part.strip()]


@cache
def _tables() -> tuple[dict[str, Any], ...]:
    root = files("ingatan.languages")
    return tuple(tomllib.loads(root.joinpath(code, "statement.toml").read_text("utf-8")) for code in CODES)


@cache
def listed(name: str) -> tuple[str, ...]:
    """The entries of one list, folded, over all languages."""
    return tuple(dict.fromkeys(item.casefold() for table in _tables() for item in _items(table["words"][name])))


@cache
def single(name: str) -> frozenset[str]:
    """The single words of ``listed(name)``, entries of several words split."""
    return frozenset(word for item in listed(name) for word in item.split())


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern that finds any entry of one list as whole words in folded text."""
    return _any(listed(name))


def fragments(section: str, name: str) -> str:
    """The pattern fragments of that name in one section, over all languages, as alternatives."""
    return "|".join(table[section][name] for table in _tables() if name in table.get(section, {}))


def _any(entries: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(entries, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


@cache
def frames() -> tuple[Frame, ...]:
    """The closed frame, the frames of one name united over the languages."""
    words: dict[str, set[str]] = {}
    cues: dict[str, dict[str, None]] = {}
    for table in _tables():
        for name, (allowed, cue) in table["frames"].items():
            words.setdefault(name, set()).update(word for item in _items(allowed) for word in item.casefold().split())
            cues.setdefault(name, {}).update(dict.fromkeys(_items(cue)))
    return tuple(
        Frame(words=frozenset(words[name]), cues=_any(tuple(cues[name])) if cues[name] else None) for name in words
    )
