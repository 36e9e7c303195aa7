"""/episodes: what registered systems of record say happened, as signed events."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from ingatan import idempotency, signed_events, sources
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.app import App
from ingatan.audit import AuditAction, Entry
from ingatan.errors import Conflict, NotFound, PolicyRefused
from ingatan.memories import proposals
from ingatan.signed_events import EventRefused, SignedEvent
from ingatan.sources import Source
from ingatan.storage.database import Connection
from ingatan.types import Outcome, Principal

router = APIRouter(tags=["episodes"])
Writer = Annotated[Principal, Depends(needs(Action.EPISODE_WRITE))]


class EventReplayed(Conflict):
    """A signed event that was taken before (409)."""

    code = "event_replayed"


async def _token(request: Request) -> str:
    body = await request.body()
    if len(body) > signed_events.BYTES_MAX:
        raise signed_events.refused("too_long")
    try:
        return body.decode("ascii").strip()
    except UnicodeDecodeError:
        raise signed_events.refused("malformed") from None


@router.post("/episodes", status_code=201, openapi_extra={"requestBody": {"content": {"application/jose": {}}}})
def take(
    app: Running,
    caller: Writer,
    token: Annotated[str, Depends(_token)],
    response: Response,
    key: IdempotencyKey = None,
) -> dict[str, Any]:
    """Take one signed event, a compact JWS: verified, decided on by the policy, and remembered as an episode, once."""
    claim = idempotency.key_for("POST /episodes", key, hashlib.sha256(token.encode()).hexdigest())
    claimed: UUID | None = None
    try:
        claimed = signed_events.claimed_source(token)
        source = _source(app, caller, claimed)
        signed = signed_events.verify(token, source, caller, datetime.now(UTC))
    except EventRefused as error:
        _note(app, caller, claimed, str(error.extra["reason"]))
        raise
    try:
        proposed = app.steward.submit(
            caller,
            proposals.happened(signed),
            source,
            take=lambda connection, owner: _once(connection, owner, signed),
            key=claim,
        )
    except EventReplayed:
        _note(app, caller, claimed, "replayed")
        raise
    if proposed.outcome is Outcome.REJECT:
        raise PolicyRefused(
            "The policy does not let this event be remembered.", extra={"reasons": list(proposed.reasons)}
        )
    if proposed.outcome is not Outcome.ACCEPT:
        response.status_code = 202
    return answers.proposed(proposed)


def _source(app: App, caller: Principal, id: UUID) -> Source:
    """The registered source; one of another tenant is as unknown as one that does not exist."""
    try:
        with app.database.read(caller) as connection:
            source = sources.get(connection, caller, id)
    except NotFound:
        raise signed_events.refused("unknown_source") from None
    if source.writer_id is not None:
        sources.check_speaks(source, caller)
    return source


def _once(connection: Connection, owner: Principal, signed: SignedEvent) -> None:
    taken = connection.run(
        "sources.take_event",
        tenant_id=owner.tenant_id,
        source_id=signed.source_id,
        digest=signed.digest,
        believed_until=signed.believed_until,
    )
    if not taken:
        raise EventReplayed("This event was taken before. Sign a new one with a 'jti' of its own.")


def _note(app: App, caller: Principal, source_id: UUID | None, reason: str) -> None:
    entry = Entry(
        action=AuditAction.EVENT_REFUSED, entity_type="source", entity_id=source_id, details={"reason": reason}
    )
    with app.database.write(caller) as connection:
        app.audit.append(connection, caller, [entry])
