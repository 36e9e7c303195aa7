"""Held: what a candidate that waits for a reviewer keeps of itself, and how it becomes a candidate again.

The only place where the text of something not remembered is kept. It goes when it is settled, withdrawn, erased or
expires. What is never stored is never held: it was refused before.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from ingatan.types import NEVER_STORED, Candidate, Decision, Outcome

_CANDIDATES = TypeAdapter(Candidate)
_WAITING = frozenset({Outcome.REVIEW, Outcome.QUARANTINE})


def held(candidate: Candidate, decision: Decision) -> dict[str, Any] | None:
    """What to keep of ``candidate``; None where the decision is final or nothing of it may be kept."""
    waits = decision.outcome in _WAITING or decision.own is not None
    if not waits or not decision.text or NEVER_STORED & set(decision.reasons):
        return None
    kept: dict[str, Any] = _CANDIDATES.dump_python(candidate, mode="json")
    return {"candidate": kept, "text": decision.text, "slot": decision.slot}


def restored(payload: dict[str, Any]) -> Candidate:
    """The candidate as it was proposed."""
    return _CANDIDATES.validate_python(payload["candidate"], strict=False)
