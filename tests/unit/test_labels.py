"""The page's own words: all there, in every language."""

from __future__ import annotations

import re

import pytest

from ingatan.console.labels import LANGUAGES, labels, preferred
from ingatan.console.pages import REMOVED
from ingatan.memories.packet import Note
from ingatan.types import MemoryType, MessageRole, Reason

NEEDED = {
    *(f"reason.{reason.value}" for reason in Reason),
    *(f"note.{note.value}" for note in Note),
    *(f"type.{kind.value}" for kind in MemoryType),
    *(f"conversations.{role.value}" for role in MessageRole),
    *(f"receipt.{name}" for name in REMOVED),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_has_a_sentence(language: str) -> None:
    words = labels(language).words
    assert words.keys() >= NEEDED
    assert {name for name in words if name.startswith("reason.")} <= NEEDED
    assert all(value.strip() for value in words.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_names_and_placeholders(language: str) -> None:
    english, other = labels("en").words, labels(language).words
    assert english.keys() == other.keys()
    for name, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", other[name])), name
    if language != "en":
        same = {name for name in english if english[name] == other[name]}
        assert same <= {"page.title", "production.title"}


@pytest.mark.parametrize(
    ("header", "language"),
    [("vi-VN,vi;q=0.9,en;q=0.5", "vi"), ("fr, id;q=0.7", "id"), ("", "en"), ("xx", "en"), ("EN-gb", "en"), ("*", "en")],
)
def test_the_first_language_that_is_spoken_is_taken(header: str, language: str) -> None:
    assert preferred(header) == language
