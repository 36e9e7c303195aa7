"""The queue: candidates that wait for a reviewer, and what its people do with them.

A reviewer sees what is proposed and a bounded excerpt around each quote, never a transcript; its person sees their own.
Functions take a connection: the reviewer's in the power ``review``, the person's in theirs; none commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.audit import AuditAction, Entry
from ingatan.errors import Conflict, NotFound
from ingatan.memories.decisions import Judgement, State
from ingatan.memories.held import Held, restored
from ingatan.storage.database import Connection
from ingatan.types import CAPPED, MemoryType, Outcome, Principal, Reason, Scope, SourceKind

EXPIRE_BATCH = 500
NOT_HERE = "There is no such candidate, or it is not yours."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which of the waiting are listed; None does not filter."""

    reason: Reason | None = None
    type: MemoryType | None = None
    source: SourceKind | None = None
    source_id: UUID | None = None
    appealed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A candidate in the queue, without what it proposes."""

    id: UUID
    subject_id: UUID
    writer_id: UUID
    scope: Scope
    type: str
    decision: Outcome
    reasons: tuple[str, ...]
    policy_version: str
    source: str
    source_id: UUID | None
    batch_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    appealed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided on one candidate, and what came of it; without ``judgement`` while it waits, again or yet."""

    judgement: Judgement | None
    reviewer_id: UUID | None
    appealed_at: datetime | None
    decision: Outcome
    reasons: tuple[str, ...]
    memory_id: UUID | None
    policy_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A quote with what stands before and after it in its turn, within the policy's bound."""

    message_id: UUID
    quote: str
    before: str
    after: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One candidate as a reviewer sees it. ``held`` and ``excerpts`` only while it waits and its source may be read."""

    waiting: Waiting
    state: State
    held: Held | None
    excerpts: tuple[Excerpt, ...]
    source_readable: bool
    appeal_note: str | None
    verdict: Judgement | None
    reviewed_at: datetime | None
    memory_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """One candidate about the caller, locked."""

    id: UUID
    type: str
    decision: Outcome
    reasons: tuple[str, ...]
    state: State
    conversation_id: UUID | None
    appealed_at: datetime | None


def page(
    connection: Connection,
    reviewer: Principal,
    filters: Filters,
    *,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Waiting]:
    """Up to ``limit`` of the tenant that wait, by (created_at, id) ascending, behind ``after``."""
    rows = connection.all(
        "review.page",
        tenant_id=reviewer.tenant_id,
        reason=filters.reason.value if filters.reason else None,
        type=filters.type.value if filters.type else None,
        source_kind=filters.source.value if filters.source else None,
        source_id=filters.source_id,
        appealed=filters.appealed,
        after_at=after[0] if after else None,
        after_id=after[1] if after else None,
        limit=limit,
    )
    return [_waiting(row) for row in rows]


def get(connection: Connection, reviewer: Principal, id: UUID, *, characters: int) -> Item:
    """One candidate of the tenant, with at most ``characters`` around each quote in all. Raises NotFound.

    Where a cited turn may not be read any more (its conversation was deleted, or it is off the record), nothing of what
    was said in it is shown.
    """
    row = connection.one("review.get", tenant_id=reviewer.tenant_id, id=id)
    if row is None:
        raise NotFound(NOT_HERE)
    held, excerpts, readable = None, tuple[Excerpt, ...](), True
    if row.state == State.OPEN:
        held = restored(row.payload)
        found = connection.all("review.excerpts", id=id, characters=characters)
        excerpts = tuple(
            Excerpt(message_id=one.message_id, quote=one.quote, before=one.before, after=one.after, said_at=one.said_at)
            for one in found
        )
        cited = held.candidate.source is SourceKind.TURN
        if not cited:  # what a source passed on stands in no turn
            excerpts = tuple(
                Excerpt(
                    message_id=one.message_id, quote=one.quote, before="", after="", said_at=held.candidate.effective_at
                )
                for one in held.candidate.evidence
            )
        readable = not cited or len(excerpts) == len(held.candidate.evidence)
        if not readable:
            held, excerpts = None, ()
    return Item(
        waiting=_waiting(row),
        state=State(row.state),
        held=held,
        excerpts=excerpts,
        source_readable=readable,
        appeal_note=row.appeal_note,
        verdict=Judgement(row.verdict) if row.verdict else None,
        reviewed_at=row.reviewed_at,
        memory_id=row.memory_id,
    )


def take(connection: Connection, reviewer: Principal, id: UUID) -> tuple[Waiting, Held]:
    """One that waits, for deciding. Raises NotFound, and Conflict where it waits no more."""
    row = connection.one("review.get", tenant_id=reviewer.tenant_id, id=id)
    if row is None:
        raise NotFound(NOT_HERE)
    if row.state != State.OPEN:
        raise Conflict("This does not wait for a reviewer any more.", code="not_open")
    return _waiting(row), restored(row.payload)


def decided(connection: Connection, reviewer: Principal, id: UUID) -> Decided:
    """What came of a candidate. Raises NotFound where it was erased since."""
    row = connection.one("review.get", tenant_id=reviewer.tenant_id, id=id)
    if row is None:
        raise NotFound("What this key decided on has been erased.")
    return Decided(
        judgement=Judgement(row.verdict) if row.verdict else None,
        reviewer_id=row.reviewer_id,
        appealed_at=row.appealed_at,
        decision=Outcome(row.decision),
        reasons=tuple(row.reasons),
        memory_id=row.memory_id,
        policy_version=row.policy_version,
    )


def written_from(connection: Connection, owner: Principal, conversation_id: UUID | None) -> int:
    """How many memories of ``owner`` that S1's cap counts were first written from a conversation."""
    if conversation_id is None:
        return 0
    row = connection.one(
        "review.written_from",
        tenant_id=owner.tenant_id,
        scope=owner.scope.value,
        subject_id=owner.subject_id,
        conversation_id=conversation_id,
        types=sorted(CAPPED),
    )
    return int(row.n) if row else 0


def own(connection: Connection, person: Principal, id: UUID) -> Own:
    """A candidate about the caller, locked until the transaction ends. Raises NotFound."""
    row = connection.one("review.own", tenant_id=person.tenant_id, subject_id=person.subject_id, id=id)
    if row is None:
        raise NotFound(NOT_HERE)
    return Own(
        id=row.id,
        type=row.type,
        decision=Outcome(row.decision),
        reasons=tuple(row.reasons),
        state=State(row.state),
        conversation_id=row.conversation_id,
        appealed_at=row.appealed_at,
    )


def withdraw(connection: Connection, person: Principal, id: UUID) -> None:
    """Take back what waits; nothing of it stays. Raises Conflict where it does not wait."""
    if not connection.run("review.withdraw", tenant_id=person.tenant_id, subject_id=person.subject_id, id=id):
        raise Conflict("This does not wait for a reviewer; there is nothing to take back.", code="not_open")


def take_back(
    connection: Connection,
    owner: Principal,
    *,
    everything: bool = False,
    slot: str | None = None,
    marks: Iterable[bytes] = (),
) -> list[Entry]:
    """Take back what waits about the owner and is not to be remembered; the audit rows. Nothing of it stays.

    What would fill ``slot`` or bears one of ``marks``, or ``everything``.
    """
    taken = connection.all(
        "review.take_back",
        tenant_id=owner.tenant_id,
        subject_id=owner.subject_id,
        everything=everything,
        slot=slot,
        marks=[mark.hex() for mark in marks],
    )
    return [Entry(action=AuditAction.CANDIDATE_WITHDRAWN, entity_type="candidate", entity_id=row.id) for row in taken]


def appeal(connection: Connection, person: Principal, id: UUID, note: str | None) -> None:
    """Note that its person asks for a look at what waits."""
    connection.run("review.appeal", tenant_id=person.tenant_id, subject_id=person.subject_id, id=id, note=note)


def reopen(
    connection: Connection,
    person: Principal,
    id: UUID,
    *,
    payload: dict[str, Any],
    kind: MemoryType,
    policy_version: str,
    note: str | None,
    expires_at: datetime,
) -> None:
    """Let what was refused wait again, with the person's words sent anew."""
    connection.run(
        "review.reopen",
        tenant_id=person.tenant_id,
        subject_id=person.subject_id,
        id=id,
        payload=payload,
        type=kind.value,
        reasons=[Reason.NEEDS_REVIEW.value],
        policy_version=policy_version,
        note=note,
        expires_at=expires_at,
    )


def expire(connection: Connection, moment: datetime) -> list[UUID]:
    """End up to EXPIRE_BATCH that nobody reviewed by ``moment``; their ids. Needs Power.JOB."""
    return [row.id for row in connection.all("review.expire", moment=moment, most=EXPIRE_BATCH)]


def _waiting(row: Any) -> Waiting:
    return Waiting(
        id=row.id,
        subject_id=row.subject_id,
        writer_id=row.writer_id,
        scope=Scope(row.scope),
        type=row.type,
        decision=Outcome(row.decision),
        reasons=tuple(row.reasons),
        policy_version=row.policy_version,
        source=row.source_kind,
        source_id=row.source_id,
        batch_id=row.batch_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
        appealed_at=row.appealed_at,
    )
