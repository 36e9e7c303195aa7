"""Spans: which turns of which conversation wait to be learned from, and who holds them meanwhile.

A span is (done_seq, to_seq] of one conversation in one lane. Claiming raises its fence; only the holder of the newest
fence can move the watermark, so a worker that was presumed dead can no longer write. A span is held in the scope of its
keeper (the owner of the workspace, else the maker of the conversation), each asker in their own. Locks are taken in one
order everywhere: people by id, conversation, askers, sweep state, audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan.errors import IngatanError
from ingatan.identity import SENTINEL_SUBJECT
from ingatan.settings import MemorySettings
from ingatan.storage.database import Connection
from ingatan.types import Principal

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
    """A conversation that has ended with something new in it; content-free. ``askers`` asked since, in id order."""

    tenant_id: UUID
    conversation_id: UUID
    keeper_id: UUID
    askers: tuple[UUID, ...]

    @property
    def keeper(self) -> Principal:
        """In whose scope the conversation is held."""
        return Principal(self.tenant_id, self.keeper_id)


@dataclass(frozen=True, slots=True)
class Held:
    """A person in hand until ``lease_until``: nobody else in this lane extracts from what they said meanwhile."""

    asker: Principal
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """What the claimer holds: the span (done_seq, to_seq], its askers in id order, and the fence its commit must find.

    Nobody is held where nobody has memory: then the watermark moves and nothing is learned.
    """

    due: Due
    lane: Lane
    held: tuple[Held, ...]
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
    def askers(self) -> tuple[Principal, ...]:
        """The people held, in id order."""
        return tuple(held.asker for held in self.held)


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
    return [Due(row.tenant_id, row.conversation_id, row.keeper_id, tuple(row.askers)) for row in rows]


def claim(connection: Connection, due: Due, settings: MemorySettings, now: datetime) -> Claim | None:
    """Take every asker who has memory (one extraction a person) and the conversation, or nothing; None if any is held.

    Takes a connection in the keeper's scope and leaves it there.
    """
    lane = lane_of(settings)
    keys = {"tenant_id": due.tenant_id, "conversation_id": due.conversation_id, "lane": lane.value}
    seen = connection.one("sweep.askers", **keys)
    if seen is None:
        return None
    people = learners(settings, seen.askers, shared=seen.shared)
    lease = settings.extract_timeout_seconds * max(1, len(people)) + LEASE_MARGIN_SECONDS
    held: list[Held] = []
    for asker in [Principal(due.tenant_id, subject_id) for subject_id in people]:
        connection.enter(asker)
        person = {"tenant_id": due.tenant_id, "subject_id": asker.subject_id}
        leased = connection.one("subjects.claim", **person, lane=lane.value, lease_seconds=lease)
        if leased is None:
            break
        held.append(Held(asker, leased.lease_until))
    connection.enter(due.keeper)
    row = None
    if len(held) == len(people):
        span = {"done_seq": seen.done_seq, "last_seq": seen.last_seq}
        row = connection.one("sweep.claim", **keys, **span, lease_seconds=lease, idle_before=idle_before(settings, now))
    if row is None:
        _let_go(connection, held)
        return None
    return Claim(due, lane, tuple(held), row.done_seq, row.last_seq, row.attempts, row.fence)


def learners(settings: MemorySettings, askers: Sequence[UUID], *, shared: bool) -> list[UUID]:
    """Who of ``askers`` has memory in such a conversation: the sharing rule, the allowlist, never the sentinel (S1)."""
    if shared and not settings.shared_conversations:
        return []
    listed = settings.subject_allowlist
    return sorted(id for id in askers if id != SENTINEL_SUBJECT and (not listed or id in listed))


def release(connection: Connection, claim: Claim) -> None:
    """Give the claim back untouched."""
    _let_go(connection, claim.held)
    connection.enter(claim.due.keeper)
    connection.run("sweep.release", **claim.keys, fence=claim.fence)


def finish(connection: Connection, claim: Claim) -> None:
    """Move the watermark to the end of the span and give the claim back. Raises Stale unless the fence still holds."""
    _let_go(connection, claim.held)
    connection.enter(claim.due.keeper)
    newest = connection.one(
        "sweep.newest",
        tenant_id=claim.due.tenant_id,
        conversation_id=claim.due.conversation_id,
        done_seq=claim.done_seq,
        to_seq=claim.to_seq,
    )
    _publish(connection, claim, through=newest.said_at if newest else None, failures=0)
    _advance(connection, claim)


def fail(connection: Connection, claim: Claim, *, reason: str, attempts_max: int) -> bool:
    """Count a failed attempt and give the claim back; after the last one list the span as abandoned and move on.

    Returns True when the span was abandoned. Raises Stale unless the fence still holds.
    """
    attempts = claim.attempts + 1
    abandoned = attempts >= attempts_max
    _let_go(connection, claim.held)
    connection.enter(claim.due.keeper)
    _publish(connection, claim, through=None, failures=attempts)
    if not connection.run("sweep.fail", **claim.keys, fence=claim.fence):
        raise Stale("Another worker holds this conversation.")
    if abandoned:
        connection.run("sweep.abandon", **claim.keys, from_seq=claim.done_seq, to_seq=claim.to_seq, reason=reason)
        _advance(connection, claim)
    return abandoned


def ends_at(connection: Connection, settings: MemorySettings, tenant_id: UUID, subject_id: UUID) -> datetime | None:
    """When the first of the person's conversations with something new counts as ended; None if there is none."""
    row = connection.one("sweep.next_idle", tenant_id=tenant_id, subject_id=subject_id, lane=lane_of(settings).value)
    return row.earliest + timedelta(minutes=settings.idle_minutes) if row and row.earliest else None


def skip_pending(connection: Connection, principal: Principal, conversation_id: UUID | None = None) -> None:
    """What the caller said until now, there or anywhere, is not learned from any more. Call under their lock."""
    keys = {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id, "conversation_id": conversation_id}
    connection.run("sweep.skip_pending", **keys)
    connection.run("sweep.skip_conversations", **keys)


def _let_go(connection: Connection, held: Sequence[Held]) -> None:
    """Give people back, each in their own scope, where the connection then stays."""
    for person in held:
        connection.enter(person.asker)
        keys = {"tenant_id": person.asker.tenant_id, "subject_id": person.asker.subject_id}
        connection.run("subjects.release", **keys, lease_until=person.lease_until)


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
