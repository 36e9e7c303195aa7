"""The sweeper: ended conversations become candidates, candidates become decisions (S1, DATA).

Per conversation four steps, each its own transaction or none: claim (lease and fence), read, think (extraction and
embedding, no transaction open), commit (subject locks, fresh checks, decisions, watermark by compare-and-set on the
fence). A crash between any two loses nothing and repeats nothing: only the commit moves the watermark, together with
everything it wrote. Where several people asked, each one's own turns are read, thought about and decided in their own
scope, and all of it is one commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ingatan import conversations, readings, spans, subjects, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.embeddings import NO_VECTORS, Vectors
from ingatan.errors import ExtractionFailed, ExtractionRejected, IngatanError
from ingatan.leases import Leadership
from ingatan.lineup import Lineup
from ingatan.memories import candidates, decisions, refusals
from ingatan.memories.assessment import Assessment
from ingatan.memories.extraction import ExtractionLimits, Extractor
from ingatan.memories.refusals import Refusal
from ingatan.memories.standing import Standing, Terms
from ingatan.projections import Projections
from ingatan.readings import Reading
from ingatan.settings import MemorySettings
from ingatan.spans import Claim, Due, Stale
from ingatan.storage.database import Connection, Database
from ingatan.sweep_report import Outcomes, SweepReport
from ingatan.telemetry import Event, event
from ingatan.types import CAPPED, Candidate, Operation, Outcome, Principal, Turn, new_id

PROPOSALS_PER_NEW = 10
"""Candidates asked for per new memory allowed, because the policy refuses some."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A proposal and what its words alone come to."""

    candidate: Candidate
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What came of a reading: proposals in the order to decide them, vectors of their texts, and what is refused."""

    reading: Reading
    proposed: tuple[Weighed, ...]
    vectors: Vectors
    refused: tuple[Refusal, ...]


class Sweeper:
    """Sweeps one lane of one database. ``pause`` is called between steps (tests stop or kill there).

    Up to MAX_CONCURRENT_WRITES conversations are in work at once, at most one a person.
    """

    def __init__(
        self,
        database: Database,
        *,
        settings: MemorySettings,
        extractor: Extractor,
        projections: Projections,
        audit: Audit,
        terms: Callable[[datetime], Terms],
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
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Begin no further conversation, in this sweep or another; those in work are finished. For shutting down."""
        self._stopped.set()

    def sweep(self, now: datetime | None = None) -> SweepReport:
        """Run once at ``now``: up to SWEEP_BATCH_SIZE ended conversations, fewest failures first."""
        at = now or datetime.now(UTC)
        report = SweepReport()
        with self._leadership.held() as leads:
            if not leads:
                report.led = False
                return report
            with self._database.jobs() as connection:
                listed = spans.due(connection, self._settings, at)
            self._work(listed, at, report)
            if not self._stopped.is_set():
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

    def _work(self, listed: Sequence[Due], now: datetime, report: SweepReport) -> None:
        """Sweep ``listed`` with as many workers as allowed; the first defect of a worker is raised after all ended."""
        lineup = Lineup(listed)
        workers = min(self._settings.max_concurrent_writes, len(listed))
        if workers <= 1:
            self._take_all(lineup, now, report)
            return
        reports, errors = [SweepReport() for _ in range(workers)], list[Exception]()

        def work(own: SweepReport) -> None:
            try:
                self._take_all(lineup, now, own)
            except Exception as error:
                lineup.close()
                errors.append(error)

        threads = [threading.Thread(target=work, args=(own,), name="ingatan-extract", daemon=True) for own in reports]
        for thread in threads:
            thread.start()
        for thread, own in zip(threads, reports, strict=True):
            thread.join()
            report.add(own)
        if errors:
            raise errors[0]

    def _take_all(self, lineup: Lineup, now: datetime, report: SweepReport) -> None:
        while (due := lineup.take()) is not None:
            try:
                if self._stopped.is_set() or not self._leadership.take():  # renewed while it runs
                    lineup.close()
                    return
                self._one(due, now, report)
            finally:
                lineup.finish(due)

    def _one(self, due: Due, now: datetime, report: SweepReport) -> None:
        # A claim lost in a crash of the database was never held: the watermark moves once, whoever commits.
        with self._database.write(due.keeper, durable=False) as connection:
            claim = spans.claim(connection, due, self._settings, now)
        if claim is None:
            return
        try:
            try:
                outcomes = self._learn(claim, now)
            except ExtractionFailed as failure:
                self._fail(claim, failure, report)
            except IngatanError:
                raise
            except Exception as error:  # a defect of ours counts as a failed attempt too, so it cannot block the queue
                self._fail(claim, ExtractionRejected(type(error).__name__), report)
            else:
                report.count(claim, outcomes)
        except Stale:
            report.stale += 1
            with self._database.write(due.keeper) as connection:
                spans.release(connection, claim)
        except IngatanError as error:
            report.failed += 1  # the lease runs out and the span is tried again
            event(Event.SWEEP_FAILED, level="error", conversation_id=due.conversation_id, code=error.code)

    def _learn(self, claim: Claim, now: datetime) -> list[Outcomes]:
        self._pause("claimed")
        read = [self._read(claim, asker, now) for asker in claim.askers]
        self._pause("read")
        thoughts: list[Thoughts] = []
        for reading in read:
            if thoughts:
                self._leadership.take()  # each extraction may take half of what leading lasts
            thoughts.append(self._think(reading, claim, reading.asker, now))
        self._pause("thought")
        outcomes = self._commit(claim, thoughts, now)
        self._pause("committed")
        return outcomes

    def _read(self, claim: Claim, asker: Principal, now: datetime) -> Reading:
        with self._database.read(asker) as connection:
            return readings.read(connection, claim, asker, self._settings, now)

    def _think(self, reading: Reading, claim: Claim, owner: Principal, now: datetime) -> Thoughts:
        turns = transcript.bounded(reading.turns, owner.subject_id, self._settings)
        if not any(turn.author_id == owner.subject_id for turn in turns):
            return Thoughts(reading, (), NO_VECTORS, ())  # nothing of theirs may be read: no model is asked
        found = self._extract(turns, reading, claim, owner)
        refused = refusals.noticed(turns, owner.subject_id, found)
        proposed, expected = self._weigh(owner, reading, found, now)
        return Thoughts(reading, tuple(proposed), self._projections.to_write(expected), tuple(refused))

    def _extract(self, turns: Sequence[Turn], reading: Reading, claim: Claim, owner: Principal) -> Sequence[Candidate]:
        memory = self._settings
        limits = ExtractionLimits(
            new_per_conversation=memory.max_new_per_conversation * PROPOSALS_PER_NEW,
            characters_per_memory=memory.max_chars_per_memory,
            additions=memory.max_new_per_conversation,
            active=memory.max_active_per_user,
            attempt=claim.attempts + 1,
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
    ) -> tuple[list[Weighed], list[candidates.Considered]]:
        """``proposed`` with those first that may be kept, the most important before the others; and how it looks now.

        Requests to forget keep their place.
        """
        ranked: list[tuple[float, int, Weighed]] = []
        if not proposed:
            return [], []
        with self._database.read(owner) as connection:
            standing = Standing(connection, owner, proposed, self._terms(now), turns=reading.by_id())
        considered = candidates.consider(standing, proposed)
        for n, (candidate, found) in enumerate(zip(proposed, considered, strict=True)):
            accepted = found.decision.outcome is Outcome.ACCEPT
            closing = candidate.operation is Operation.DELETE
            order = -2.0 if closing else -candidate.importance if accepted else 1.0
            ranked.append((order, n, Weighed(candidate, found.assessment)))
        return [weighed for _, _, weighed in sorted(ranked, key=lambda item: item[:2])], considered

    def _commit(self, claim: Claim, thoughts: Sequence[Thoughts], now: datetime) -> list[Outcomes]:
        """Decide with fresh state and write for every asker, in id order, each in their own scope; all or nothing."""
        outcomes: list[Outcomes] = []
        audited: list[tuple[Principal, list[Entry]]] = []
        with self._database.write(claim.due.keeper) as connection:
            for thought in thoughts:
                connection.enter(thought.reading.asker)
                locked = subjects.lock(connection, thought.reading.asker)
                if locked.erasure_epoch != thought.reading.erasure_epoch:
                    raise Stale("Something was erased meanwhile.")
            self._check_unshared(connection, claim)
            for thought in thoughts:
                outcome, entries = self._settle(connection, claim, thought, now)
                outcomes.append(outcome)
                audited.append((thought.reading.asker, entries))
            spans.finish(connection, claim)
            for asker, entries in audited:
                if entries:
                    self._audit.append(connection, asker, entries)
        return outcomes

    def _check_unshared(self, connection: Connection, claim: Claim) -> None:
        """Raise Stale where someone joined while the model thought and memory is not for shared conversations."""
        if not claim.held or self._settings.shared_conversations:
            return
        connection.enter(claim.due.keeper)
        if conversations.shared(connection, claim.due.keeper, claim.due.conversation_id):
            raise Stale("Others ask in this conversation or read it now.")

    def _settle(
        self, connection: Connection, claim: Claim, thought: Thoughts, now: datetime
    ) -> tuple[Outcomes, list[Entry]]:
        """Carry out what was thought about one asker, in their scope and under their lock."""
        owner = thought.reading.asker
        connection.enter(owner)
        settled = self._carry_out(connection, owner, thought, now) if thought.proposed else []
        about = claim.due.conversation_id
        label = self._terms(now).policies.label(connection, owner) if thought.refused else ""
        notes = [decisions.refuse(connection, owner, refusal, about, label) for refusal in thought.refused]
        entries = [*notes, *(entry for done in settled for entry in done.entries)]
        return Outcomes(owner.subject_id, tuple(settled), thought.refused), entries

    def _carry_out(
        self, connection: Connection, owner: Principal, thought: Thoughts, now: datetime
    ) -> list[candidates.Settled]:
        proposed = [weighed.candidate for weighed in thought.proposed]
        _check_present(connection, owner, proposed, with_shared=self._settings.shared_conversations)
        reading = thought.reading
        keys = {"tenant_id": owner.tenant_id, "subject_id": owner.subject_id}
        before = connection.one(
            "sweep.written_from", **keys, types=sorted(CAPPED), ids=[turn.id for turn in reading.turns]
        )
        added = before.n if before else 0
        standing = Standing(connection, owner, proposed, self._terms(now), turns=reading.by_id())
        settled: list[candidates.Settled] = []
        for weighed in thought.proposed:
            done = candidates.settle(
                connection,
                standing,
                weighed.candidate,
                assessment=weighed.assessment,
                vectors=thought.vectors,
                written_in_conversation=added,
            )
            added += int(done.added and weighed.candidate.type in CAPPED)
            settled.append(done)
        return settled

    def _fail(self, claim: Claim, failure: ExtractionFailed, report: SweepReport) -> None:
        conversation_id = claim.due.conversation_id
        with self._database.write(claim.due.keeper) as connection:
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
                self._audit.append(connection, claim.due.keeper, [entry])
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


def _check_present(
    connection: Connection, owner: Principal, proposed: Sequence[Candidate], *, with_shared: bool
) -> None:
    cited = list({evidence.message_id for candidate in proposed for evidence in candidate.evidence})
    if not cited:
        return
    row = connection.one("sweep.present", tenant_id=owner.tenant_id, ids=cited, with_shared=with_shared)
    if row is None or row.n != len(cited):
        raise Stale("A cited turn is gone.")
