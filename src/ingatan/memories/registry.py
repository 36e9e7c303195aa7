"""The registry: the one place where memories are written, versioned, closed and read.

A memory's id is stable and its version grows; at most one version is active. Functions take a connection in the
person's scope, under the subject's lock when they write, and never commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan import text as texts
from ingatan.embeddings import Vector
from ingatan.errors import NotFound
from ingatan.memories import slots
from ingatan.storage.database import Connection
from ingatan.types import (
    Audience,
    Candidate,
    Classification,
    Evidence,
    Memory,
    MemoryStatus,
    MemoryType,
    Principal,
    Scope,
    SourceKind,
    Trust,
    least,
)

HISTORY_MAX = 200
SERVED_TYPES = [kind.value for kind in MemoryType]
"""Rows of any other type (S1's ``reflection``) are never served; they are erased with their owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to be written. ``vector`` None means the embedder did not answer: it is made later.

    ``marks`` are the keyed hashes (32 bytes each) under which it is recognised once it has been erased.
    ``model_id`` is the model of ``vector``; vectors of other models that are in use are made later as well.
    """

    id: UUID
    version: int
    candidate: Candidate
    slot: str | None
    text: str
    language: str
    trust: Trust
    purposes: tuple[str, ...]
    expires_at: datetime | None
    candidate_id: UUID | None
    policy_version: str
    vector: Vector | None
    model_id: int | None
    marks: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """By which candidate a version was written or closed, when, by whom (its writer) and why (its reasons).

    Writer and reasons are None when the record of the decision was erased.
    """

    candidate_id: UUID
    at: datetime
    writer_id: UUID | None
    reasons: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One version in the history of a memory."""

    memory: Memory
    policy_version: str
    written: Act | None
    closed_at: datetime | None
    closed: Act | None


def active(connection: Connection, principal: Principal, now: datetime) -> list[Memory]:
    """The caller's served memories, newest first."""
    return standing(connection, principal, now)[0]


def standing(connection: Connection, principal: Principal, now: datetime) -> tuple[list[Memory], list[Memory]]:
    """The caller's served memories, and those that ran out and were not restated; each newest first."""
    rows = connection.all("registry.standing", **_owner(principal), types=SERVED_TYPES, now=now)
    found = _with_evidence(connection, principal, rows)
    ran_out = {(row.id, row.version) for row in rows if row.ran_out}
    expired = [memory for memory in found if (memory.id, memory.version) in ran_out]
    return [memory for memory in found if (memory.id, memory.version) not in ran_out], expired


def page(
    connection: Connection,
    principal: Principal,
    *,
    status: MemoryStatus,
    before: tuple[datetime, UUID, int] | None,
    limit: int,
    now: datetime,
) -> list[Memory]:
    """Up to ``limit`` versions in ``status``, ordered by (recorded_at, id, version) descending, after ``before``."""
    at, id, version = before or (None, None, None)
    rows = connection.all(
        "registry.page",
        **_owner(principal),
        status=status.value,
        types=SERVED_TYPES,
        now=now,
        before_at=at,
        before_id=id,
        before_version=version,
        limit=limit,
    )
    return _with_evidence(connection, principal, rows)


def get(connection: Connection, principal: Principal, id: UUID) -> Memory:
    """The active version of one memory of the caller. Raises NotFound."""
    row = connection.one("registry.get", tenant_id=principal.tenant_id, id=id, types=SERVED_TYPES)
    if row is None:
        raise NotFound("There is no such memory, or it is not yours.")
    return _with_evidence(connection, principal, [row])[0]


def history(connection: Connection, principal: Principal, id: UUID) -> list[Chapter]:
    """Every version of one memory of the caller, newest first, with what it replaced or was replaced by.

    Bounded by HISTORY_MAX. Raises NotFound when there is none.
    """
    rows = connection.all(
        "registry.history", tenant_id=principal.tenant_id, id=id, types=SERVED_TYPES, limit=HISTORY_MAX
    )
    if not rows:
        raise NotFound("There is no such memory, or it is not yours.")
    found = _with_evidence(connection, principal, rows)
    return [
        Chapter(
            memory=memory,
            policy_version=row.policy_version,
            written=_act(row.candidate_id, row.recorded_at, row.written_by, row.written_for),
            closed_at=row.retired_at,
            closed=_act(row.retired_by, row.retired_at, row.closed_by, row.closed_for),
        )
        for memory, row in zip(found, rows, strict=True)
    ]


def _act(candidate_id: UUID | None, at: datetime, writer_id: UUID | None, reasons: list[str] | None) -> Act | None:
    if candidate_id is None:
        return None
    return Act(
        candidate_id=candidate_id,
        at=at,
        writer_id=writer_id,
        reasons=None if reasons is None else tuple(reasons),
    )


def conflicts(connection: Connection, principal: Principal) -> dict[str, tuple[UUID, ...]]:
    """Single-valued slots that active memories of the caller fill with different values: slot to memory ids."""
    rows = connection.all(
        "registry.conflicts", **_owner(principal), types=SERVED_TYPES, slots=sorted(slots.SINGLE_VALUED)
    )
    return {row.slot: tuple(row.ids) for row in rows}


def write(connection: Connection, principal: Principal, new: NewVersion) -> None:
    """Write one active version with its quotes and its vector, or a note that the vector is to be made."""
    key = {"tenant_id": principal.tenant_id, "memory_id": new.id, "version": new.version}
    candidate = new.candidate
    with connection.pipeline():
        connection.run(
            "registry.insert",
            **_owner(principal),
            id=new.id,
            version=new.version,
            type=candidate.type.value,
            slot=new.slot,
            text=new.text,
            text_hash=texts.digest(new.text),
            language=new.language,
            importance=candidate.importance,
            trust=new.trust.value,
            source_kind=candidate.source.value,
            source_id=candidate.source_id,
            batch_id=candidate.batch_id,
            purposes=list(new.purposes),
            classification=candidate.classification.value,
            audience=candidate.audience.value,
            conversation_id=candidate.conversation_id,
            candidate_id=new.candidate_id,
            policy_version=new.policy_version,
            effective_at=candidate.effective_at,
            expires_at=new.expires_at,
            marks=list(new.marks),
        )
        connection.run(
            "registry.start_counter",
            tenant_id=principal.tenant_id,
            subject_id=principal.subject_id,
            memory_id=new.id,
        )
        for n, evidence in enumerate(candidate.evidence):
            connection.run("registry.insert_evidence", **key, n=n, message_id=evidence.message_id, quote=evidence.quote)
        for parent in dict.fromkeys(candidate.parents):
            connection.run("registry.insert_parent", **key, kind=parent.kind.value, parent_id=parent.id)
        written = new.model_id if new.vector is not None else None
        if written is not None:
            connection.run("registry.insert_vector", **key, model_id=written, v=new.vector)
        connection.run("registry.await_vectors", **{**key, **_owner(principal)}, model_id=written)


def retire(
    connection: Connection, principal: Principal, id: UUID, status: MemoryStatus, *, candidate_id: UUID | None
) -> bool:
    """Close the active version with ``status`` and drop its vectors; False if there was no active version."""
    keys = {"tenant_id": principal.tenant_id, "id": id}
    if not connection.run("registry.retire", **keys, status=status.value, retired_by=candidate_id):
        return False
    connection.run("registry.drop_vectors", **keys, subject_id=principal.subject_id)
    connection.run("registry.drop_pending", **keys)
    return True


def reinforce(
    connection: Connection,
    principal: Principal,
    id: UUID,
    *,
    at: datetime,
    importance: float,
    expires_at: datetime | None,
) -> bool:
    """Confirm a memory the person stated again; an expired one runs until ``expires_at``. False if it is gone."""
    return bool(
        connection.run(
            "registry.reinforce",
            tenant_id=principal.tenant_id,
            id=id,
            at=at,
            importance=importance,
            expires_at=expires_at,
        )
    )


def least_trusted(connection: Connection, principal: Principal, ids: Sequence[UUID]) -> Trust:
    """The least trust among active memories of the owner; UNVERIFIED where one of them is not there."""
    rows = connection.all("registry.trusts", **_owner(principal), ids=list(ids))
    return least(*(Trust(row.trust) for row in rows)) if len(rows) == len(set(ids)) else Trust.UNVERIFIED


def _owner(principal: Principal) -> dict[str, UUID | str]:
    return {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id, "scope": principal.scope.value}


def _with_evidence(connection: Connection, principal: Principal, rows: Sequence[Any]) -> list[Memory]:
    quotes: dict[tuple[UUID, int], list[Evidence]] = {}
    if rows:
        ids = list({row.id for row in rows})
        for item in connection.all("registry.evidence", tenant_id=principal.tenant_id, ids=ids):
            evidence = Evidence(message_id=item.message_id, quote=item.quote)
            quotes.setdefault((item.memory_id, item.version), []).append(evidence)
    return [_memory(row, tuple(quotes.get((row.id, row.version), ()))) for row in rows]


def _memory(row: Any, evidence: tuple[Evidence, ...]) -> Memory:
    return Memory(
        id=row.id,
        version=row.version,
        subject_id=row.subject_id,
        type=MemoryType(row.type),
        slot=row.slot,
        text=row.text,
        language=row.language,
        importance=row.importance,
        trust=Trust(row.trust),
        status=MemoryStatus(row.status),
        source=SourceKind(row.source_kind),
        conversation_id=row.conversation_id,
        effective_at=row.effective_at,
        recorded_at=row.recorded_at,
        confirmed_at=row.confirmed_at,
        expires_at=row.expires_at,
        evidence=evidence,
        scope=Scope(row.scope),
        audience=Audience(row.audience),
        classification=Classification(row.classification),
        purposes=tuple(row.purposes),
        source_id=row.source_id,
        batch_id=row.batch_id,
    )
