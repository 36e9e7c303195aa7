"""What a quote licenses, and what counts as a statement."""

from __future__ import annotations

import pytest

from ingatan.memories.statement import is_statement, stated
from ingatan.memories.support import licensed, recurring


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Prefers short answers", "I prefer short answers"),
        ("User works at the port of Sabang", "Hi, I work at the port of Sabang"),
        ("Wants to be called Rina", "call me Rina"),
        ("Prefers tea to coffee", "I prefer tea to coffee"),
        ("Prefers to be called Rina", "I prefer to be called Rina"),
        ("Lebih suka jawaban ringkas", "saya lebih suka jawaban ringkas"),
        ("Thích trả lời ngắn gọn", "Tôi thích trả lời ngắn gọn"),
    ],
)
def test_a_paraphrase_within_the_frame_is_licensed(text: str, quote: str) -> None:
    assert licensed(text, quote, language="en")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Prefers long answers", "I prefer short answers"),
        ("Likes tables", "I hate tables"),
        ("Works at the port", "I don't work at the port"),
        ("Works at the port", "If I worked at the port"),
        ("Works at the port", "I used to work at the port"),
        ("Leads 5 people", "I lead 6 people"),
        ("Prefers tea to coffee", "I prefer coffee to tea"),
        ("Prefers coffee", "I prefer tea to coffee"),
        ("Prefers coffee", "I prefer tea over coffee"),
        ("I prefer coffee", "I prefer hot black tea from Takengon to coffee"),
        ("Lebih suka kopi", "saya lebih suka teh dibanding kopi"),
        ("Thích cà phê", "Tôi thích trà so với cà phê"),
        ("Walks 5 miles", "I walk 5 kilometres"),
        ("Works at the port in Medan", "I work at the port in Langsa"),
        ("Bekerja di pelabuhan", "saya tidak bekerja di pelabuhan"),
        ("Thích bảng", "Tôi không thích bảng"),
    ],
)
def test_what_the_quote_does_not_say_is_not_licensed(text: str, quote: str) -> None:
    assert not licensed(text, quote, language="en")


def test_an_interest_must_stand_in_every_quote() -> None:
    asked = ["How are fishing permits renewed?", "What do fishing permits cost?"]
    assert recurring("Often asks about fishing permits", asked)
    assert not recurring("Often asks about fishing permits", [*asked, "How is the weather?"])
    assert not recurring("Often asks", asked)


@pytest.mark.parametrize(
    "text",
    ["Never use emojis", "I'm with the fisheries office", "Call me Rina", "Saya tinggal di Langsa", "Đừng dùng bảng"],
)
def test_a_statement_is_told(text: str) -> None:
    assert is_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Medan?",
        "If I were a notary",
        "Suppose I work at the port",
        "Translate: I live in Hanoi",
        "Explain recursion in simple terms",
        "Seandainya saya notaris",
        "Giả sử tôi là công chứng viên",
        "",
    ],
)
def test_what_is_no_statement_is_told(text: str) -> None:
    assert not is_statement(text)


@pytest.mark.parametrize(
    ("turn", "quote"),
    [
        ('A complaint reads: "I prefer to pay cash."', "I prefer to pay cash"),
        ("Translate this: I live in Hanoi", "I live in Hanoi"),
        ("I never said I live in Hanoi", "I live in Hanoi"),
        ("Do I live in Hanoi?", "I live in Hanoi"),
        ("If I live in Hanoi, what then?", "I live in Hanoi"),
        ("Maybe I prefer tea", "I prefer tea"),
    ],
)
def test_a_quote_cut_from_something_else_is_not_stated(turn: str, quote: str) -> None:
    assert not stated(turn, quote)


def test_a_statement_beside_a_question_is_stated() -> None:
    assert stated("Hi! I'm with the fisheries office. What permits do I need?", "I'm with the fisheries office.")
