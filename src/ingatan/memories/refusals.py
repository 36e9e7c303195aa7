"""Refusals: what a person said that will not be remembered, so that they can see that it was refused, and why.

An extractor proposes only what may be kept; this looks at the rest of what was said. It yields reasons, never text, and
can lead to nothing being stored. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ingatan.languages.sentences import split
from ingatan.memories.statement import is_statement
from ingatan.screening import SECURITY_REASONS, screen
from ingatan.types import Candidate, MessageRole, Reason, Turn

REFUSALS_MAX = 5
"""Refusals noted per conversation and sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One sentence that may not be remembered: where it was said, and why not."""

    message_id: UUID
    reasons: tuple[Reason, ...]


def noticed(turns: Sequence[Turn], subject_id: UUID, proposed: Sequence[Candidate]) -> list[Refusal]:
    """The first REFUSALS_MAX statements or orders in the person's ``turns`` that screening refuses, unless proposed."""
    quotes = [evidence.quote for candidate in proposed for evidence in candidate.evidence]
    found: list[Refusal] = []
    for turn in turns:
        if turn.role is not MessageRole.USER or turn.author_id != subject_id:
            continue
        for sentence in split(turn.text):
            if len(found) == REFUSALS_MAX:
                return found
            if any(quote in sentence.text or sentence.text in quote for quote in quotes):
                continue
            reasons = _reasons(sentence.text)
            if reasons:
                found.append(Refusal(message_id=turn.id, reasons=reasons))
    return found


def _reasons(sentence: str) -> tuple[Reason, ...]:
    if sentence.rstrip().endswith("?"):
        return ()
    findings = screen((sentence,), language="")
    reasons = tuple(dict.fromkeys(finding.reason for finding in findings))
    hostile = tuple(reason for reason in reasons if reason in SECURITY_REASONS)
    return hostile or (reasons if is_statement(sentence) else ())
