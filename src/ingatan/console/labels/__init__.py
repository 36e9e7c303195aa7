"""Labels: every word the page says itself, as data, in each language it speaks."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = {"en": "English", "id": "Bahasa Indonesia", "vi": "Tiếng Việt"}
"""The languages of the page by code, each in its own name."""
FALLBACK = "en"


class Labels:
    """The words of one language. ``labels("group.name", count=3)`` fills placeholders; an unknown one is a KeyError."""

    def __init__(self, language: str, words: dict[str, str]) -> None:
        self.language = language
        self.words = words

    def __call__(self, name: str, **values: object) -> str:
        return self.words[name].format(**values)

    def first(self, *names: str) -> str:
        """The first of ``names`` that there is a sentence for; the last must be there."""
        return self.words[next((name for name in names[:-1] if name in self.words), names[-1])]


@cache
def labels(language: str) -> Labels:
    """The labels in ``language``, English for one that the page does not speak."""
    code = language if language in LANGUAGES else FALLBACK
    text = resources.files(__name__).joinpath(f"{code}.toml").read_text(encoding="utf-8")
    return Labels(code, _flat(tomllib.loads(text)))


def preferred(accept_language: str) -> str:
    """The first language of an Accept-Language header spoken here, else English. Quality values are not read."""
    for part in accept_language.split(",")[:20]:
        code = part.split(";")[0].strip().split("-")[0].lower()
        if code in LANGUAGES:
            return code
    return FALLBACK


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    words: dict[str, str] = {}
    for name, value in tree.items():
        words |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": str(value)}
    return words
