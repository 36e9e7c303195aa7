"""When two statements fill a slot with the same value."""

from __future__ import annotations

import pytest

from ingatan.memories.slots import Slot, same_value, single_valued, value_of

SAME = [
    (Slot.ANSWER_LANGUAGE, "Answer me in English", "please reply in english from now on"),
    (Slot.ANSWER_LANGUAGE, "Trả lời bằng tiếng Việt, không tiếng Anh", "reply in Vietnamese please"),
    (Slot.ANSWER_LANGUAGE, "Jawab pakai bahasa Inggris, jangan Indonesia", "English answers please"),
    (Slot.ANSWER_LENGTH, "short answers please", "Jawabannya singkat saja"),
    (Slot.ANSWER_LENGTH, "Trả lời ngắn gọn thôi", "keep it brief"),
    (Slot.WORKPLACE, "I work at the port of Sabang", "I work for the Sabang port"),
    (Slot.RESIDENCE, "I live in Langsa", "Actually I moved to Langsa, not Lhokseumawe"),
    (Slot.NAME, "Call me Rina", "My name is Rina"),
    (Slot.NAME, "Tôi tên là Thảo", "toi ten la Thao"),
]
DIFFERENT = [
    (Slot.ANSWER_LANGUAGE, "Answer in English", "Answer in Indonesian"),
    (Slot.ANSWER_LANGUAGE, "Answer in English", "Do not answer in English"),
    (Slot.ANSWER_LENGTH, "short answers please", "I want detailed answers"),
    (Slot.ANSWER_LENGTH, "jawab singkat", "jawab yang panjang"),
    (Slot.WORKPLACE, "Saya bekerja di Dinas Perikanan", "Saya bekerja di Dinas Perhubungan"),
    (Slot.WORKING_HOURS, "I work 8 to 4", "I work 8 to 5"),
    (Slot.RESIDENCE, "Em sống ở Huế", "Em sống ở Vinh"),
    (Slot.ROLE, "I am a notary", "I am not a notary anymore"),
    (Slot.TOOL, "We use QGIS 3", "We use QGIS 4"),
]


@pytest.mark.parametrize(("slot", "one", "other"), SAME)
def test_same_value_however_it_is_said(slot: Slot, one: str, other: str) -> None:
    assert same_value(slot, one, other)


@pytest.mark.parametrize(("slot", "one", "other"), DIFFERENT)
def test_names_numbers_and_negation_tell_values_apart(slot: Slot, one: str, other: str) -> None:
    assert not same_value(slot, one, other)


def test_numbers_keep_their_order_and_separators() -> None:
    assert value_of(Slot.WORKING_HOURS, "from 7:30 to 15:30").numbers == ("7:30", "15:30")


def test_only_listed_slots_hold_one_value() -> None:
    assert single_valued("workplace")
    assert not single_valued("tool")
    assert not single_valued("something_else")
    assert not single_valued(None)


def test_two_titles_are_two_ways_to_be_called() -> None:
    assert not same_value("form_of_address", "Panggil saya Pak Rizal.", "Panggil saya Bang Rizal.")
    assert same_value("form_of_address", "Panggil saya Pak Rizal.", "panggil aku Pak Rizal ya")
    assert same_value("workplace", "Saya bekerja di dinas, Pak.", "Saya bekerja di dinas.")
