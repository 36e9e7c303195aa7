"""/memories, /candidates: what people see and change of what is remembered about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from ingatan import accounts, idempotency, sources
from ingatan.access import Action, require
from ingatan.api import answers
from ingatan.api.bodies import MemoryChange, NewCandidate, SelfSource, SourcedBy, TurnSource
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.app import App
from ingatan.errors import BadRequest, Forbidden
from ingatan.memories import decisions, proposals, registry
from ingatan.memories.decisions import State
from ingatan.steward import Correction, Proposed
from ingatan.types import Candidate, Evidence, MemoryStatus, Outcome, Principal, Scope, SourceKind

router = APIRouter(tags=["memories"])
Reader = Annotated[Principal, Depends(needs(Action.MEMORY_READ))]
Writer = Annotated[Principal, Depends(needs(Action.MEMORY_WRITE))]
Eraser = Annotated[Principal, Depends(needs(Action.MEMORY_ERASE))]
Proposer = Annotated[Principal, Depends(needs(Action.CANDIDATE_PROPOSE))]
DecisionReader = Annotated[Principal, Depends(needs(Action.CANDIDATE_READ))]


@router.get("/memories")
def listed(
    app: Running,
    caller: Reader,
    status: MemoryStatus = MemoryStatus.ACTIVE,
    account_id: UUID | None = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """The caller's memories in one status, or those of an account of theirs, newest first; without expired ones."""
    if not app.steward.sees_memories(caller):
        return answers.listing([], None)
    page = Page(app, caller, f"memories:{status.value}:{account_id or ''}", cursor, limit)
    with app.database.read(caller) as connection:
        owner = caller
        if account_id is not None:
            accounts.get(connection, caller, account_id)
            owner = accounts.owner(caller, account_id)
        before, now = page.behind_version, datetime.now(UTC)
        found = registry.page(connection, owner, status=status, before=before, limit=page.reads, now=now)
        contested = registry.conflicts(connection, owner) if status is MemoryStatus.ACTIVE else {}
    return page.answer(
        found, lambda item: answers.memory(item, contested), lambda item: (item.recorded_at, item.id, item.version)
    )


@router.get("/memories/{id}")
def read(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """The current version of one memory."""
    app.steward.check_sees(caller)
    with app.database.read(caller) as connection:
        return answers.memory(registry.get(connection, caller, id))


@router.get("/memories/{id}/versions")
def versions(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """Every version of one memory, newest first, with what it replaced or was replaced by: who, when and why."""
    app.steward.check_sees(caller)
    with app.database.read(caller) as connection:
        found = registry.history(connection, caller, id)
    return answers.listing([answers.chapter(item) for item in found], None)


@router.patch("/memories/{id}")
def correct(app: Running, caller: Writer, id: UUID, body: MemoryChange, response: Response) -> dict[str, Any]:
    """Correct a memory: a new version, decided by the same policy; the old one is superseded.

    Where the policy wants a reviewer to see it, 202 and the proposal; until then the memory stays as it was.
    """
    correction = Correction(
        text=body.text,
        importance=body.importance,
        expires_at=body.expires_at,
        clear_expiry="expires_at" in body.model_fields_set and body.expires_at is None,
    )
    corrected = app.steward.correct(caller, id, correction)
    if isinstance(corrected, Proposed):
        response.status_code = 202
        return answers.proposed(corrected)
    return answers.memory(corrected)


@router.delete("/memories/{id}")
def erase_one(app: Running, caller: Eraser, id: UUID, never_again: bool = False) -> dict[str, Any]:
    """Erase one memory for good, all its versions, whatever its status; with ``never_again`` it is not learned anew."""
    return {"receipt": app.steward.erase(caller, memory_id=id, never_again=never_again).as_json()}


@router.delete("/memories")
def erase_all(app: Running, caller: Eraser, conversation_id: UUID | None = None) -> dict[str, Any]:
    """Erase everything remembered about the caller, or only what was written from one conversation."""
    return {"receipt": app.steward.erase(caller, conversation_id=conversation_id).as_json()}


@router.post("/candidates", status_code=201)
def propose(
    app: Running, caller: Proposer, body: NewCandidate, response: Response, key: IdempotencyKey = None
) -> dict[str, Any]:
    """Propose a memory about oneself or an account of one's own, or by a source one speaks for; the policy decides."""
    claim = idempotency.key_for("POST /candidates", key, body.model_dump(mode="json"))
    if isinstance(body.source, SourcedBy):
        require(caller, Action.EPISODE_WRITE)
        proposed = _submitted(app, caller, body, body.source, claim)
    else:
        require(caller, Action.MEMORY_WRITE)
        if body.scope is Scope.USER and body.subject_id not in (None, caller.subject_id):
            raise Forbidden("You may propose memories about yourself only.")
        if body.scope is Scope.ORGANISATION:
            raise Forbidden("What the organisation knows comes from its sources, not from one person.")
        proposed = app.steward.propose(caller, _candidate(caller, body, body.source), claim)
    if proposed.outcome is Outcome.ACCEPT and not proposed.wrote:
        response.status_code = 200
    return answers.proposed(proposed)


@router.get("/candidates")
def list_decisions(
    app: Running,
    caller: DecisionReader,
    decision: Outcome | None = None,
    state: State | None = None,
    account_id: UUID | None = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Decisions about the caller or an account they administer, newest first: what was refused or is held, and why."""
    listing = f"candidates:{decision.value if decision else ''}:{state.value if state else ''}:{account_id or ''}"
    page = Page(app, caller, listing, cursor, limit)
    before = page.behind_moment
    with app.database.read(caller) as connection:
        owner = accounts.speaking_for(connection, caller, account_id)
        found = decisions.page(connection, owner, decision=decision, state=state, before=before, limit=page.reads)
    return page.answer(found, answers.decision, lambda item: (item.created_at, item.id))


def _submitted(
    app: App, caller: Principal, body: NewCandidate, given: SourcedBy, claim: idempotency.Key | None
) -> Proposed:
    with app.database.read(caller) as connection:
        source = sources.get(connection, caller, given.source_id)
        if given.batch_id is not None:
            sources.check_batch(connection, caller, given.batch_id, source.id)
    sources.check_speaks(source, caller)
    if source.kind.value != given.kind:
        raise BadRequest(f"This source brings '{source.kind.value}'. Say so in 'source.kind'.")
    subject_id = caller.tenant_id if body.scope is Scope.ORGANISATION else body.subject_id
    candidate = proposals.passed_on(
        body.text,
        body.type or proposals.type_of(body.text),
        subject_id=subject_id or caller.subject_id,
        scope=body.scope,
        audience=body.audience,
        importance=body.importance,
        source=SourceKind(given.kind),
        source_id=source.id,
        batch_id=given.batch_id,
        derived_from=given.derived_from,
        expires_at=body.expires_at,
        now=datetime.now(UTC),
    )
    return app.steward.submit(caller, _asked(candidate, body), source, key=claim)


def _candidate(caller: Principal, body: NewCandidate, source: SelfSource | TurnSource) -> Candidate:
    cited: tuple[Evidence, ...] = ()
    kind, conversation_id = SourceKind.SELF, None
    if isinstance(source, TurnSource):
        kind, conversation_id = SourceKind.TURN, source.conversation_id
        cited = tuple(Evidence(message_id=id, quote=body.quote or "") for id in source.message_ids)
    candidate = proposals.proposal(
        caller,
        body.text,
        body.type or proposals.type_of(body.text),
        importance=body.importance,
        source=kind,
        conversation_id=conversation_id,
        evidence=cited,
        expires_at=body.expires_at,
        now=datetime.now(UTC),
    )
    candidate = _asked(candidate, body)
    if body.scope is Scope.USER:
        return candidate
    about = body.subject_id or caller.subject_id
    return replace(candidate, scope=body.scope, subject_id=about, audience=body.audience, said_by=caller.subject_id)


def _asked(candidate: Candidate, body: NewCandidate) -> Candidate:
    """``candidate`` with what its writer says of it, which carries no authority."""
    return replace(
        candidate,
        confidence=body.confidence,
        reason=body.reason,
        classification=body.classification,
        purposes=tuple(body.purposes),
        review=body.review,
    )
