"""/workspaces: people who read and continue the same conversations, and who they are."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from ingatan import idempotency, workspaces
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import NewMember, WorkspaceName
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.app import App
from ingatan.audit import AuditAction, Entry
from ingatan.errors import BadRequest
from ingatan.identity import SENTINEL_SUBJECT
from ingatan.types import Principal, new_id

router = APIRouter(prefix="/workspaces", tags=["workspaces"])
Reader = Annotated[Principal, Depends(needs(Action.WORKSPACE_READ))]
Writer = Annotated[Principal, Depends(needs(Action.WORKSPACE_WRITE))]


@router.post("", status_code=201)
def create(app: Running, caller: Writer, body: WorkspaceName, key: IdempotencyKey = None) -> dict[str, Any]:
    """Start a workspace; the caller is its owner."""
    id = new_id()
    claim = idempotency.key_for("POST /workspaces", key, body.model_dump(mode="json"))
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [id])
        if made is not None:
            return answers.workspace(workspaces.get(connection, caller, made[0]))
        workspace = workspaces.create(connection, caller, id=id, name=body.name)
        app.audit.append(connection, caller, [_entry(AuditAction.WORKSPACE_CREATED, id)])
    return answers.workspace(workspace)


@router.get("")
def listed(app: Running, caller: Reader, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The workspaces that the caller is a member of, newest first."""
    page = Page(app, caller, "workspaces", cursor, limit)
    with app.database.read(caller) as connection:
        found = workspaces.page(connection, caller, before=page.behind_id, limit=page.reads)
    return page.answer(found, answers.workspace, lambda item: (item.id,))


@router.get("/{id}")
def read(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """One workspace."""
    with app.database.read(caller) as connection:
        return answers.workspace(workspaces.get(connection, caller, id))


@router.patch("/{id}")
def rename(app: Running, caller: Writer, id: UUID, body: WorkspaceName) -> dict[str, Any]:
    """Give it another name; its owner only."""
    with app.database.write(caller) as connection:
        renamed = workspaces.rename(connection, caller, id, body.name)
        app.audit.append(connection, caller, [_entry(AuditAction.WORKSPACE_RENAMED, id)])
    return answers.workspace(renamed)


@router.delete("/{id}", status_code=204)
def delete(app: Running, caller: Writer, id: UUID) -> None:
    """Delete it with the view of its conversations; its owner only. Memories stay with whom they are about."""
    with app.database.write(caller) as connection:
        workspaces.delete(connection, caller, id)
        app.audit.append(connection, caller, [_entry(AuditAction.WORKSPACE_DELETED, id)])


@router.get("/{id}/members")
def members(app: Running, caller: Reader, id: UUID, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """Its members, in order of their ids."""
    page = Page(app, caller, f"members:{id}", cursor, limit)
    with app.database.read(caller) as connection:
        found = workspaces.members(connection, caller, id, after=page.behind_id, limit=page.reads)
    return page.answer(found, answers.member, lambda item: (item.subject_id,))


@router.post("/{id}/members", status_code=201)
def add(
    app: Running, caller: Writer, id: UUID, body: NewMember, response: Response, key: IdempotencyKey = None
) -> dict[str, Any]:
    """Add a person, who then reads every conversation of the workspace; 200 if they are a member already."""
    claim = idempotency.key_for(f"POST /workspaces/{id}/members", key, body.model_dump(mode="json"))
    return _add(app, caller, id, body.subject_id, response, claim)


@router.put("/{id}/members/{subject_id}")
def put(app: Running, caller: Writer, id: UUID, subject_id: UUID, response: Response) -> dict[str, Any]:
    """Add a person: 201 if they are new, 200 if they are a member already."""
    response.status_code = 201
    return _add(app, caller, id, subject_id, response, None)


@router.delete("/{id}/members/{subject_id}", status_code=204)
def remove(app: Running, caller: Writer, id: UUID, subject_id: UUID) -> None:
    """Remove a member (its owner), or leave (anyone else). They see nothing of it from now on."""
    with app.database.write(caller) as connection:
        workspaces.remove(connection, caller, id, subject_id)
        app.audit.append(connection, caller, [_entry(AuditAction.MEMBER_REMOVED, id, subject_id=str(subject_id))])


def _add(
    app: App, caller: Principal, id: UUID, subject_id: UUID, response: Response, claim: idempotency.Key | None
) -> dict[str, Any]:
    if subject_id == SENTINEL_SUBJECT:
        raise BadRequest("This subject stands for callers without identity. Name a person.")
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [subject_id])
        if made is not None:
            return answers.member(workspaces.member(connection, caller, id, made[0]))
        member, new = workspaces.add(connection, caller, id, subject_id)
        if new:
            app.audit.append(connection, caller, [_entry(AuditAction.MEMBER_ADDED, id, subject_id=str(subject_id))])
        else:
            response.status_code = 200
    return answers.member(member)


def _entry(action: AuditAction, id: UUID, **details: object) -> Entry:
    return Entry(action=action, entity_type="workspace", entity_id=id, details=details)
