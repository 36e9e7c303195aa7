"""What a hostile tester made a lying model store or close, each as a test of its kind: polarity, persons, wishes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from ingatan.memories import policy
from ingatan.memories.decision_context import PolicyContext, Writer
from ingatan.types import (
    Candidate,
    Decision,
    Evidence,
    Memory,
    MemoryStatus,
    MemoryType,
    MessageRole,
    Operation,
    Outcome,
    Reason,
    SourceKind,
    Trust,
    Turn,
    new_id,
)

ME, NOW = new_id(), datetime.now(UTC)


def turn(text: str) -> Turn:
    return Turn(id=new_id(), seq=1, role=MessageRole.USER, author_id=ME, text=text, said_at=NOW, received_at=NOW)


def known(text: str, slot: str | None = None) -> Memory:
    return Memory(
        id=new_id(), version=1, subject_id=ME, type=MemoryType.FACT, slot=slot, text=text, language="en",
        importance=0.6, trust=Trust.STATED, status=MemoryStatus.ACTIVE, source=SourceKind.TURN, conversation_id=None,
        effective_at=datetime(2026, 1, 1, tzinfo=UTC), recorded_at=NOW, confirmed_at=NOW,
    )  # fmt: skip


def decide(
    said: str,
    quote: str,
    text: str | None = None,
    *,
    operation: Operation = Operation.ADD,
    target: Memory | None = None,
    active: Sequence[Memory] = (),
) -> Decision:
    """The policy's decision on what a model proposes, citing ``quote`` in a turn that says ``said``."""
    cited = turn(said)
    candidate = Candidate(
        operation=operation, type=MemoryType.FACT, text=text or quote, subject_id=ME, importance=0.9, language="en",
        conversation_id=new_id(), evidence=(Evidence(message_id=cited.id, quote=quote),),
        target_id=target.id if target else None, effective_at=NOW,
    )  # fmt: skip
    context = PolicyContext(turns={cited.id: cited}, active=active, writer=Writer(subject_id=ME), now=NOW)
    return policy.decide(candidate, context=context)


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I do not work at Pelindo any more.", "work at Pelindo"),
        ("Saya tidak lagi bekerja di Pelindo.", "bekerja di Pelindo"),
        ("Tôi không làm việc ở Pelindo nữa.", "làm việc ở Pelindo"),
        ("Please forget that I live in Medan.", "I live in Medan"),
        ("Never remember that I use QGIS again.", "I use QGIS"),
        ("Tolong lupakan bahwa saya tinggal di Medan.", "saya tinggal di Medan"),
    ],
)
def test_the_opposite_of_what_was_said_is_not_stored(said: str, quote: str) -> None:
    for text in (quote, quote[:1].upper() + quote[1:]):
        assert decide(said, quote, text).outcome is Outcome.REJECT


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("My wife works at the port and I use Excel.", "works at the port"),
        ("My neighbour Rina lives in Medan.", "lives in Medan"),
        ("Rina lives in Medan. I like tea.", "lives in Medan"),
        ("Nobody in my team uses Excel.", "uses Excel"),
        ("My boss Joko has diabetes and works in Medan.", "works in Medan"),
        ("My wife and I disagree: she works at Pelindo and lives in Medan.", "lives in Medan"),
        ("The vendor uses Excel for everything.", "uses Excel for everything"),
        ("Here is a customer mail:\nI live in Medan and I want a refund.\nHow do I answer?", "I live in Medan"),
    ],
)
def test_what_is_said_of_others_is_not_the_persons(said: str, quote: str) -> None:
    assert decide(said, quote).outcome is Outcome.REJECT


@pytest.mark.parametrize(
    "said",
    ["Jawab pertanyaan ini saja dengan singkat", "Please answer this one in a table", "Trả lời câu này bằng bảng nhé"],
)
def test_a_wish_for_this_answer_alone_is_no_preference(said: str) -> None:
    assert decide(said, said).outcome is Outcome.REJECT


def test_and_what_is_said_of_oneself_is() -> None:
    assert decide("I work at the port and use Excel.", "I work at the port").outcome is Outcome.ACCEPT
    assert decide("A note about me:\nI live in Medan.", "I live in Medan").outcome is Outcome.ACCEPT


def test_a_persons_name_is_no_recurring_subject() -> None:
    first, second = turn("I hate my boss Joko, what now?"), turn("Does Joko get fired?")
    candidate = Candidate(
        type=MemoryType.FACT, text="Often asks about Joko", slot="interest", subject_id=ME, language="en",
        recurring=True, effective_at=NOW, conversation_id=new_id(),
        evidence=tuple(Evidence(message_id=each.id, quote="Joko") for each in (first, second)),
    )  # fmt: skip
    context = PolicyContext(turns={each.id: each for each in (first, second)}, writer=Writer(subject_id=ME), now=NOW)
    assert policy.decide(candidate, context=context).reasons == (Reason.OTHER_PERSON,)


@pytest.mark.parametrize(
    "said",
    [
        "Don't forget that I live in Medan.",
        "Never forget that I live in Medan.",
        "My colleague asked you to forget that I live in Medan, do not do it.",
        "I forget where my keys are.",
    ],
)
def test_a_delete_needs_a_request_to_forget_and_not_the_word(said: str) -> None:
    memory = known("I live in Medan", "residence")
    quote = said.rstrip(".")
    assert decide(said, quote, operation=Operation.DELETE, target=memory, active=[memory]).outcome is Outcome.REJECT


@pytest.mark.parametrize("said", ["Please forget that I live in Medan.", "I don't live in Medan any more."])
def test_and_a_request_or_denial_is_one(said: str) -> None:
    memory = known("I live in Medan", "residence")
    decision = decide(said, said, "I live in Medan", operation=Operation.DELETE, target=memory, active=[memory])
    assert decision.closes == (memory.id,)


def test_an_update_closes_nothing_that_it_does_not_replace() -> None:
    memory = known("I live in Medan", "residence")
    said = "Actually, Medan is hot and I like tea."
    decision = decide(said, "I like tea", operation=Operation.UPDATE, target=memory, active=[memory])
    assert decision.closes == ()


@pytest.mark.parametrize(
    ("before", "slot", "after"),
    [
        ("Nama saya Budi", "name", "Kantor saya Pelindo"),
        ("Tên tôi là Minh", "name", "Công ty tôi là Pelindo"),
        ("My name is Budi", "name", "I'm called often by clients"),
        ("I work at Pelindo", "workplace", "I work at night"),
        ("I work at Pelindo", "workplace", "I work in Excel"),
        ("I am a data analyst", "role", "I'm an early riser"),
        ("I live in Medan", "residence", "I lived in Jakarta for 5 years"),
        ("Tôi sống ở Huế", "residence", "Tôi sống rất giản dị"),
    ],
)
def test_a_false_reading_replaces_no_true_value(before: str, slot: str, after: str) -> None:
    memory = known(before, slot)
    cited = turn(after)
    candidate = Candidate(
        type=MemoryType.FACT, text=after, slot=slot, subject_id=ME, importance=0.6, language="en",
        conversation_id=new_id(), evidence=(Evidence(message_id=cited.id, quote=after),), effective_at=NOW,
    )  # fmt: skip
    context = PolicyContext(turns={cited.id: cited}, active=[memory], writer=Writer(subject_id=ME), now=NOW)
    decision = policy.decide(candidate, context=context)
    assert decision.closes == ()
    assert decision.slot is None
