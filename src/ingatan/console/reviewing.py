"""Routes of the reviewer's page, and of what people do about their own held and refused ones.

After an act the visitor is sent back (303), unless there is something to show once: why a form was not accepted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Response
from fastapi.responses import RedirectResponse

from ingatan import text as texts
from ingatan.access import Action
from ingatan.api.bodies import NOTE_CHARS_MAX, REJECTIONS
from ingatan.console.forms import back, bounded, reasons_of
from ingatan.console.pages import Outcome, PageRoute, Pages, Queue, pages_of, sentence
from ingatan.console.visitors import Acts, Visitor, Visits
from ingatan.errors import BadRequest, IngatanError
from ingatan.memories import queue
from ingatan.memories.queue import Filters
from ingatan.storage.database import Power
from ingatan.types import Reason

TEXT_CHARS_MAX = 2_000
WAITING_SHOWN = 50
LISTING = "console:review"

router = APIRouter(route_class=PageRoute, include_in_schema=False)
"""Only where the environment is development."""

Open = Annotated[Pages, Depends(pages_of)]
Looker = Annotated[Visitor, Depends(Visits(Action.REVIEW_READ))]
Decider = Annotated[Visitor, Depends(Acts(Action.REVIEW_DECIDE))]
Contester = Annotated[Visitor, Depends(Acts(Action.CANDIDATE_CONTEST))]
Words = Annotated[str, Form()]
Chosen = Annotated[UUID, Form()]
Shown = Annotated[UUID | None, Form(alias="shown")]


@router.get("/review")
def review(
    pages: Open, visitor: Looker, candidate: UUID | None = None, cursor: str | None = None, done: str = ""
) -> Response:
    """What waits for a reviewer, oldest first, and one of them with its quotes in context."""
    known = {"approved", "rejected", "not_allowed"}
    said = visitor.labels(f"review.{done}") if done in known else ""
    return _page(pages, visitor, candidate=candidate, cursor=cursor, done=said)


@router.post("/console/approve")
def approve(pages: Open, visitor: Decider, candidate: Chosen, text: Words = "") -> Response:
    """Remember what waits, or the words typed in its place; back to the queue."""
    try:
        item = pages.app.reviewer.item(visitor.principal, candidate)
        typed = bounded(text, "text", TEXT_CHARS_MAX) if text.strip() else ""
        proposed = item.held.candidate.text if item.held else ""
        edited = typed if typed and typed != texts.clean(proposed).strip() else None
        found = pages.app.reviewer.approve(visitor.principal, candidate, text=edited)
    except IngatanError as error:
        return _failed(pages, visitor, candidate, error, typed=text)
    return _to_queue("approved" if found.memory_id else "not_allowed")


@router.post("/console/reject")
def reject(
    pages: Open, visitor: Decider, candidate: Chosen, reason: Annotated[Reason, Form()], note: Words = ""
) -> Response:
    """Do not remember what waits, for a reason; back to the queue."""
    try:
        if reason not in REJECTIONS:
            raise BadRequest("Choose one of the reasons.", code="invalid_request")
        pages.app.reviewer.reject(visitor.principal, candidate, reason, note=_note(note))
    except IngatanError as error:
        return _failed(pages, visitor, candidate, error)
    return _to_queue("rejected")


@router.post("/console/appeal")
def appeal(
    pages: Open, visitor: Contester, candidate: Chosen, text: Words = "", note: Words = "", shown: Shown = None
) -> Response:
    """Let a reviewer look at one's own held or refused one again."""
    try:
        said = bounded(text, "text", TEXT_CHARS_MAX) if text.strip() else None
        pages.app.appeals.appeal(visitor.principal, candidate, text=said, note=_note(note))
    except IngatanError as error:
        return _own_failed(pages, visitor, error, shown)
    return back(shown, "held")


@router.post("/console/withdraw")
def withdraw(pages: Open, visitor: Contester, candidate: Chosen, shown: Shown = None) -> Response:
    """Take back one's own held one."""
    try:
        pages.app.appeals.withdraw(visitor.principal, candidate)
    except IngatanError as error:
        return _own_failed(pages, visitor, error, shown)
    return back(shown, "held")


def _page(
    pages: Pages,
    visitor: Visitor,
    *,
    candidate: UUID | None,
    cursor: str | None = None,
    done: str = "",
    failed: Outcome | None = None,
) -> Response:
    app, reviewer = pages.app, visitor.principal
    position = app.cursors.open(reviewer, LISTING, cursor)
    after = (datetime.fromisoformat(position[0]), UUID(position[1])) if position else None
    with app.database.read(reviewer, power=Power.REVIEW) as connection:
        found = queue.page(connection, reviewer, Filters(), after=after, limit=WAITING_SHOWN + 1)
    following = None
    if len(found) > WAITING_SHOWN:
        last = found[WAITING_SHOWN - 1]
        following = app.cursors.seal(reviewer, LISTING, last.created_at, last.id)
    item = app.reviewer.item(reviewer, candidate) if candidate else None
    shown = Queue(waiting=tuple(found[:WAITING_SHOWN]), item=item, following=following, done=done)
    return pages.review(visitor, shown, failed or Outcome())


def _failed(pages: Pages, visitor: Visitor, candidate: UUID, error: IngatanError, typed: str = "") -> Response:
    words = visitor.labels
    failed = Outcome(alert=sentence(words, error), status=error.status, text=typed, reasons=reasons_of(visitor, error))
    chosen = None if error.status == 404 else candidate
    return _page(pages, visitor, candidate=chosen, failed=failed)


def _own_failed(pages: Pages, visitor: Visitor, error: IngatanError, shown: UUID | None) -> Response:
    failed = Outcome(alert=sentence(visitor.labels, error), status=error.status, reasons=reasons_of(visitor, error))
    return pages.first(visitor, conversation_id=shown, outcome=failed)


def _note(note: str) -> str | None:
    return bounded(note, "note", NOTE_CHARS_MAX) if note.strip() else None


def _to_queue(done: str) -> Response:
    return RedirectResponse(f"/review?done={done}", status_code=303)
