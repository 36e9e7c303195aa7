"""Replies of models: what is tolerated around an answer, and what refuses it whole."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingatan.memories.events import EVENTS_MAX
from ingatan.memories.reply import SCHEMA, Allowed, Proposed, ReplyProblem, ReplyRefused, read
from ingatan.types import MemoryType, Operation
from tests.model_server import operation

ALLOWED = Allowed(
    turns=frozenset({"T1", "T2"}),
    earlier=frozenset({"E1"}),
    memories=frozenset({"M1", "M2"}),
    additions=2,
    room=5,
    characters=40,
)
GOOD = operation("add", ("T1", "I live in Ghent"), text="Lives in Ghent")


def body(*operations: object) -> str:
    return json.dumps({"operations": list(operations)})


def problem(text: str, allowed: Allowed = ALLOWED) -> ReplyProblem:
    with pytest.raises(ReplyRefused) as caught:
        read(text, allowed)
    return caught.value.problem


@pytest.mark.parametrize(
    "text",
    [
        body(GOOD),
        f"```json\n{body(GOOD)}\n```",
        f"Sure! {body(GOOD)} Note: {{id}} left blank {{on purpose}}.",
        f"<think>Maybe {{}} or {body()}?</think>\n{body(GOOD)}",
        f"I wonder {{x}} </think> {body(GOOD)}",
        f"{body(GOOD)}\n{body(GOOD)}",
        f"Well, here it is: {body(GOOD)}",
        f"OK, {body(GOOD)}",
        body(GOOD, GOOD),
        body(GOOD | {"confidence": 0.9, "importance": 1}),
        body(GOOD | {"type": "semantic"}),
    ],
)
def test_one_object_is_found_in_its_wrapping(text: str) -> None:
    [found] = read(text, ALLOWED)
    assert (found.operation, found.text, found.type) == (Operation.ADD, "Lives in Ghent", MemoryType.FACT)


def test_nothing_to_remember_is_an_answer() -> None:
    assert read(body(), ALLOWED) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ReplyProblem.NOT_JSON),
        ("Nothing to remember here.", ReplyProblem.NOT_JSON),
        ("I can't help with that.", ReplyProblem.REFUSED),
        ("I’m sorry, but no.", ReplyProblem.REFUSED),
        ("Maaf, saya tidak bisa.", ReplyProblem.REFUSED),
        ("Tôi không thể giúp.", ReplyProblem.REFUSED),
        (body(GOOD)[:-9], ReplyProblem.NOT_JSON),
        ("<think>still thinking", ReplyProblem.NOT_JSON),
        (f"<think>{body(GOOD)}", ReplyProblem.NOT_JSON),
        (f"{body(GOOD)} {body()}", ReplyProblem.AMBIGUOUS),
        (f"```json\n{body(GOOD)}\n```\nand\n```json\n{body()}\n```", ReplyProblem.AMBIGUOUS),
        ("[]", ReplyProblem.SHAPE),
        ("null", ReplyProblem.SHAPE),
        (f"[{body()}]", ReplyProblem.SHAPE),
        (f'{{"answer": {body()}', ReplyProblem.SHAPE),
        (f'{{"answer": 1, "more": [1, {body()}', ReplyProblem.SHAPE),
        ('"text"', ReplyProblem.SHAPE),
        ("{}", ReplyProblem.SHAPE),
        ('{"operations": null}', ReplyProblem.SHAPE),
        ('{"operations": {}}', ReplyProblem.SHAPE),
        (body("Lives in Ghent"), ReplyProblem.SHAPE),
        (body(None), ReplyProblem.SHAPE),
        (body(GOOD, {}), ReplyProblem.SHAPE),
        (json.dumps([GOOD]), ReplyProblem.SHAPE),
        (json.dumps({"operations": [], "approved": True}), ReplyProblem.UNKNOWN_FIELD),
        (body(GOOD | {"status": "accepted"}), ReplyProblem.UNKNOWN_FIELD),
        (body(GOOD | {"importance": "high"}), ReplyProblem.SHAPE),
        (body(GOOD | {"importance": True}), ReplyProblem.SHAPE),
        (body(GOOD | {"importance": float("nan")}), ReplyProblem.NOT_FINITE),
        (body(GOOD).replace("0.7", "1e999"), ReplyProblem.NOT_FINITE),
        (body(GOOD).replace("0.7", "9" * 400), ReplyProblem.NOT_FINITE),
        (body(GOOD).replace('"text"', '"text": "a", "text"'), ReplyProblem.DUPLICATE_KEY),
        ('{"a":' * 20_000, ReplyProblem.TOO_DEEP),
        (f'{{"operations": {"[" * 50}{"]" * 50}}}', ReplyProblem.TOO_DEEP),
        ("x" * 200_001, ReplyProblem.TOO_LARGE),
        (body(GOOD | {"text": None}), ReplyProblem.BLANK),
        (body(GOOD | {"text": " \u200b "}), ReplyProblem.BLANK),
        (body(GOOD | {"text": "None"}), ReplyProblem.BLANK),
        (body(GOOD | {"text": "..."}), ReplyProblem.BLANK),
        (body(GOOD | {"text": "x" * 41}), ReplyProblem.TOO_LONG),
        (body(operation("add", ("T1", " "), text="a b")), ReplyProblem.BLANK),
        (body(operation("add", text="a b")), ReplyProblem.SHAPE),
        (body(operation("add", ("T9", "a"), text="a b")), ReplyProblem.UNKNOWN_LABEL),
        (body(operation("add", ("E1", "a"), text="a b")), ReplyProblem.UNKNOWN_LABEL),
        (body(operation("add", ("T1", "a"), text="a b", memory="M1")), ReplyProblem.SHAPE),
        (body(operation("update", ("T1", "a"), text="a b")), ReplyProblem.SHAPE),
        (body(operation("update", ("T1", "a"), text="a b", memory="M7")), ReplyProblem.UNKNOWN_LABEL),
        (body(operation("merge", ("T1", "a"), text="a b")), ReplyProblem.SHAPE),
        (body(operation("add", ("T1", "a"), text="a b", recurring=True)), ReplyProblem.SHAPE),
        (body(operation("add", ("E1", "a"), ("E1", "b"), text="a b", recurring=True)), ReplyProblem.SHAPE),
        (body(*(GOOD | {"text": f"a {n}"} for n in range(3))), ReplyProblem.CAP_NEW),
    ],
)
def test_anything_else_refuses_the_whole_reply(text: str, expected: ReplyProblem) -> None:
    assert problem(text) is expected


def test_conflicting_or_repeated_operations_on_one_memory_are_refused() -> None:
    delete = operation("delete", ("T1", "forget it"), memory="M1")
    update = operation("update", ("T1", "I moved"), memory="M1", text="Moved")
    assert problem(body(delete, update)) is ReplyProblem.CONFLICTING
    assert problem(body(delete, delete)) is ReplyProblem.CONFLICTING
    assert len(read(body(delete, update | {"memory": "M2"}), ALLOWED)) == 2


def test_without_room_only_updates_and_deletes_are_allowed() -> None:
    full = Allowed(**{name: getattr(ALLOWED, name) for name in ALLOWED.__slots__} | {"room": 0})
    assert problem(body(GOOD), full) is ReplyProblem.CAP_ACTIVE
    [found] = read(body(operation("update", ("T1", "I moved"), memory="M1", text="Moved")), full)
    assert found.operation is Operation.UPDATE


@pytest.mark.parametrize(("given_importance", "expected"), [(7, 1.0), (-0.5, 0.0), (0.4, 0.4)])
def test_importance_is_clamped(given_importance: float, expected: float) -> None:
    [found] = read(body(GOOD | {"importance": given_importance}), ALLOWED)
    assert found.importance == expected


def test_a_recurring_subject_may_cite_an_older_turn() -> None:
    cited = operation("add", ("T1", "Qanun 11"), ("E1", "qanun 11"), text="Often asks about Qanun 11", recurring=True)
    assert [found.recurring for found in read(body(cited), ALLOWED)] == [True]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text(max_size=200)
    | VALUES.map(json.dumps)
    | st.dictionaries(st.sampled_from(list(GOOD)), VALUES).map(lambda change: body(GOOD | change))
)
def test_any_reply_is_read_or_refused(text: str) -> None:
    try:
        found = read(text, ALLOWED)
    except ReplyRefused:
        return
    assert all(isinstance(each, Proposed) for each in found)
    assert all(0 <= each.importance <= 1 for each in found)


def test_the_schema_asked_for_is_the_one_that_is_read() -> None:
    fields = SCHEMA["properties"]["operations"]["items"]
    assert set(fields["properties"]) == set(Proposed.model_fields) - {"confidence"}
    assert set(fields["required"]) == set(fields["properties"]), "strict structured output wants every field"


def test_episodes_are_counted_beside_the_others_and_have_a_bound_of_their_own() -> None:
    def told(count: int) -> list[dict[str, object]]:
        return [
            operation("add", ("T1", f"I called about order {n}"), text=f"Called about order {n}", type="episode")
            for n in range(count)
        ]

    full = replace(ALLOWED, additions=1, room=1)
    found = read(body(GOOD, *told(EVENTS_MAX)), full)
    assert sum(each.type is MemoryType.EPISODE for each in found) == EVENTS_MAX
    assert len(read(body(*told(1)), replace(ALLOWED, additions=0, room=0))) == 1
    assert problem(body(*told(EVENTS_MAX + 1))) is ReplyProblem.CAP_NEW
    assert problem(body(GOOD, GOOD | {"text": "Works in Ghent"}), replace(full, room=5)) is ReplyProblem.CAP_NEW
