"""Quotes that a model copied inexactly, and the clause of the person that a quote points at."""

from __future__ import annotations

import pytest

from ingatan.memories.quotes import clause, located

TURN = "Hi! I’m an  auditor in Medan, for now. Please always answer briefly; I like tea. What does Qanun 7 say?"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("I like tea", "I like tea"),
        ("i'm an auditor in medan", "I’m an  auditor in Medan"),
        ('"Please always answer briefly"', "Please always answer briefly"),
        ("Please always ... I like tea", "Please always answer briefly; I like tea"),
        ("I\u200b like\ntea", "I like tea"),
        ("I like coffee", None),
        ("I ... tea", None),
        ("auditor in Jakarta", None),
        ("...", None),
    ],
)
def test_a_quote_is_mapped_to_the_one_stretch_it_names(quote: str, found: str | None) -> None:
    assert located(quote, TURN) == found


def test_a_quote_that_names_two_stretches_names_none() -> None:
    assert located("I LIKE tea", "I like tea. Yes, I  like tea.") is None
    assert located("I LIKE tea", "I like tea. Yes, I like tea.") == "I like tea"


def pointed(quote: str, turn: str, text: str, used: tuple[str, ...] = ()) -> str:
    return clause(quote, turn, text, used=used, language="en")


def test_of_a_whole_turn_the_clause_meant_is_taken() -> None:
    turn = "Hello there. I live in Takengon. I prefer short answers. Could you list the fees?"
    assert pointed(turn, turn, "Prefers short answers") == "I prefer short answers"
    assert pointed(turn, turn, "Lives in Takengon") == "I live in Takengon"
    assert pointed(turn, turn, "Wohnt in den Bergen") == "I live in Takengon"
    assert pointed(turn, turn, "Wohnt in den Bergen", ("I live in Takengon",)) == "I prefer short answers"


def test_a_clause_that_has_nothing_to_do_with_the_text_is_not_taken() -> None:
    turn = "Thanks a lot. I'll definitely have a look at those websites. I'm glad that I asked you."
    assert pointed(turn, turn, "Owns a car") == turn


def test_a_fragment_grows_to_the_clause_it_stands_in() -> None:
    turn = "I don't prefer short answers. Thanks."
    assert pointed("short answers", turn, "The asker adores brevity") == "I don't prefer short answers"


def test_a_quote_without_a_statement_stays_as_it_is() -> None:
    turn = "What does Qanun 7 say? And Qanun 8?"
    assert pointed(turn, turn, "Likes Qanun 7") == turn
