"""Held: what a candidate that waits for a reviewer keeps of itself, and how it becomes a candidate again.

The only place where the text of something not remembered is kept. It goes when it is settled, withdrawn, erased or
expires. What is never stored is never held: it was refused before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from ingatan.errors import PolicyRefused
from ingatan.memories.decision_context import Writer
from ingatan.screening import screen
from ingatan.types import NEVER_STORED, Candidate, Decision, Outcome, Reason

_CANDIDATES = TypeAdapter(Candidate)
_WRITERS = TypeAdapter(Writer)
_OUT_OF_NOTES = NEVER_STORED - {Reason.OTHER_PERSON, Reason.DOCUMENT_FACT, Reason.LAW_CLAIM}
"""People write to one another about who said what, and by which rule."""
_WAITING = frozenset({Outcome.REVIEW, Outcome.QUARANTINE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What was kept: the candidate with the text and slot that would be stored, and who proposed it as what."""

    candidate: Candidate
    writer: Writer


def waits(decision: Decision) -> bool:
    """Whether a reviewer is to look at this: the policy asks for it, or its decisions are only tried out (``dry``)."""
    asked = decision.outcome in _WAITING or decision.own is not None
    return asked and bool(decision.text) and not NEVER_STORED & set(decision.reasons)


def check_note(note: str | None) -> None:
    """Raise PolicyRefused for a note, which is kept beside the decision, that holds what is never stored."""
    found = {finding.reason for finding in screen((note,), language="")} & _OUT_OF_NOTES if note else set()
    if found:
        raise PolicyRefused(
            "The note is kept, so leave out secrets, identifying numbers, and what is never stored of people.",
            code="note_not_kept",
            extra={"reasons": sorted(reason.value for reason in found)},
        )


def held(candidate: Candidate, text: str, slot: str | None, writer: Writer, marks: Iterable[bytes]) -> dict[str, Any]:
    """What to keep of ``candidate``, whose ``text`` would be stored; ``marks`` are what an erasure knows it by.

    The writer's reason is kept where screening finds nothing in it: nobody checked it before.
    """
    reason = candidate.reason
    if reason and screen((reason,), language=candidate.language):
        reason = ""
    kept = _CANDIDATES.dump_python(replace(candidate, text=text, slot=slot, reason=reason), mode="json")
    return {
        "candidate": kept,
        "text": text,
        "writer": _WRITERS.dump_python(writer, mode="json"),
        "marks": sorted(mark.hex() for mark in marks),
    }


def restored(payload: dict[str, Any]) -> Held:
    """The candidate as it waits."""
    return Held(
        candidate=_CANDIDATES.validate_python(payload["candidate"], strict=False),
        writer=_WRITERS.validate_python(payload["writer"], strict=False),
    )
