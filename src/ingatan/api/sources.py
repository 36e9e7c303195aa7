"""/sources and /batches: what may bring candidates besides people, and taking back what it brought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends

from ingatan import idempotency, sources
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import NewBatch, NewSource
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.audit import AuditAction, Entry
from ingatan.sources import Kind, Source, Withdrawn
from ingatan.storage.database import Power
from ingatan.types import MemoryType, Principal, Role, Scope, Trust, new_id

router = APIRouter(tags=["sources"])
Reader = Annotated[Principal, Depends(needs(Action.SOURCE_READ))]
Writer = Annotated[Principal, Depends(needs(Action.SOURCE_WRITE))]
Opener = Annotated[Principal, Depends(needs(Action.BATCH_OPEN))]
TRUST = {Kind.EVENT: Trust.SIGNED, Kind.DOCUMENT: Trust.UNVERIFIED, Kind.EXTERNAL: Trust.UNVERIFIED}
TYPES = {
    Kind.EVENT: (MemoryType.EPISODE,),
    Kind.DOCUMENT: (MemoryType.KNOWLEDGE,),
    Kind.EXTERNAL: (MemoryType.PREFERENCE, MemoryType.FACT),
}
SCOPES = {Kind.EVENT: (Scope.USER,), Kind.DOCUMENT: (Scope.ORGANISATION,), Kind.EXTERNAL: (Scope.USER,)}
"""What each kind of source may write, and about whom, where nothing else was said."""


@router.post("/sources", status_code=201)
def register(app: Running, caller: Writer, body: NewSource, key: IdempotencyKey = None) -> dict[str, Any]:
    """Register a source with what it may write. Its keys stay as they are: to change them, register another."""
    source = Source(
        id=new_id(),
        name=body.name,
        kind=body.kind,
        writer_id=body.writer_id,
        keys=sources.public_keys(body.keys) if body.keys is not None else None,
        trust=TRUST[body.kind],
        types=tuple(body.types) or TYPES[body.kind],
        scopes=tuple(body.scopes) or SCOPES[body.kind],
        purposes=tuple(body.purposes),
    )
    claim = idempotency.key_for("POST /sources", key, body.model_dump(mode="json"))
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [source.id])
        connection.enter(caller, power=Power.ADMIN)
        if made is not None:
            return answers.source(sources.get(connection, caller, made[0]), caller.tenant_id)
        source = sources.register(connection, caller, source)
        app.audit.append(connection, caller, [_entry(AuditAction.SOURCE_REGISTERED, "source", source.id)])
    return answers.source(source, caller.tenant_id)


@router.get("/sources")
def listed(app: Running, caller: Reader, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The tenant's sources, newest first, revoked ones too."""
    page = Page(app, caller, "sources", cursor, limit)
    with app.database.read(caller) as connection:
        found = sources.page(connection, caller, before=page.behind_id, limit=page.reads)
    return page.answer(found, lambda item: answers.source(item, caller.tenant_id), lambda item: (item.id,))


@router.get("/sources/{id}")
def read(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """One source."""
    with app.database.read(caller) as connection:
        return answers.source(sources.get(connection, caller, id), caller.tenant_id)


@router.post("/sources/{id}/revoke")
def revoke(app: Running, caller: Writer, id: UUID) -> dict[str, Any]:
    """Take nothing from it any more, and withdraw what it brought with everything derived from that. For good."""
    with app.database.write(caller, power=Power.ADMIN) as connection:
        found = sources.revoke(connection, caller, id)
        entry = _entry(AuditAction.SOURCE_REVOKED, "source", id, **_counts(found))
        app.audit.append(connection, caller, [entry, *_each(found)])
        source = sources.get(connection, caller, id)
    return {**answers.source(source, caller.tenant_id), **_counts(found)}


@router.post("/batches", status_code=201)
def open_batch(app: Running, caller: Opener, body: NewBatch, key: IdempotencyKey = None) -> dict[str, Any]:
    """Open a batch of a source that the caller speaks for: what is sent with its id can be rolled back together."""
    id = new_id()
    claim = idempotency.key_for("POST /batches", key, body.model_dump(mode="json"))
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [id])
        if made is not None:
            return answers.batch(sources.batch(connection, caller, made[0]))
        if Role.ADMIN not in caller.roles:
            sources.check_speaks(sources.get(connection, caller, body.source_id), caller)
        batch = sources.open_batch(connection, caller, body.source_id, id)
        app.audit.append(connection, caller, [_entry(AuditAction.BATCH_OPENED, "batch", id)])
    return answers.batch(batch)


@router.post("/batches/{id}/rollback")
def roll_back(app: Running, caller: Writer, id: UUID) -> dict[str, Any]:
    """Withdraw what the batch brought, with everything derived from that; what it superseded is served again."""
    with app.database.write(caller, power=Power.ADMIN) as connection:
        found = sources.roll_back(connection, caller, id)
        entry = _entry(AuditAction.BATCH_ROLLED_BACK, "batch", id, **_counts(found))
        app.audit.append(connection, caller, [entry, *_each(found)])
        batch = sources.batch(connection, caller, id)
    return {**answers.batch(batch), **_counts(found)}


def _counts(found: Sequence[Withdrawn]) -> dict[str, int]:
    restored = sum(item.restored for item in found)
    return {"withdrawn": len(found) - restored, "restored": restored}


def _each(found: Sequence[Withdrawn]) -> list[Entry]:
    return [
        _entry(
            AuditAction.MEMORY_RESTORED if item.restored else AuditAction.MEMORY_WITHDRAWN,
            "user_memory",
            item.memory_id,
            version=item.version,
        )
        for item in found
    ]


def _entry(action: AuditAction, kind: str, id: UUID, **details: object) -> Entry:
    return Entry(action=action, entity_type=kind, entity_id=id, details=details)
