"""The clerk: what people do with their conversations, each act together with its audit row.

API and console both write conversations through here. Functions take a connection in the person's scope and never
commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ingatan import conversations, workspaces
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.conversations import Conversation, Message, NewMessage
from ingatan.storage.database import Connection
from ingatan.types import Principal


def start(
    connection: Connection,
    principal: Principal,
    audit: Audit,
    *,
    id: UUID,
    title: str = "",
    metadata: Mapping[str, Any] | None = None,
    off_record: bool = False,
    workspace_id: UUID | None = None,
) -> Conversation:
    """Start a conversation of the caller and record it. Raises NotFound for a workspace they are no member of."""
    if workspace_id is not None:
        workspaces.get(connection, principal, workspace_id)
    conversation = conversations.create(
        connection,
        principal,
        id=id,
        title=title,
        metadata=metadata,
        off_record=off_record,
        workspace_id=workspace_id,
    )
    audit.append(connection, principal, [entry(AuditAction.CONVERSATION_CREATED, id)])
    return conversation


def append(
    connection: Connection,
    principal: Principal,
    audit: Audit,
    conversation_id: UUID,
    messages: Sequence[NewMessage],
    *,
    ids: Sequence[UUID],
) -> list[Message]:
    """Append ``messages`` with ``ids``, all or none, and record it. Raises NotFound."""
    stored = conversations.append(connection, principal, conversation_id, messages, ids=ids)
    appended = entry(AuditAction.TURNS_APPENDED, conversation_id, message_ids=[str(id) for id in ids])
    audit.append(connection, principal, [appended])
    return stored


def entry(action: AuditAction, id: UUID, **details: object) -> Entry:
    """The audit row of an act on a conversation."""
    return Entry(action=action, entity_type="conversation", entity_id=id, details=details)
