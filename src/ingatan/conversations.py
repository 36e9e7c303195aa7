"""Conversations: ordered turns of one asker, or of the members of a workspace; resumed at will, hidden on request.

Positions (``seq``) are given under the conversation's row lock: 1..N without gap or repeat, the turns of one request
side by side. Every function takes a connection that is already in the caller's scope and never commits: whoever is no
longer a member of a conversation's workspace finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ingatan import subjects
from ingatan.errors import BadRequest, Forbidden, NotFound
from ingatan.storage.database import Connection, json_value
from ingatan.text import visible
from ingatan.types import MessageRole, Principal, new_id

WINDOW_DEFAULT = 10
"""Last-N window for the answer's context (S1)."""
TITLE_CHARS = 60
TURNS_PER_REQUEST_MAX = 100
SERVICE_KEYS = frozenset(
    {
        "author_id", "retrieval", "policy", "faithfulness", "guard", "trace_id",
        "memory_consolidated_through", "memory_extraction_failures",
        "memory_scoped_consolidated_through", "memory_scoped_extraction_failures",
    }
)  # fmt: skip
"""Metadata keys that the service sets and nobody posts (CONTRACT §2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation without its turns. ``user_id`` made it; ``askers`` and ``members`` count who ask and who read."""

    id: UUID
    user_id: UUID
    workspace_id: UUID | None
    title: str
    metadata: Mapping[str, Any]
    off_record: bool
    last_seq: int
    created_at: datetime
    updated_at: datetime
    askers: int
    members: int

    @property
    def shared(self) -> bool:
        """Whether several people ask in it or read it: then it has no memory unless SHARED_CONVERSATIONS is on (S1)."""
        return self.askers > 1 or self.members > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A turn to append. ``content`` is clean text; ``parts`` is the list it came as, if it came as one."""

    role: MessageRole
    content: str
    parts: Sequence[Any] | None = None
    created_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A stored turn. ``metadata`` carries the asker as ``author_id`` (S1)."""

    id: UUID
    conversation_id: UUID
    seq: int
    role: MessageRole
    content: str
    parts: Sequence[Any] | None
    created_at: datetime
    metadata: Mapping[str, Any]
    source_citations: Sequence[Any]


def create(
    connection: Connection,
    principal: Principal,
    *,
    id: UUID,
    title: str = "",
    metadata: Mapping[str, Any] | None = None,
    off_record: bool = False,
    workspace_id: UUID | None = None,
) -> Conversation:
    """Start a conversation of the caller; in a workspace, of which they must be a member, all members read it."""
    _refuse_service_keys(metadata or {})
    subjects.register(connection, principal)
    connection.run(
        "conversations.create",
        tenant_id=principal.tenant_id,
        id=id,
        user_id=principal.subject_id,
        workspace_id=workspace_id,
        title=title,
        metadata=dict(metadata or {}),
        off_record=off_record,
    )
    return get(connection, principal, id)


def get(connection: Connection, principal: Principal, id: UUID) -> Conversation:
    """One conversation that the caller may read. Raises NotFound for hidden, foreign and unknown ones alike."""
    row = connection.one("conversations.get", tenant_id=principal.tenant_id, id=id)
    if row is None:
        raise _not_found()
    return _conversation(row)


def shared(connection: Connection, principal: Principal, id: UUID) -> bool:
    """Whether several people ask in it or read it at this moment; False for what the caller cannot see."""
    row = connection.one("conversations.sharing", tenant_id=principal.tenant_id, id=id)
    return bool(row and row.shared)


def page(connection: Connection, principal: Principal, *, before: UUID | None, limit: int) -> list[Conversation]:
    """Up to ``limit`` conversations, own and of the caller's workspaces, newest first by id, after ``before``."""
    rows = connection.all(
        "conversations.list",
        tenant_id=principal.tenant_id,
        user_id=principal.subject_id,
        before_id=before,
        limit=limit,
    )
    return [_conversation(row) for row in rows]


def change(
    connection: Connection, principal: Principal, id: UUID, *, title: str | None, off_record: bool | None
) -> Conversation:
    """Rename, or put on or off the record from the next turn on. None leaves a value.

    Raises NotFound, and Forbidden to a member who neither made it nor owns its workspace.
    """
    changed = connection.run("conversations.change", **_controlled(principal, id), title=title, off_record=off_record)
    found = get(connection, principal, id)
    if not changed:
        raise _not_yours()
    return found


def append(
    connection: Connection,
    principal: Principal,
    conversation_id: UUID,
    messages: Sequence[NewMessage],
    *,
    ids: Sequence[UUID] | None = None,
    received_at: datetime | None = None,
) -> list[Message]:
    """Append all ``messages`` in order, or none. Off-the-record turns are stored and marked, and never swept.

    ``received_at`` is the server's time and is given only by the demo loader. Raises NotFound.
    """
    if not 1 <= len(messages) <= TURNS_PER_REQUEST_MAX:
        raise BadRequest(f"Send 1 to {TURNS_PER_REQUEST_MAX} messages a request.")
    for message in messages:
        _refuse_service_keys(message.metadata)
    now = received_at or datetime.now(UTC)
    reserved = connection.one(
        "conversations.reserve",
        tenant_id=principal.tenant_id,
        id=conversation_id,
        count=len(messages),
        at=now,
        title=_title(messages),
    )
    if reserved is None:
        raise _not_found()
    if reserved.workspace_id is not None:
        subjects.register(connection, principal)
    rows = [
        _row(principal, conversation_id, message, id=id, seq=reserved.after_seq + n, now=now, off=reserved.off_record)
        for n, (message, id) in enumerate(zip(messages, ids or [new_id() for _ in messages], strict=True), start=1)
    ]
    connection.many("conversations.add_message", rows)
    keys = {"tenant_id": principal.tenant_id, "conversation_id": conversation_id}
    asked = [row["seq"] for row in rows if row["author_id"] is not None]
    if asked:
        connection.run("conversations.note_asker", **keys, subject_id=principal.subject_id, last_seq=asked[-1])
    if not reserved.off_record:
        connection.run(
            "conversations.note_activity",
            **keys,
            keeper_id=reserved.keeper_id,
            received_at=now,
            last_seq=rows[-1]["seq"],
            after_seq=reserved.after_seq,
        )
    return by_id(connection, principal, [row["id"] for row in rows])


def by_id(connection: Connection, principal: Principal, ids: Sequence[UUID]) -> list[Message]:
    """The caller's turns with these ids, in order of position."""
    rows = connection.all("conversations.messages_by_id", tenant_id=principal.tenant_id, ids=list(ids))
    return [_message(row) for row in rows]


def messages(
    connection: Connection, principal: Principal, conversation_id: UUID, *, after_seq: int, limit: int
) -> list[Message]:
    """Turns after a position, in order. Raises NotFound if the conversation is not visible."""
    get(connection, principal, conversation_id)
    rows = connection.all(
        "conversations.messages_after",
        tenant_id=principal.tenant_id,
        conversation_id=conversation_id,
        after_seq=after_seq,
        limit=limit,
    )
    return [_message(row) for row in rows]


def window(
    connection: Connection, principal: Principal, conversation_id: UUID, *, last: int = WINDOW_DEFAULT
) -> list[Message]:
    """The last ``last`` turns, in order: the context of an answer (S1). Raises NotFound."""
    get(connection, principal, conversation_id)
    rows = connection.all(
        "conversations.window", tenant_id=principal.tenant_id, conversation_id=conversation_id, limit=last
    )
    return [_message(row) for row in rows]


def hide(connection: Connection, principal: Principal, id: UUID) -> None:
    """Delete the view: gone from every list, swept no more. Messages, memories and audit stay (S1).

    Raises NotFound, and Forbidden to a member who neither made it nor owns its workspace.
    """
    if not connection.run("conversations.hide", **_controlled(principal, id)):
        get(connection, principal, id)
        raise _not_yours()
    connection.run("conversations.forget_sweep", tenant_id=principal.tenant_id, id=id)


def _row(
    principal: Principal, conversation_id: UUID, message: NewMessage, *, id: UUID, seq: int, now: datetime, off: bool
) -> dict[str, Any]:
    author = principal.subject_id if message.role is MessageRole.USER else None
    own: dict[str, Any] = {"author_id": str(author)} if author else {}
    return {
        "tenant_id": principal.tenant_id,
        "id": id,
        "conversation_id": conversation_id,
        "seq": seq,
        "author_id": author,
        "role": message.role.value,
        "content": message.content,
        "parts": json_value(list(message.parts)) if message.parts is not None else None,
        "trace_id": None,
        "metadata": {**message.metadata, **own},
        "off_record": off,
        "created_at": message.created_at or now,
        "received_at": now,
    }


def _title(messages: Sequence[NewMessage]) -> str:
    for message in messages:
        line = " ".join(visible(message.content).split())
        if message.role is MessageRole.USER and line:
            return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return ""


def _refuse_service_keys(metadata: Mapping[str, Any]) -> None:
    taken = sorted(SERVICE_KEYS & metadata.keys())
    if taken:
        raise BadRequest(f"The metadata keys {taken} are set by the service. Leave them out.")


def _controlled(principal: Principal, id: UUID) -> dict[str, Any]:
    return {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id, "id": id}


def _not_yours() -> Forbidden:
    return Forbidden("Only who started this conversation, or the owner of its workspace, may do this. Ask them.")


def _not_found() -> NotFound:
    return NotFound("There is no such conversation, or it is not yours.")


def _conversation(row: Any) -> Conversation:
    return Conversation(
        id=row.id,
        user_id=row.user_id,
        workspace_id=row.workspace_id,
        title=row.title,
        metadata=row.metadata,
        off_record=row.off_record,
        last_seq=row.last_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        askers=row.askers,
        members=row.members,
    )


def _message(row: Any) -> Message:
    return Message(
        id=row.id,
        conversation_id=row.conversation_id,
        seq=row.seq,
        role=MessageRole(row.role),
        content=row.content,
        parts=row.parts,
        created_at=row.created_at,
        metadata=row.metadata,
        source_citations=row.source_citations,
    )
