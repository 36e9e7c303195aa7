"""/conversations: create, list, read, rename, append, window, delete the view."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from ingatan import access, clerk, conversations, idempotency
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import ConversationChange, NewConversation, NewTurns
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.audit import AuditAction
from ingatan.types import MessageRole, Principal, new_id

router = APIRouter(prefix="/conversations", tags=["conversations"])
Reader = Annotated[Principal, Depends(needs(Action.CONVERSATION_READ))]
Writer = Annotated[Principal, Depends(needs(Action.CONVERSATION_WRITE))]


@router.post("", status_code=201)
def create(app: Running, caller: Writer, body: NewConversation, key: IdempotencyKey = None) -> dict[str, Any]:
    """Start a conversation, alone or in a workspace whose members then read and continue it."""
    id = new_id()
    claim = idempotency.key_for("POST /conversations", key, body.model_dump(mode="json"))
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [id])
        if made is not None:
            return answers.conversation(conversations.get(connection, caller, made[0]))
        conversation = clerk.start(
            connection,
            caller,
            app.audit,
            id=id,
            title=body.title,
            metadata=body.metadata,
            off_record=body.off_record,
            workspace_id=body.workspace_id,
        )
    return answers.conversation(conversation)


@router.get("")
def listed(app: Running, caller: Reader, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The caller's conversations and those of their workspaces, newest first."""
    page = Page(app, caller, "conversations", cursor, limit)
    with app.database.read(caller) as connection:
        found = conversations.page(connection, caller, before=page.behind_id, limit=page.reads)
    return page.answer(found, answers.conversation, lambda item: (item.id,))


@router.get("/{id}")
def read(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """One conversation."""
    with app.database.read(caller) as connection:
        return answers.conversation(conversations.get(connection, caller, id))


@router.patch("/{id}")
def change(app: Running, caller: Writer, id: UUID, body: ConversationChange) -> dict[str, Any]:
    """Rename, or put on or off the record from the next turn on."""
    with app.database.write(caller) as connection:
        changed = conversations.change(connection, caller, id, title=body.title, off_record=body.off_record)
        details = {"off_record": body.off_record, "renamed": body.title is not None}
        app.audit.append(connection, caller, [clerk.entry(AuditAction.CONVERSATION_CHANGED, id, **details)])
    return answers.conversation(changed)


@router.delete("/{id}", status_code=204)
def delete(app: Running, caller: Writer, id: UUID) -> None:
    """Delete the view: hidden everywhere, swept no more. Memories written from it stay (DELETE /memories erases)."""
    with app.database.write(caller) as connection:
        conversations.hide(connection, caller, id)
        app.audit.append(connection, caller, [clerk.entry(AuditAction.CONVERSATION_DELETED, id)])


@router.post("/{id}/messages", status_code=201)
def append(app: Running, caller: Writer, id: UUID, body: NewTurns, key: IdempotencyKey = None) -> dict[str, Any]:
    """Append one or many turns, all or none."""
    if any(turn.role is MessageRole.SYSTEM for turn in body.messages):
        access.require(caller, Action.SYSTEM_TURN_WRITE)
    ids = [new_id() for _ in body.messages]
    claim = idempotency.key_for(f"POST /conversations/{id}/messages", key, body.model_dump(mode="json"))
    turns = [
        conversations.NewMessage(
            role=turn.role,
            content=turn.text,
            parts=turn.parts,
            created_at=turn.created_at,
            metadata=turn.metadata,
        )
        for turn in body.messages
    ]
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, ids)
        if made is not None:
            conversations.get(connection, caller, id)
            stored = conversations.by_id(connection, caller, made)
        else:
            stored = clerk.append(connection, caller, app.audit, id, turns, ids=ids)
    return {"messages": [answers.message(item) for item in stored]}


@router.get("/{id}/messages")
def messages(app: Running, caller: Reader, id: UUID, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The turns in order."""
    page = Page(app, caller, f"messages:{id}", cursor, limit)
    with app.database.read(caller) as connection:
        found = conversations.messages(connection, caller, id, after_seq=page.behind_number or 0, limit=page.reads)
    return page.answer(found, answers.message, lambda item: (item.seq,))


@router.get("/{id}/window")
def window(
    app: Running, caller: Reader, id: UUID, last: Annotated[int, Query(ge=1, le=100)] = conversations.WINDOW_DEFAULT
) -> dict[str, Any]:
    """The last turns, in order: the context of an answer."""
    with app.database.read(caller) as connection:
        items = conversations.window(connection, caller, id, last=last)
    return {"messages": [answers.message(item) for item in items]}
