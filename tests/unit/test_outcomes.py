"""The check that the benches with models rest on can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.outcomes import stands, turn

from ingatan.types import Candidate, Evidence, MemoryType, MessageRole, new_id

SUBJECT = new_id()
SAID = turn("I work at the port of Sabang. I prefer short answers.", 1, SUBJECT)


def candidate(quote: str) -> Candidate:
    return Candidate(
        type=MemoryType.FACT,
        text="x",
        subject_id=SUBJECT,
        language="en",
        evidence=(Evidence(message_id=SAID.id, quote=quote),),
        effective_at=SAID.said_at,
    )


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("I prefer short answers", "I prefer short answers", True),
        ("Prefers short answers", "I prefer short answers", True),
        ("Prefers long answers", "I prefer short answers", False),
        ("Works at the port of Jakarta", "I work at the port of Sabang", False),
        ("I prefer short answers", "I prefer long answers", False),
    ],
)
def test_an_invention_is_seen(text: str, quote: str, expected: bool) -> None:
    assert stands(text, candidate(quote), {SAID.id: SAID}) is expected


def test_what_others_said_does_not_count() -> None:
    other = replace(SAID, role=MessageRole.ASSISTANT, author_id=None)
    assert not stands("I prefer short answers", candidate("I prefer short answers"), {SAID.id: other})
