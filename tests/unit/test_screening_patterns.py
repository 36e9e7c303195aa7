"""The pattern language of the word lists: what the loader refuses, and that no list holds what it refuses."""

from __future__ import annotations

import pytest

from ingatan.screening.lexicon import items, lexicon, sets, tables
from ingatan.screening.phrases import Phrasebook, parse

SECTIONS = ("masks", "sensitive", "plain", "sentence")


@pytest.mark.parametrize("text", ["law|the law|a rule", "a|b c|d", "x a|b c|d? y"])
def test_two_places_with_alternatives_side_by_side_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="join"):
        list(parse("label", text, {}, unmarked=False))


def test_alternatives_of_several_words_are_joined() -> None:
    book = Phrasebook.of(parse("law", "law|the_rule says", {}, unmarked=False))
    assert [label for label, _, _ in book.spans((".", "the", "rule", "says"), bare=False)] == ["law"]


def test_a_plus_stands_between_two_places_and_matches_nothing() -> None:
    book = Phrasebook.of(parse("law", "law|rule + says|allows", {}, unmarked=False))
    assert [span for span in book.spans((".", "rule", "allows"), bare=False)] == [("law", 1, 3)]


@pytest.mark.parametrize("language", ["en", "id", "vi"])
@pytest.mark.parametrize("section", SECTIONS)
def test_every_list_is_read_without_ambiguity(language: str, section: str) -> None:
    for label, text in tables()[language][section].items():
        for item in items(text):
            assert list(parse(label, item, sets(), unmarked=language == "vi")), (label, item)


def test_every_book_holds_patterns() -> None:
    books = lexicon()
    assert all(book.by_word for book in (books.masks, books.sensitive, books.plain, books.sentence))
