"""/review, and what people do with their own candidates: appeal and withdraw."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends

from ingatan import idempotency
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import Appeal, Approval, Kind, Rejection, Verdicts
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.memories import queue
from ingatan.memories.queue import Filters
from ingatan.storage.database import Power
from ingatan.types import Principal, Reason, SourceKind

router = APIRouter(tags=["review"])
Looker = Annotated[Principal, Depends(needs(Action.REVIEW_READ))]
Decider = Annotated[Principal, Depends(needs(Action.REVIEW_DECIDE))]
Contester = Annotated[Principal, Depends(needs(Action.CANDIDATE_CONTEST))]


@router.get("/review/candidates")
def waiting(
    app: Running,
    caller: Looker,
    reason: Reason | None = None,
    type: Kind | None = None,
    source: SourceKind | None = None,
    source_id: UUID | None = None,
    appealed: bool | None = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """What waits for a reviewer in the tenant, oldest first, without what it proposes."""
    filters = Filters(reason=reason, type=type, source=source, source_id=source_id, appealed=appealed)
    page = Page(app, caller, f"review:{filters}", cursor, limit)
    with app.database.read(caller, power=Power.REVIEW) as connection:
        found = queue.page(connection, caller, filters, after=page.behind_moment, limit=page.reads)
    return page.answer(found, answers.waiting, lambda item: (item.created_at, item.id))


@router.get("/review/candidates/{id}")
def item(app: Running, caller: Looker, id: UUID) -> dict[str, Any]:
    """What is proposed, why it waits, and each quote with a little of what stands around it; never a transcript."""
    return answers.review_item(app.reviewer.item(caller, id))


@router.post("/review/candidates/bulk")
def decide_each(app: Running, caller: Decider, body: Verdicts, key: IdempotencyKey = None) -> dict[str, Any]:
    """One verdict on several; each is decided on its own, and answered with what became of it."""
    claim = idempotency.key_for("POST /review/candidates/bulk", key, body.model_dump(mode="json"))
    found = app.reviewer.decide_each(caller, body.ids, body.verdict, reason=body.reason, note=body.note, key=claim)
    return {"items": [answers.reviewed(one) for one in found]}


@router.post("/review/candidates/{id}/approve")
def approve(
    app: Running, caller: Decider, id: UUID, body: Approval | None = None, key: IdempotencyKey = None
) -> dict[str, Any]:
    """Remember it, as far as it may be remembered now; with ``text``, in other words of its quote."""
    given = body or Approval()
    claim = idempotency.key_for(f"POST /review/candidates/{id}/approve", key, given.model_dump(mode="json"))
    return answers.reviewed(app.reviewer.approve(caller, id, text=given.text, note=given.note, key=claim))


@router.post("/review/candidates/{id}/reject")
def reject(
    app: Running, caller: Decider, id: UUID, body: Rejection | None = None, key: IdempotencyKey = None
) -> dict[str, Any]:
    """Do not remember it."""
    given = body or Rejection()
    claim = idempotency.key_for(f"POST /review/candidates/{id}/reject", key, given.model_dump(mode="json"))
    return answers.reviewed(app.reviewer.reject(caller, id, given.reason, note=given.note, key=claim))


@router.post("/candidates/{id}/appeal", tags=["memories"])
def appeal(
    app: Running, caller: Contester, id: UUID, body: Appeal | None = None, account_id: UUID | None = None
) -> dict[str, Any]:
    """Let a reviewer look at it again; what was refused kept no text, so it is sent again."""
    given = body or Appeal()
    app.appeals.appeal(caller, id, account_id=account_id, text=given.text, note=given.note)
    return {"id": str(id), "state": "open"}


@router.post("/candidates/{id}/withdraw", tags=["memories"])
def withdraw(app: Running, caller: Contester, id: UUID, account_id: UUID | None = None) -> dict[str, Any]:
    """Take back what waits, about oneself or about an account of which one is an administrator; nothing of it stays."""
    app.appeals.withdraw(caller, id, account_id=account_id)
    return {"id": str(id), "state": "withdrawn"}
