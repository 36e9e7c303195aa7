"""/recall, /audit and the health checks."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from ingatan.access import Action
from ingatan.api.bodies import RecallQuestion, Said, Text
from ingatan.api.callers import Running, needs
from ingatan.api.page import Limit, Page
from ingatan.memories.packet import NOTES
from ingatan.storage.database import Power
from ingatan.types import Principal

router = APIRouter()
Asker = Annotated[Principal, Depends(needs(Action.RECALL))]
Auditor = Annotated[Principal, Depends(needs(Action.AUDIT_READ))]
Verifier = Annotated[Principal, Depends(needs(Action.AUDIT_VERIFY))]


@router.post("/recall", tags=["recall"])
def recall(app: Running, caller: Asker, body: RecallQuestion) -> dict[str, Any]:
    """What is remembered about the caller that helps with this question; never an instruction, never evidence."""
    packet = app.gateway.recall(
        caller,
        body.query,
        conversation_id=body.conversation_id,
        top_k=body.top_k,
        max_chars=body.max_chars,
        formula=body.ranking,
        as_of=body.as_of,
        purpose=body.purpose,
        task_type=body.task_type,
        unverified_episodes=body.unverified_episodes,
    )
    return {
        "memories": [record.as_json() for record in packet.memories],
        "prompt": packet.prompt,
        "notes": [{"code": note.value, "text": NOTES[note]} for note in packet.notes],
        "degraded": packet.degraded,
        "conflicts": [conflict.as_json() for conflict in packet.conflicts],
    }


@router.get("/audit", tags=["audit"])
def audit(
    app: Running,
    caller: Auditor,
    entity_type: Text | None = None,
    entity_id: UUID | None = None,
    actor: UUID | None = None,
    from_at: Annotated[Said, Query(alias="from")] = None,
    to_at: Annotated[Said, Query(alias="to")] = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """The tenant's chained audit rows, newest first. Ids and codes only."""
    page = Page(app, caller, f"audit:{entity_type}:{entity_id}:{actor}:{from_at}:{to_at}", cursor, limit)
    with app.database.read(caller, power=Power.AUDIT) as connection:
        rows = connection.all(
            "audit.list",
            tenant_id=caller.tenant_id,
            before=page.behind_number,
            entity_type=entity_type,
            entity_id=entity_id,
            actor_id=actor,
            from_at=from_at,
            to_at=to_at,
            limit=page.reads,
        )
    return page.answer(rows, _audited, lambda row: (row.seq,))


def _audited(row: Any) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "lane": 0,
        "seq": row.seq,
        "at": row.at.isoformat(),
        "actor": str(row.actor_id),
        "action": row.action,
        "entity_type": row.entity_type,
        "entity_id": str(row.entity_id) if row.entity_id else None,
        "details": row.details,
    }


@router.get("/audit/verify", tags=["audit"])
def verify(app: Running, caller: Verifier) -> dict[str, Any]:
    """Check the tenant's whole chain; names the first broken row. A tail cut with its head is not seen yet."""
    with app.database.read(caller, power=Power.AUDIT) as connection:
        found = app.audit.verify(connection, caller.tenant_id)
    return {"sound": found.sound, "rows": found.rows, "broken_seq": found.broken_seq, "reason": found.reason or None}


@router.get("/healthz", tags=["health"])
def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "ok"}


@router.get("/readyz", tags=["health"])
def readyz(app: Running) -> JSONResponse:
    """The service can do its work: its database answers."""
    ready = app.ready()
    return JSONResponse({"status": "ready" if ready else "database unavailable"}, status_code=200 if ready else 503)
