"""The word lists of all three languages as phrasebooks, read from ``languages/*/screening.toml`` at first use.

People mix languages, so the lists are always applied together, and a set named alike in two languages is one set.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ingatan.languages import CODES
from ingatan.screening.phrases import Pattern, Phrasebook, parse, spellings

UNMARKED = frozenset({"vi"})
"""Languages that are often typed without their marks."""
SET_LETTERS_MIN = 3
"""Shorter members of a Vietnamese set are not known without their marks ("mẹ" is not "me")."""
_SEPARATOR = re.compile(r"[,\n]")
_PLACEMENT = {
    old: new
    for pair in ("oà òa", "oá óa", "oả ỏa", "oã õa", "oạ ọa", "oè òe", "oé óe", "oẻ ỏe", "oẽ õe", "oẹ ọe",
                 "uỳ ùy", "uý úy", "uỷ ủy", "uỹ ũy", "uỵ ụy")
    for old, new in [pair.split()]
}  # fmt: skip
_PLACED = re.compile(f"(?<!q)({'|'.join(_PLACEMENT)})\\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """``masks`` are ordinary work contexts blanked out before ``sensitive`` is looked for; ``plain`` sees all words.

    ``sentence`` tells what a sentence is about: the person, the answers, a norm, or something else.
    """

    masks: Phrasebook
    sensitive: Phrasebook
    plain: Phrasebook
    sentence: Phrasebook


def tone_placement(text: str) -> str:
    """Vietnamese tone marks as the older spelling places them (hoà as hòa), so both spellings compare equal."""
    return _PLACED.sub(lambda match: _PLACEMENT[match[1]], text)


def items(text: str) -> list[str]:
    """The entries of a list written with commas and line ends; a line that begins with # is a remark."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("# "))
    return [item for item in (" ".join(part.split()) for part in _SEPARATOR.split(lines)) if item]


@cache
def tables() -> dict[str, dict[str, Any]]:
    """The parsed ``screening.toml`` of each language."""
    root = files("ingatan.languages")
    return {
        language: tomllib.loads(tone_placement(root.joinpath(language, "screening.toml").read_text("utf-8")))
        for language in CODES
    }


@cache
def sets() -> dict[str, tuple[str, ...]]:
    """The named sets, each the union over the languages, with unmarked spellings of Vietnamese phrases."""
    merged: dict[str, dict[str, None]] = {}
    for language, table in tables().items():
        for name, text in table.get("sets", {}).items():
            members = merged.setdefault(name, {})
            for item in items(text):
                for spelling in spellings(item, unmarked=language in UNMARKED):
                    if spelling == item or len(spelling) >= SET_LETTERS_MIN:
                        members[spelling] = None
    return {name: tuple(members) for name, members in merged.items()}


def _patterns(section: str) -> list[Pattern]:
    found: list[Pattern] = []
    for language, table in tables().items():
        for label, text in table.get(section, {}).items():
            for item in items(text):
                found.extend(parse(label, item, sets(), unmarked=language in UNMARKED))
    return found


@cache
def lexicon() -> Lexicon:
    """The phrasebooks, built once (tens of milliseconds)."""
    return Lexicon(
        masks=Phrasebook.of(_patterns("masks")),
        sensitive=Phrasebook.of(_patterns("sensitive")),
        plain=Phrasebook.of(_patterns("plain")),
        sentence=Phrasebook.of(_patterns("sentence")),
    )
