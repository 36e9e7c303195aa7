"""Answers: the JSON shapes of what the service gives back (CONTRACT §0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.accounts import Account
from ingatan.accounts import Member as AccountMember
from ingatan.conversations import Conversation, Message
from ingatan.memories.decisions import Decided
from ingatan.memories.queue import Item, Waiting
from ingatan.memories.registry import Act, Chapter
from ingatan.reviewer import Reviewed
from ingatan.sources import Batch, Source
from ingatan.steward import Proposed
from ingatan.types import Memory, Scope
from ingatan.workspaces import Member, Workspace


def conversation(item: Conversation) -> dict[str, Any]:
    """One conversation without its turns."""
    return {
        "id": str(item.id),
        "user_id": str(item.user_id),
        "workspace_id": str(item.workspace_id) if item.workspace_id else None,
        "askers": item.askers,
        "members": item.members,
        "shared": item.shared,
        "title": item.title,
        "metadata": dict(item.metadata),
        "off_record": item.off_record,
        "last_seq": item.last_seq,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }


def workspace(item: Workspace) -> dict[str, Any]:
    """One workspace as its member sees it."""
    return {
        "id": str(item.id),
        "name": item.name,
        "owner_id": str(item.owner_id),
        "role": item.role.value,
        "members": item.members,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }


def member(item: Member | AccountMember) -> dict[str, Any]:
    """One member of a workspace or an account."""
    return {"subject_id": str(item.subject_id), "role": item.role.value, "added_at": item.added_at.isoformat()}


def account(item: Account) -> dict[str, Any]:
    """One account; ``role`` is the caller's, null for who is no member."""
    return {
        "id": str(item.id),
        "name": item.name,
        "role": item.role.value if item.role else None,
        "created_at": item.created_at.isoformat(),
    }


def source(item: Source, tenant_id: UUID) -> dict[str, Any]:
    """One registered source, with its public keys; ``iss`` and ``aud`` are what an event of it must bear."""
    return {
        "id": str(item.id),
        "name": item.name,
        "kind": item.kind.value,
        "writer_id": str(item.writer_id) if item.writer_id else None,
        "keys": item.keys,
        "iss": str(item.id),
        "aud": str(tenant_id),
        "trust": item.trust.value,
        "types": [kind.value for kind in item.types],
        "scopes": [scope.value for scope in item.scopes],
        "purposes": list(item.purposes),
        "created_at": item.made_at.isoformat() if item.made_at else None,
        "revoked_at": item.revoked_at.isoformat() if item.revoked_at else None,
    }


def batch(item: Batch) -> dict[str, Any]:
    """One batch of a source."""
    return {
        "id": str(item.id),
        "source_id": str(item.source_id),
        "created_at": item.made_at.isoformat(),
        "rolled_back_at": item.rolled_back_at.isoformat() if item.rolled_back_at else None,
    }


def message(item: Message) -> dict[str, Any]:
    """One turn; ``content`` in the form it was sent."""
    return {
        "id": str(item.id),
        "conversation_id": str(item.conversation_id),
        "seq": item.seq,
        "role": item.role.value,
        "content": list(item.parts) if item.parts is not None else item.content,
        "created_at": item.created_at.isoformat(),
        "metadata": dict(item.metadata),
        "source_citations": list(item.source_citations),
    }


def memory(item: Memory, contested: Mapping[str, Sequence[UUID]] | None = None) -> dict[str, Any]:
    """One version of a memory with the words it came from, and which others contradict it (slot to ids).

    What an account or the organisation remembers is shown to people who may not know the conversation it came from.
    """
    rivals = (contested or {}).get(item.slot or "", ())
    own = item.scope is Scope.USER
    return {
        "id": str(item.id),
        "version": item.version,
        "type": item.type.value,
        "text": item.text,
        "importance": round(item.importance, 6),
        "status": item.status.value,
        "language": item.language,
        "slot": item.slot,
        "trust": item.trust.value,
        "scope": item.scope.value,
        "purposes": list(item.purposes),
        "created_at": item.recorded_at.isoformat(),
        "confirmed_at": item.confirmed_at.isoformat(),
        "effective_at": item.effective_at.isoformat(),
        "expires_at": item.expires_at.isoformat() if item.expires_at else None,
        "source": {
            "kind": item.source.value,
            "conversation_id": str(item.conversation_id) if item.conversation_id and own else None,
            "message_ids": [str(evidence.message_id) for evidence in item.evidence],
            "quote": item.evidence[0].quote if item.evidence else item.text,
            "source_id": str(item.source_id) if item.source_id else None,
            "batch_id": str(item.batch_id) if item.batch_id else None,
        },
        "conflicts_with": [str(id) for id in rivals if id != item.id and item.id in rivals],
    }


def chapter(item: Chapter) -> dict[str, Any]:
    """One version in a memory's history: what it said, and by whom, when and why it was written and closed."""
    return {
        **memory(item.memory),
        "policy_version": item.policy_version,
        "written": _act(item.written),
        "closed_at": item.closed_at.isoformat() if item.closed_at else None,
        "closed": _act(item.closed),
    }


def _act(act: Act | None) -> dict[str, Any] | None:
    if act is None:
        return None
    return {
        "candidate_id": str(act.candidate_id),
        "by": str(act.writer_id) if act.writer_id else None,
        "at": act.at.isoformat(),
        "reasons": list(act.reasons) if act.reasons is not None else None,
    }


def decision(item: Decided) -> dict[str, Any]:
    """One decision about the caller; with the text only while it waits for a reviewer."""
    return {
        "id": str(item.id),
        "conversation_id": str(item.conversation_id) if item.conversation_id else None,
        "message_ids": [str(id) for id in item.message_ids],
        "type": item.type.value,
        "text": item.text,
        "decision": item.decision.value,
        "reasons": [reason.value for reason in item.reasons],
        "policy_version": item.policy_version,
        "memory_id": str(item.memory_id) if item.memory_id else None,
        "created_at": item.created_at.isoformat(),
        "state": item.state.value,
        "verdict": item.verdict.value if item.verdict else None,
        "reviewed_at": moment(item.reviewed_at),
        "note": item.note,
        "appealed_at": moment(item.appealed_at),
        "expires_at": moment(item.expires_at),
    }


def moment(value: datetime | None) -> str | None:
    """A time as it is answered."""
    return value.isoformat() if value else None


def waiting(item: Waiting) -> dict[str, Any]:
    """One candidate in the queue, without what it proposes."""
    return {
        "id": str(item.id),
        "subject_id": str(item.subject_id),
        "writer_id": str(item.writer_id),
        "scope": item.scope.value,
        "type": item.type,
        "decision": item.decision.value,
        "reasons": list(item.reasons),
        "policy_version": item.policy_version,
        "source": {
            "kind": item.source,
            "source_id": str(item.source_id) if item.source_id else None,
            "batch_id": str(item.batch_id) if item.batch_id else None,
        },
        "created_at": item.created_at.isoformat(),
        "expires_at": moment(item.expires_at),
        "appealed_at": moment(item.appealed_at),
    }


def review_item(item: Item) -> dict[str, Any]:
    """One candidate as its reviewer sees it: what is proposed, and each quote with what stands around it."""
    proposed = item.held.candidate if item.held else None
    return {
        **waiting(item.waiting),
        "state": item.state.value,
        "text": proposed.text if proposed else None,
        "operation": proposed.operation.value if proposed else None,
        "slot": proposed.slot if proposed else None,
        "language": proposed.language if proposed else None,
        "importance": proposed.importance if proposed else None,
        "confidence": proposed.confidence if proposed else None,
        "reason": proposed.reason if proposed else None,
        "classification": proposed.classification.value if proposed else None,
        "purposes": list(proposed.purposes) if proposed else [],
        "proposed_expiry": moment(proposed.expires_at) if proposed else None,
        "quotes": [
            {
                "message_id": str(one.message_id),
                "before": one.before,
                "quote": one.quote,
                "after": one.after,
                "said_at": one.said_at.isoformat(),
            }
            for one in item.excerpts
        ],
        "source_readable": item.source_readable,
        "appeal_note": item.appeal_note,
        "verdict": item.verdict.value if item.verdict else None,
        "reviewed_at": moment(item.reviewed_at),
        "memory_id": str(item.memory_id) if item.memory_id else None,
    }


def proposed(item: Proposed) -> dict[str, Any]:
    """What became of a proposal."""
    return {
        "id": str(item.id),
        "decision": item.outcome.value,
        "reasons": list(item.reasons),
        "memory_id": str(item.memory_id) if item.memory_id else None,
        "policy_version": item.policy_version,
    }


def reviewed(item: Reviewed) -> dict[str, Any]:
    """What became of one candidate by a verdict; ``error`` is a code where nothing was decided."""
    return {
        "id": str(item.id),
        "verdict": item.judgement.value,
        "decision": item.decision.value if item.decision else None,
        "reasons": list(item.reasons),
        "memory_id": str(item.memory_id) if item.memory_id else None,
        "policy_version": item.policy_version,
        "error": item.error,
    }


def listing(items: list[dict[str, Any]], next_cursor: str | None) -> dict[str, Any]:
    """One page of a list; ``next_cursor`` is null at the true end only."""
    return {"items": items, "next_cursor": next_cursor}
