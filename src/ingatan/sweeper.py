"""The sweeper: ended conversations become candidates, candidates become decisions (S1, DATA).

Per conversation four steps, each its own transaction or none: claim (lease and fence), read, think (extraction and
embedding, no transaction open), commit (subject lock, fresh checks, decisions, watermark by compare-and-set on the
fence). A crash between any two loses nothing and repeats nothing: only the commit moves the watermark, together with
everything it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from ingatan import spans, subjects, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.embeddings import Vectors
from ingatan.errors import ExtractionFailed, ExtractionRejected, IngatanError
from ingatan.leases import Leadership
from ingatan.memories import candidates, refusals, registry
from ingatan.memories.extraction import ExtractionLimits, Extractor
from ingatan.memories.refusals import Refusal
from ingatan.projections import Projections
from ingatan.screening import SECURITY_REASONS
from ingatan.settings import MemorySettings
from ingatan.spans import Claim, Due, Stale
from ingatan.storage.database import Connection, Database
from ingatan.telemetry import Event, event
from ingatan.types import Candidate, Consent, Memory, Operation, Outcome, Principal, Turn, new_id

RECENT_TURNS_MAX = 200
PROPOSALS_PER_NEW = 10
"""Candidates asked for per new memory allowed, because the policy refuses some."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything extraction needs, read in one transaction; plus the epoch that the commit must find unchanged."""

    turns: tuple[Turn, ...]
    recent: tuple[Turn, ...]
    offered: tuple[Memory, ...]
    erasure_epoch: int

    def by_id(self) -> dict[UUID, Turn]:
        """All turns that may be cited."""
        return {turn.id: turn for turn in (*self.recent, *self.turns)}


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What came of a reading: proposals in the order to decide them, vectors of their texts, and what is refused."""

    proposed: tuple[Candidate, ...]
    vectors: Vectors
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the commit did: one entry a candidate, one a refusal."""

    settled: tuple[candidates.Settled, ...]
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


class Sweeper:
    """Sweeps one lane of one database. ``pause`` is called between steps (tests stop or kill there)."""

    def __init__(
        self,
        database: Database,
        *,
        settings: MemorySettings,
        extractor: Extractor,
        projections: Projections,
        audit: Audit,
        terms: Callable[[datetime], candidates.Terms],
        pause: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._extractor = extractor
        self._projections = projections
        self._audit = audit
        self._terms = terms
        self._pause = pause
        self.lane = spans.lane_of(settings)
        self._leadership = Leadership(database, f"sweep:{self.lane.value}", new_id())

    def sweep(self, now: datetime | None = None) -> SweepReport:
        """Run once at ``now``: up to SWEEP_BATCH_SIZE ended conversations, one after the other."""
        at = now or datetime.now(UTC)
        report = SweepReport()
        with self._leadership.held() as leads:
            if not leads:
                report.led = False
                return report
            with self._database.jobs() as connection:
                listed = spans.due(connection, self._settings, at)
            for due in listed:
                self._leadership.take()  # renewed while it runs
                self._one(due, at, report)
            self._projections.tend()
        event(
            Event.SWEEP_FINISHED,
            level="info" if report.conversations else "debug",
            lane=self.lane.value,
            conversations=report.conversations,
            written=report.written,
            closed=report.closed,
            rejected=report.rejected,
            failed=report.failed,
        )
        return report

    def _one(self, due: Due, now: datetime, report: SweepReport) -> None:
        owner = Principal(due.tenant_id, due.subject_id)
        with self._database.write(owner) as connection:
            claim = spans.claim(connection, due, self._settings, now)
        if claim is None:
            return
        try:
            self._pause("claimed")
            reading = self._read(claim, owner, now)
            self._pause("read")
            thoughts = self._think(reading, claim, owner, now)
            self._pause("thought")
            outcomes = self._commit(claim, owner, reading, thoughts, now)
            self._pause("committed")
        except ExtractionFailed as failure:
            self._fail(claim, owner, failure, report)
        except Stale:
            report.stale += 1
            with self._database.write(owner) as connection:
                spans.release(connection, claim)
        except IngatanError as error:
            report.failed += 1  # the lease runs out and the span is tried again
            event(Event.SWEEP_FAILED, level="error", conversation_id=due.conversation_id, code=error.code)
        except Exception as error:  # a defect of ours counts as a failed attempt too, so it cannot block the queue
            self._fail(claim, owner, ExtractionRejected(type(error).__name__), report)
        else:
            _account(claim, outcomes, report)

    def _read(self, claim: Claim, owner: Principal, now: datetime) -> Reading:
        keys = {"tenant_id": claim.due.tenant_id, "conversation_id": claim.due.conversation_id}
        with self._database.read(owner) as connection:
            subject = subjects.read(connection, owner)
            rows = connection.all("sweep.turns", **keys, done_seq=claim.done_seq, to_seq=claim.to_seq)
            recent = connection.all(
                "sweep.recent_turns",
                **keys,
                subject_id=claim.due.subject_id,
                done_seq=claim.done_seq,
                active_after=spans.active_after(self._settings, now),
                limit=RECENT_TURNS_MAX,
            )
            offered = registry.active(connection, owner, now)
        if subject.consent is Consent.WITHDRAWN:
            rows, recent = [], []  # the watermark moves; nothing is read, proposed or noted
        turns = tuple(transcript.turn(row) for row in rows)
        return Reading(turns, tuple(transcript.turn(row) for row in recent), tuple(offered), subject.erasure_epoch)

    def _think(self, reading: Reading, claim: Claim, owner: Principal, now: datetime) -> Thoughts:
        turns = transcript.bounded(reading.turns, owner.subject_id, self._settings)
        found = self._extract(turns, reading, claim, owner)
        refused = refusals.noticed(turns, owner.subject_id, found)
        proposed, texts = self._weigh(owner, reading, found, now)
        return Thoughts(tuple(proposed), self._projections.vectors(texts), tuple(refused))

    def _extract(self, turns: Sequence[Turn], reading: Reading, claim: Claim, owner: Principal) -> Sequence[Candidate]:
        memory = self._settings
        limits = ExtractionLimits(
            new_per_conversation=memory.max_new_per_conversation * PROPOSALS_PER_NEW,
            characters_per_memory=memory.max_chars_per_memory,
        )
        try:
            return self._extractor.extract(
                turns,
                subject_id=owner.subject_id,
                conversation_id=claim.due.conversation_id,
                offered=reading.offered,
                recent=reading.recent,
                limits=limits,
            )
        except IngatanError:
            raise
        except Exception as error:  # an extractor's defect counts as a failed attempt, so it cannot block the queue
            raise ExtractionRejected(type(error).__name__) from None

    def _weigh(
        self, owner: Principal, reading: Reading, proposed: Sequence[Candidate], now: datetime
    ) -> tuple[list[Candidate], list[str]]:
        """``proposed`` with those first that may be kept, the most important before the others; and their texts.

        Only texts that would be accepted as things stand reach the embedder. Requests to forget keep their place.
        """
        ranked: list[tuple[float, int, Candidate]] = []
        texts: list[str] = []
        with self._database.read(owner) as connection:
            for n, candidate in enumerate(proposed):
                decision = candidates.consider(connection, owner, candidate, self._terms(now), turns=reading.by_id())
                accepted = decision.outcome is Outcome.ACCEPT
                closing = candidate.operation is Operation.DELETE
                ranked.append((-2.0 if closing else -candidate.importance if accepted else 1.0, n, candidate))
                if accepted and decision.text:
                    texts.append(decision.text)
        return [candidate for _, _, candidate in sorted(ranked, key=lambda item: item[:2])], texts

    def _commit(
        self,
        claim: Claim,
        owner: Principal,
        reading: Reading,
        thoughts: Thoughts,
        now: datetime,
    ) -> Outcomes:
        terms, settled, added = self._terms(now), list[candidates.Settled](), 0
        with self._database.write(owner) as connection:
            if subjects.lock(connection, owner).erasure_epoch != reading.erasure_epoch:
                raise Stale("Something was erased meanwhile.")
            _check_present(connection, owner, thoughts.proposed)
            for candidate in thoughts.proposed:
                done = candidates.settle(
                    connection,
                    owner,
                    candidate,
                    terms,
                    turns=reading.by_id(),
                    vectors=thoughts.vectors,
                    written_in_conversation=added,
                )
                added += done.added
                settled.append(done)
            about = claim.due.conversation_id
            notes = [candidates.refuse(connection, owner, refusal, about) for refusal in thoughts.refused]
            spans.finish(connection, claim, through=max((turn.said_at for turn in reading.turns), default=None))
            entries = [*notes, *(entry for done in settled for entry in done.entries)]
            if entries:
                self._audit.append(connection, owner, entries)
        return Outcomes(tuple(settled), thoughts.refused)

    def _fail(self, claim: Claim, owner: Principal, failure: ExtractionFailed, report: SweepReport) -> None:
        conversation_id = claim.due.conversation_id
        with self._database.write(owner) as connection:
            abandoned = spans.fail(
                connection, claim, reason=failure.reason, attempts_max=self._settings.max_extraction_attempts
            )
            if abandoned:
                details = {"from_seq": claim.done_seq, "to_seq": claim.to_seq, "reason": failure.reason}
                entry = Entry(
                    action=AuditAction.SWEEP_ABANDONED,
                    entity_type="conversation",
                    entity_id=conversation_id,
                    details=details,
                )
                self._audit.append(connection, owner, [entry])
        report.failed += 1
        report.abandoned += abandoned
        rejected = isinstance(failure, ExtractionRejected)
        name = Event.MEMORY_EXTRACTION_REJECTED if rejected else Event.MEMORY_EXTRACTION_UNAVAILABLE
        attempts = claim.attempts + 1
        event(name, level="warning", conversation_id=conversation_id, reason=failure.reason, attempts=attempts)
        if abandoned:
            event(
                Event.MEMORY_CONSOLIDATION_ABANDONED, level="error", conversation_id=conversation_id, attempts=attempts
            )


def _check_present(connection: Connection, owner: Principal, proposed: Sequence[Candidate]) -> None:
    cited = list({evidence.message_id for candidate in proposed for evidence in candidate.evidence})
    row = connection.one("sweep.present", tenant_id=owner.tenant_id, ids=cited)
    if row is None or row.n != len(cited):
        raise Stale("A cited turn is gone.")


def _account(claim: Claim, outcomes: Outcomes, report: SweepReport) -> None:
    accepted = [done for done in outcomes.settled if done.decision.outcome is Outcome.ACCEPT]
    written = sum(done.wrote for done in outcomes.settled)
    closed = sum(len(done.decision.closes) for done in accepted)
    rejected = len(outcomes.settled) - len(accepted) + len(outcomes.refused)
    report.conversations += 1
    report.written += written
    report.closed += closed
    report.rejected += rejected
    event(
        Event.MEMORY_CONSOLIDATED,
        conversation_id=claim.due.conversation_id,
        written=written,
        closed=closed,
        rejected=rejected,
        to_seq=claim.to_seq,
    )
    for done in outcomes.settled:
        done.announce()
    for refusal in outcomes.refused:
        reasons = [reason.value for reason in refusal.reasons]
        event(Event.CANDIDATE_DECIDED, level="debug", decision=Outcome.REJECT.value, reasons=reasons)
    judged = [done.decision.reasons for done in outcomes.settled] + [refusal.reasons for refusal in outcomes.refused]
    hostile = sorted({reason.value for reasons in judged for reason in reasons if reason in SECURITY_REASONS})
    if hostile:
        event(
            Event.SECURITY_REVIEW,
            level="warning",
            conversation_id=claim.due.conversation_id,
            subject_id=claim.due.subject_id,
            reasons=hostile,
        )
