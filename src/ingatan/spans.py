"""Spans: which turns of which conversation wait to be learned from, and who holds them meanwhile.

A span is (done_seq, to_seq] of one conversation in one lane. Claiming raises its fence; only the holder of the newest
fence can move the watermark, so a worker that was presumed dead can no longer write. Functions take a connection in
the person's scope, except ``due``, which sees content-free rows of all tenants.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan.errors import IngatanError
from ingatan.settings import MemorySettings
from ingatan.storage.database import Connection

LEASE_MARGIN_SECONDS = 30.0


class Lane(StrEnum):
    """Which sweeper a watermark belongs to: the unscoped one, or the one scoped by SUBJECT_ALLOWLIST (S1)."""

    ALL = "all"
    SCOPED = "scoped"


class Stale(IngatanError):
    """Between reading and committing the world changed; nothing was written and the span stays due."""

    code = "stale_sweep"


@dataclass(frozen=True, slots=True)
class Due:
    """A conversation that has ended with something new in it; content-free."""

    tenant_id: UUID
    conversation_id: UUID
    subject_id: UUID


@dataclass(frozen=True, slots=True)
class Claim:
    """What the claimer holds: the span (done_seq, to_seq] and the fence its commit must still find."""

    due: Due
    lane: Lane
    done_seq: int
    to_seq: int
    attempts: int
    fence: int

    @property
    def keys(self) -> dict[str, Any]:
        """The parameters that name the span's row."""
        return {
            "tenant_id": self.due.tenant_id,
            "conversation_id": self.due.conversation_id,
            "lane": self.lane.value,
        }

    @property
    def person(self) -> dict[str, Any]:
        """The parameters that name the asker's row."""
        return {"tenant_id": self.due.tenant_id, "subject_id": self.due.subject_id}


def lane_of(settings: MemorySettings) -> Lane:
    """The lane a sweeper with these settings works in."""
    return Lane.SCOPED if settings.subject_allowlist else Lane.ALL


def idle_before(settings: MemorySettings, now: datetime) -> datetime:
    """A conversation whose newest turn arrived at this moment or earlier counts as ended."""
    return now - timedelta(minutes=settings.idle_minutes)


def active_after(settings: MemorySettings, now: datetime) -> datetime:
    """Conversations whose newest turn arrived before this moment are not swept (no backfill)."""
    return now - timedelta(hours=settings.lookback_hours)


def due(connection: Connection, settings: MemorySettings, now: datetime) -> list[Due]:
    """Up to SWEEP_BATCH_SIZE ended conversations, fewest failures first, then longest idle. Takes a jobs connection."""
    rows = connection.all(
        "sweep.due",
        lane=lane_of(settings).value,
        idle_before=idle_before(settings, now),
        active_after=active_after(settings, now),
        subjects=list(settings.subject_allowlist) or None,
        limit=settings.sweep_batch_size,
    )
    return [Due(row.tenant_id, row.conversation_id, row.subject_id) for row in rows]


def claim(connection: Connection, due: Due, settings: MemorySettings, now: datetime) -> Claim | None:
    """Take the asker (one extraction a person) and the conversation, or neither; None if either is held."""
    lease = settings.extract_timeout_seconds + LEASE_MARGIN_SECONDS
    person = {"tenant_id": due.tenant_id, "subject_id": due.subject_id}
    if not connection.run("subjects.claim", **person, lease_seconds=lease):
        return None
    lane = lane_of(settings)
    row = connection.one(
        "sweep.claim",
        tenant_id=due.tenant_id,
        conversation_id=due.conversation_id,
        lane=lane.value,
        lease_seconds=lease,
        idle_before=idle_before(settings, now),
    )
    if row is None:
        connection.run("subjects.release", **person)
        return None
    return Claim(due, lane, row.done_seq, row.last_seq, row.attempts, row.fence)


def release(connection: Connection, claim: Claim) -> None:
    """Give the claim back untouched."""
    connection.run("sweep.release", **claim.keys, fence=claim.fence)
    connection.run("subjects.release", **claim.person)


def finish(connection: Connection, claim: Claim, *, through: datetime | None) -> None:
    """Move the watermark to the end of the span and give the claim back. Raises Stale unless the fence still holds."""
    _advance(connection, claim)
    _publish(connection, claim, through=through, failures=0)
    connection.run("subjects.release", **claim.person)


def fail(connection: Connection, claim: Claim, *, reason: str, attempts_max: int) -> bool:
    """Count a failed attempt and give the claim back; after the last one list the span as abandoned and move on.

    Returns True when the span was abandoned. Raises Stale unless the fence still holds.
    """
    attempts = claim.attempts + 1
    abandoned = attempts >= attempts_max
    if not connection.run("sweep.fail", **claim.keys, fence=claim.fence):
        raise Stale("Another worker holds this conversation.")
    if abandoned:
        connection.run("sweep.abandon", **claim.keys, from_seq=claim.done_seq, to_seq=claim.to_seq, reason=reason)
        _advance(connection, claim)
    _publish(connection, claim, through=None, failures=attempts)
    connection.run("subjects.release", **claim.person)
    return abandoned


def ends_at(connection: Connection, settings: MemorySettings, tenant_id: UUID, subject_id: UUID) -> datetime | None:
    """When the first of the person's conversations with something new counts as ended; None if there is none."""
    row = connection.one("sweep.next_idle", tenant_id=tenant_id, subject_id=subject_id, lane=lane_of(settings).value)
    return row.earliest + timedelta(minutes=settings.idle_minutes) if row and row.earliest else None


def abandoned(connection: Connection, *, limit: int = 1_000) -> list[Any]:
    """Spans whose last allowed attempt failed, newest first; content-free rows. Takes a jobs connection."""
    return connection.all("sweep.list_abandoned", limit=limit)


def requeue(connection: Connection, conversation_id: UUID) -> int:
    """Queue a conversation's abandoned spans again, due after the idle time; return how many lanes. Jobs connection."""
    lanes = connection.run("sweep.requeue", conversation_id=conversation_id)
    connection.run("sweep.forget_abandoned", conversation_id=conversation_id)
    return lanes


def _advance(connection: Connection, claim: Claim) -> None:
    moved = connection.run(
        "sweep.finish", **claim.keys, fence=claim.fence, done_seq=claim.done_seq, to_seq=claim.to_seq
    )
    if moved != 1:
        raise Stale("Another worker holds this conversation.")


def _publish(connection: Connection, claim: Claim, *, through: datetime | None, failures: int) -> None:
    prefix = "memory_scoped_" if claim.lane is Lane.SCOPED else "memory_"
    connection.run(
        "sweep.publish",
        tenant_id=claim.due.tenant_id,
        conversation_id=claim.due.conversation_id,
        through_key=f"{prefix}consolidated_through",
        through=through.isoformat() if through else None,
        failures_key=f"{prefix}extraction_failures",
        failures=failures,
    )
