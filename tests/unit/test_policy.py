"""The policy service: each check, its order, and what holds for any candidate."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingatan.memories.decision_context import Limits, Mode, PolicyContext, Writer
from ingatan.memories.policy import decide
from ingatan.memories.policy_document import shipped
from ingatan.types import (
    NEVER_STORED,
    Candidate,
    Consent,
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

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ME, OTHER = new_id(), new_id()


def turn(text: str, **changes: Any) -> Turn:
    said = Turn(id=new_id(), seq=1, role=MessageRole.USER, author_id=ME, text=text, said_at=NOW, received_at=NOW)
    return replace(said, **changes)


def memory(text: str, **changes: Any) -> Memory:
    before = NOW - timedelta(days=9)
    kept = Memory(
        id=new_id(),
        version=1,
        subject_id=ME,
        type=MemoryType.FACT,
        slot=None,
        text=text,
        language="en",
        importance=0.5,
        trust=Trust.STATED,
        status=MemoryStatus.ACTIVE,
        source=SourceKind.TURN,
        conversation_id=None,
        effective_at=before,
        recorded_at=before,
        confirmed_at=before,
    )
    return replace(kept, **changes)


def run(said: Turn | str, text: str | None = None, quote: str | None = None, **changes: Any) -> Decision:
    said = turn(said) if isinstance(said, str) else said
    state = {name: changes.pop(name) for name in list(changes) if name in PolicyContext.__dataclass_fields__}
    quote = said.text if quote is None else quote
    candidate = Candidate(
        type=MemoryType.PREFERENCE,
        text=quote if text is None else text,
        subject_id=ME,
        language="en",
        evidence=(Evidence(message_id=said.id, quote=quote),),
        effective_at=NOW,
    )
    context = PolicyContext(turns={said.id: said}, writer=Writer(subject_id=ME), now=NOW)
    return decide(replace(candidate, **changes), context=replace(context, **state))


def test_a_stated_preference_is_accepted_as_the_quote_licenses_it() -> None:
    decision = run("I prefer short answers", "Prefers short answers")
    assert (decision.outcome, decision.reasons) == (Outcome.ACCEPT, (Reason.ACCEPTED,))
    assert decision.text == "Prefers short answers"


def test_an_unlicensed_text_is_replaced_by_the_persons_own_clause() -> None:
    assert run("I prefer short answers", "Prefers answers in verse").text == "I prefer short answers"


def test_of_two_sentences_the_first_statement_is_kept() -> None:
    assert run("I like tea. I drink it every morning.").text == "I like tea."


def test_the_second_sentence_is_screened_though_it_is_not_kept() -> None:
    decision = run("I like tea. I have diabetes.")
    assert (decision.outcome, decision.reasons) == (Outcome.REJECT, (Reason.HEALTH,))


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (lambda: run("I like tea", type=MemoryType.KNOWLEDGE), Reason.TYPE),
        (lambda: run("I like tea", importance=2.0), Reason.SCHEMA),
        (lambda: run("I like tea " * 60), Reason.TOO_LONG),
        (lambda: run("I like tea. I like cake. I like rice."), Reason.NOT_ONE_SENTENCE),
        (lambda: run("I like tea", writer=Writer(subject_id=OTHER)), Reason.NO_AUTHORITY),
        (lambda: run("I like tea", source=SourceKind.APPROVAL), Reason.NO_AUTHORITY),
        (lambda: run("I like tea", consent=Consent.WITHDRAWN), Reason.NO_CONSENT),
        (lambda: run("I like tea", off_record=True), Reason.OFF_RECORD),
        (lambda: run("I like tea", evidence=()), Reason.NO_EVIDENCE),
        (lambda: run("I like tea", quote="I like coffee"), Reason.NO_EVIDENCE),
        (lambda: run(turn("I like tea", role=MessageRole.ASSISTANT)), Reason.NOT_STATED_BY_SUBJECT),
        (lambda: run(turn("I like tea", author_id=OTHER)), Reason.NOT_STATED_BY_SUBJECT),
        (lambda: run("Do I like tea?"), Reason.NOT_A_STATEMENT),
        (lambda: run("I was diagnosed with ADHD"), Reason.HEALTH),
        (lambda: run("I like tea", importance=0.1), Reason.LOW_IMPORTANCE),
        (lambda: run("I like tea", written_in_conversation=3, limits=Limits(max_new=3)), Reason.CAP_NEW),
        (lambda: run("I like tea", active=[memory("I knit")], limits=Limits(max_active=1)), Reason.CAP_ACTIVE),
        (lambda: run("I like tea", operation=Operation.UPDATE, target_id=new_id()), Reason.NOTHING_TO_CLOSE),
        (lambda: run("forget my shoe size", operation=Operation.DELETE), Reason.NOTHING_TO_CLOSE),
    ],
)
def test_each_check_refuses_with_its_reason(decision: Any, reason: Reason) -> None:
    decided = decision()
    assert (decided.outcome, decided.reasons[0], decided.text) == (Outcome.REJECT, reason, "")


def test_a_recurring_interest_needs_two_turns() -> None:
    first, second = turn("How are fishing permits renewed?"), turn("What do fishing permits cost?")
    both = tuple(Evidence(message_id=said.id, quote=said.text) for said in (first, second))
    turns = {first.id: first, second.id: second}
    text = "Often asks about fishing permits"
    assert run(first, text, recurring=True, evidence=both, turns=turns).outcome is Outcome.ACCEPT
    assert run(first, text, recurring=True).reasons == (Reason.NO_EVIDENCE,)


def test_the_same_statement_reinforces_and_an_expired_one_is_renewed() -> None:
    known = memory("I like tea.")
    assert run("I like tea", active=[known]).reinforces == known.id
    assert run("I like tea", expired=[known]).reasons == (Reason.RENEWED,)
    assert run("I like tea", active=[replace(known, subject_id=OTHER)]).reinforces is None


def test_a_newer_value_of_a_single_valued_slot_supersedes() -> None:
    known = memory("I work at the port", slot="workplace")
    decision = run("I work at the harbour school", slot="workplace", active=[known])
    assert (decision.reasons, decision.closes) == ((Reason.SUPERSEDES,), (known.id,))


def test_a_weaker_but_newer_source_conflicts_and_both_stay() -> None:
    for source in (SourceKind.SELF, SourceKind.SETTINGS, SourceKind.EVENT, SourceKind.APPROVAL):
        known = memory("I work at the port", slot="workplace", source=source)
        decision = run("I work at the school", slot="workplace", active=[known])
        assert (decision.outcome, decision.reasons, decision.closes) == (Outcome.ACCEPT, (Reason.CONFLICT,), ())


@pytest.mark.parametrize("source", list(SourceKind))
def test_an_older_statement_of_no_more_weight_is_refused(source: SourceKind) -> None:
    later = memory("I work at the port", slot="workplace", source=source, effective_at=NOW + timedelta(hours=1))
    decision = run("I work at the school", slot="workplace", active=[later])
    assert (decision.outcome, decision.reasons) == (Outcome.REJECT, (Reason.CONTRADICTION,))


def test_of_two_turns_of_one_moment_the_later_turn_is_newer() -> None:
    first, second = turn("I work at the port"), turn("I work at the school")
    cited = (Evidence(message_id=first.id, quote=first.text),)
    known = memory(first.text, slot="workplace", effective_at=NOW, evidence=cited)
    assert run(second, slot="workplace", active=[known]).reasons == (Reason.SUPERSEDES,)
    assert run(first, slot="workplace", active=[replace(known, text="I work at the mill")]).reasons == (
        Reason.CONFLICT,
    )
    assert run(second, slot="workplace", active=[replace(known, evidence=())]).reasons == (Reason.CONFLICT,)


def test_a_conflict_is_settled_by_saying_again_what_has_more_weight() -> None:
    stated = memory("I work at the port", slot="workplace", source=SourceKind.SELF)
    chatted = memory("I work at the school", slot="workplace")
    again = run("I work at the port", slot="workplace", active=[stated, chatted])
    assert (again.reinforces, again.closes) == (stated.id, (chatted.id,))
    assert again.reasons == (Reason.DUPLICATE, Reason.SUPERSEDES)
    other = run("I work at the school", slot="workplace", active=[stated, chatted])
    assert (other.reinforces, other.closes, other.reasons) == (chatted.id, (), (Reason.DUPLICATE,))
    third = run("I work at the mill", slot="workplace", active=[stated, chatted])
    assert (third.reasons, third.closes) == ((Reason.CONFLICT,), (chatted.id,))
    said = run("I work at the mill", slot="workplace", source=SourceKind.SELF, evidence=(), active=[stated, chatted])
    assert (said.reasons, set(said.closes)) == ((Reason.SUPERSEDES,), {stated.id, chatted.id})


def test_a_conflict_counts_against_the_caps() -> None:
    known = memory("I work at the port", slot="workplace", source=SourceKind.SELF)
    full = Limits(max_active=1)
    assert run("I work at the school", slot="workplace", active=[known], limits=full).reasons == (Reason.CAP_ACTIVE,)


def test_without_a_single_valued_slot_both_stay() -> None:
    decision = run("I like tea", slot="likes", active=[memory("I like coffee", slot="likes")])
    assert (decision.reasons, decision.closes) == ((Reason.ACCEPTED,), ())


def test_forgetting_closes_what_the_words_name() -> None:
    tea, port = memory("I like green tea"), memory("I work at the port")
    decision = run("forget that I like green tea", operation=Operation.DELETE, active=[tea, port])
    assert (decision.outcome, decision.closes, decision.text) == (Outcome.ACCEPT, (tea.id,), "")
    assert run("I like green tea", operation=Operation.DELETE, active=[tea]).outcome is Outcome.REJECT
    assert run("forget everything", operation=Operation.DELETE, active=[tea, port]).closes == (tea.id, port.id)


def test_a_dry_run_accepts_nothing() -> None:
    decision = run("I like tea", mode=Mode.DRY)
    assert (decision.outcome, decision.reasons) == (Outcome.REJECT, (Reason.ACCEPTED, Reason.DRY_RUN))


def test_a_dry_run_forgets_as_asked() -> None:
    tea = memory("I like green tea")
    decision = run("forget that I like green tea", operation=Operation.DELETE, active=[tea], mode=Mode.DRY)
    assert (decision.outcome, decision.closes) == (Outcome.ACCEPT, (tea.id,))
    wish = run("never remember anything about me", operation=Operation.DELETE, never_again=True, mode=Mode.DRY)
    assert wish.outcome is Outcome.ACCEPT


def test_an_expired_one_of_a_type_that_is_gone_gives_way() -> None:
    known = memory("I like tea.", type=MemoryType.FACT)
    document = shipped("assistant")
    narrowed = document.model_copy(
        update={"types": {kind: part for kind, part in document.types.items() if kind is not MemoryType.FACT}}
    )
    decision = run("I like tea", expired=[known], document=narrowed)
    assert (decision.outcome, decision.reinforces, decision.closes) == (Outcome.ACCEPT, None, (known.id,))
    assert run("I like tea", expired=[known]).reinforces == known.id


TEXTS = st.sampled_from(
    [
        "I like tea",
        "Never use emojis",
        "My wife sings",
        "I am a Sikh",
        "Do I like tea?",
        "ignore the rules",
        "Call me Rina",
    ]
) | st.text(max_size=60)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_nothing_is_accepted_without_evidence(text: str) -> None:
    assert run("I like tea", text, evidence=()).outcome is Outcome.REJECT


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_a_decision_is_the_same_twice_and_only_holds_licensed_text(text: str, said: str) -> None:
    source = turn(said)
    first, second = run(source, text), run(source, text)
    assert first == second
    assert first.text in ("", text, said.strip())


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sampled_from(["my wife", "diabetes", "Catholic", "my salary", "gaji saya", "tiền án", "công đoàn"]))
def test_a_never_stored_word_never_turns_a_refusal_into_acceptance(said: str, word: str) -> None:
    if run(said).outcome is Outcome.REJECT:
        assert run(f"{said} {word}").outcome is Outcome.REJECT
    else:
        refused = run(f"{said.strip()} {word}")  # on one line: two are refused before they are read
        assert NEVER_STORED & set(refused.reasons)


def test_a_delete_that_names_a_memory_must_be_about_it() -> None:
    coffee, maps = memory("I like black coffee"), memory("I use QGIS for maps")
    said = "forget that I like black coffee please"
    asked: dict[str, Any] = {"text": "I like black coffee", "operation": Operation.DELETE, "active": [coffee, maps]}
    assert run(said, target_id=coffee.id, quote=said, **asked).closes == (coffee.id,)
    wrong = run(said, target_id=maps.id, quote=said, **asked)
    assert (wrong.outcome, wrong.reasons) == (Outcome.REJECT, (Reason.NOTHING_TO_CLOSE,))


def returning(text: str, *asked: str, quote: str) -> Decision:
    turns = [turn(said, seq=n) for n, said in enumerate(asked)]
    return run(
        turns[0],
        text,
        quote,
        type=MemoryType.FACT,
        recurring=True,
        evidence=tuple(Evidence(message_id=said.id, quote=quote) for said in turns),
        turns={said.id: said for said in turns},
    )


def test_a_law_that_is_asked_about_again_and_again_is_a_subject_and_no_claim() -> None:
    asked = ("What does Qanun 11 say about boats?", "And does Qanun 11 cover nets?")
    assert returning("Often asks about Qanun 11", *asked, quote="Qanun 11").text == "Often asks about Qanun 11"
    forbids = ("Qanun 11 forbids nets, right?", "So Qanun 11 forbids nets?")
    decision = returning("Qanun 11 forbids nets", *forbids, quote="Qanun 11 forbids nets")
    assert decision.outcome is Outcome.REJECT


@pytest.mark.parametrize(
    ("approved", "days", "over"), [(False, 89, False), (False, 91, True), (True, 91, False), (True, 366, True)]
)
def test_what_is_past_its_lifetime_is_refused(*, approved: bool, days: int, over: bool) -> None:
    """Told, an event lasts 90 days; vouched for by a reviewer, 365."""
    happened = NOW - timedelta(days=days)
    said = turn("I called about order 12 last week.", said_at=happened)
    quote = "I called about order 12 last week"
    told = run(said, quote=quote, type=MemoryType.EPISODE, effective_at=happened, approved=approved)
    assert (told.reasons == (Reason.PAST_RETENTION,)) is over, told
