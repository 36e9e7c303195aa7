"""Languages: detection, sentences, and patterns that stay fast on hostile text."""

from __future__ import annotations

import time

import pytest

from ingatan.languages import CODES, load
from ingatan.languages.detect import language_of, present
from ingatan.languages.patterns import alternatives, compiled
from ingatan.languages.sentences import TEXT_CHARACTERS_MAX, lowered, masked, quotations, split

DETECTED = [
    ("en", "I work for the harbour office and live near the beach"),
    ("en", "short answers please"),
    ("en", "Based in Takengon."),
    ("id", "Saya bekerja di kantor camat dan tinggal di Sigli"),
    ("id", "gw males baca yg panjang2, singkat aja ya"),
    ("id", "jawab pakai bahasa Inggris"),
    ("vi", "Tôi làm việc ở sở tài nguyên"),
    ("vi", "toi la ke toan, song o Can Tho"),
    ("vi", "gọi em là Thảo nhé"),
]


@pytest.mark.parametrize(("code", "text"), DETECTED)
def test_language_of_short_texts(code: str, text: str) -> None:
    assert language_of(text) == code


def test_mixed_text_lists_both_languages() -> None:
    assert set(present("I prefer jawaban in English kalau topiknya teknis")) == {"en", "id"}
    assert set(present("Please từ nay trả lời mình in short sentences nhé")) == {"en", "vi"}


def test_unknown_text_counts_as_english() -> None:
    assert present("12345 ???") == ("en",)


@pytest.mark.parametrize("code", CODES)
def test_every_pattern_of_every_table_compiles_and_can_miss(code: str) -> None:
    language = load(code)
    for table in ("patterns", "cased", "facts", "preference_slots", "topics", "matters"):
        names = list(getattr(language, table))
        assert names
        for name in names:
            assert language.search(name, "qqqq", table=table) is None, (table, name)


def test_vietnamese_patterns_match_text_without_marks() -> None:
    assert load("vi").search("residence", "toi song o can tho", table="facts") is not None


def test_unknown_pattern_is_never_found() -> None:
    assert load("en").search("no such pattern", "I work here") is None


def test_alternatives_match_exactly_the_entries() -> None:
    pattern = compiled(["{animal} <2>runs"], {"animal": ["cat", "cats", "cattle", "dog"]})
    assert pattern.search("cats often runs")
    assert pattern.search("the dog runs")
    assert not pattern.search("cattles runs")
    assert not pattern.search("dog one two three runs")
    assert alternatives(["ab", "abc", "b"]) == "(?:ab(?:c)?|b)"


def test_sentences_keep_abbreviations_numbers_and_quotations_whole() -> None:
    text = 'Hi! I am Dr. Farida, i.e. the head. Hours: 7.30 to 15.30. She said "Stop. Now." and left; fine'
    assert [sentence.text for sentence in split(text)] == [
        "Hi!",
        "I am Dr. Farida, i.e. the head.",
        "Hours: 7.30 to 15.30.",
        'She said "Stop. Now." and left',
        "fine",
    ]
    assert [sentence.mark for sentence in split("Really?! Yes")] == ["?!", ""]


def test_a_sentence_cut_by_the_limit_is_left_out() -> None:
    sentences = split("I work in Sabang. " + "x" * TEXT_CHARACTERS_MAX)
    assert [sentence.text for sentence in sentences] == ["I work in Sabang."]


def test_views_keep_every_offset() -> None:
    text = "I’m İlkay and\tsaid “my own words” ’kay"
    assert len(lowered(text)) == len(masked(text)) == len(text)
    assert lowered("I’m\there") == "i'm here"
    assert quotations("he wrote 'I live here' and \"I don't\"") == ["I live here", "I don't"]
    assert "live" not in masked("he wrote 'I live here'")


@pytest.mark.parametrize("filler", ["(", "a ", "I work ", '"', "'", ". ", ", ", "mr. ", "saya ", "từ nay "])
def test_long_hostile_text_is_split_in_linear_time(filler: str) -> None:
    started = time.perf_counter()
    split(filler * (100_000 // len(filler)))
    present(filler * (100_000 // len(filler)))
    assert time.perf_counter() - started < 1.0
