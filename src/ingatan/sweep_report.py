"""The report of a sweep: what became of the conversations it took, in counts and in the log lines that S1 names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from uuid import UUID

from ingatan.memories.candidates import Settled
from ingatan.memories.refusals import Refusal
from ingatan.screening import SECURITY_REASONS
from ingatan.spans import Claim
from ingatan.telemetry import Event, event
from ingatan.types import Outcome


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What a commit did for one asker: one entry a candidate, one a refusal."""

    subject_id: UUID
    settled: tuple[Settled, ...]
    refused: tuple[Refusal, ...]


@dataclass(slots=True)
class SweepReport:
    """Counts of one sweep. ``led`` is False when another process leads; then nothing was done."""

    led: bool = True
    conversations: int = 0
    written: int = 0
    closed: int = 0
    rejected: int = 0
    failed: int = 0
    abandoned: int = 0
    stale: int = 0

    def add(self, other: SweepReport) -> None:
        """Add the counts of a worker of the same sweep."""
        for field in fields(self):
            if field.name != "led":
                setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def count(self, claim: Claim, outcomes: Sequence[Outcomes]) -> None:
        """Count one conversation that was committed, and log it."""
        settled = [done for outcome in outcomes for done in outcome.settled]
        accepted = [done for done in settled if done.decision.outcome is Outcome.ACCEPT]
        written = sum(done.wrote for done in settled)
        closed = sum(len(done.decision.closes) for done in accepted)
        rejected = len(settled) - len(accepted) + sum(len(outcome.refused) for outcome in outcomes)
        self.conversations += 1
        self.written += written
        self.closed += closed
        self.rejected += rejected
        event(
            Event.MEMORY_CONSOLIDATED,
            conversation_id=claim.due.conversation_id,
            written=written,
            closed=closed,
            rejected=rejected,
            to_seq=claim.to_seq,
        )
        for done in settled:
            done.announce()
        for outcome in outcomes:
            for refusal in outcome.refused:
                reasons = [reason.value for reason in refusal.reasons]
                event(Event.CANDIDATE_DECIDED, level="debug", decision=Outcome.REJECT.value, reasons=reasons)
            _warn(claim, outcome)


def _warn(claim: Claim, outcome: Outcomes) -> None:
    """Tell whoever watches security that words of this person looked like an attack; codes only."""
    judged = [done.decision.reasons for done in outcome.settled] + [refusal.reasons for refusal in outcome.refused]
    hostile = sorted({reason.value for reasons in judged for reason in reasons if reason in SECURITY_REASONS})
    if hostile:
        event(
            Event.SECURITY_REVIEW,
            level="warning",
            conversation_id=claim.due.conversation_id,
            subject_id=outcome.subject_id,
            reasons=hostile,
        )
