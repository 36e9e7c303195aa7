"""Erasure: permanent removal of memories from every representation, with a receipt.

Erasing takes the subject's lock first and raises the epoch, so a sweep in flight cannot write what it read before.
Keyed hashes of the erased texts remain: words said before the erasure may not bring the memory back.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ingatan import subjects
from ingatan import text as texts
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.errors import NotFound
from ingatan.storage.database import Connection
from ingatan.types import Principal, new_id

NOT_PROMISED = (
    "Deleted text can remain in database files until they are rewritten, and in write-ahead logs and backups until "
    "they age out by the operator's schedule."
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was removed, in counts by representation, and what remains and why. Holds no text."""

    id: UUID
    at: datetime
    removed: dict[str, int]
    held: tuple[str, ...]
    sources_kept: tuple[UUID, ...]
    unreachable_at: datetime
    not_promised: str = NOT_PROMISED

    @classmethod
    def empty(cls) -> Receipt:
        """The receipt of an erasure that found nothing it may touch."""
        now = datetime.now(UTC)
        return cls(new_id(), now, {"memories": 0, "versions": 0}, (), (), now)

    def as_json(self) -> dict[str, Any]:
        """The receipt as it is stored and answered."""
        return {
            "id": str(self.id),
            "at": self.at.isoformat(),
            "removed": self.removed,
            "held": list(self.held),
            "sources_kept": [str(id) for id in self.sources_kept],
            "unreachable_at": self.unreachable_at.isoformat(),
            "not_promised": self.not_promised,
        }


def digest(key: bytes, subject_id: UUID, statement: str) -> bytes:
    """The keyed hash under which an erased statement of a person is recognised (32 bytes)."""
    return digest_of_hash(key, subject_id, texts.digest(statement))


def digest_of_hash(key: bytes, subject_id: UUID, text_hash: bytes) -> bytes:
    """``digest`` of a statement whose ``text_hash`` is known."""
    return hmac.digest(key, subject_id.bytes + text_hash, hashlib.sha256)


def erased_at(
    connection: Connection, principal: Principal, key: bytes, statements: Sequence[str]
) -> dict[str, datetime]:
    """When each of ``statements`` was last erased by the caller; statements never erased are missing."""
    by_digest = {digest(key, principal.subject_id, statement): statement for statement in statements}
    rows = connection.all(
        "erasure.erased_at",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        digests=list(by_digest),
    )
    return {by_digest[bytes(row.digest)]: row.at for row in rows}


def erase_memories(
    connection: Connection,
    principal: Principal,
    audit: Audit,
    key: bytes,
    *,
    memory_id: UUID | None = None,
    conversation_id: UUID | None = None,
    reason: str = "user_request",
    actor: Principal | None = None,
) -> Receipt:
    """Erase one memory, those of one conversation, or (no filter) everything remembered about the person.

    All versions go, closed ones too. Raises NotFound when ``memory_id`` names nothing of theirs. ``actor`` is who
    asked, if not the person. One transaction with its audit row; counts are of rows that really went.
    """
    owner = {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}
    subjects.lock(connection, principal)
    rows = connection.all("erasure.select", **owner, memory_id=memory_id, conversation_id=conversation_id)
    if memory_id is not None and not rows:
        raise NotFound("There is no such memory, or it is not yours.")
    ids = list({row.id for row in rows})
    by_id = {"tenant_id": principal.tenant_id, "ids": ids}
    sources = [row.message_id for row in connection.all("erasure.sources", **by_id)]
    for text_hash in {bytes(row.text_hash) for row in rows}:
        connection.run("erasure.remember_text", **owner, digest=digest_of_hash(key, principal.subject_id, text_hash))
    removed = {
        "quotes": connection.run("erasure.evidence", **by_id),
        "vectors": connection.run("erasure.vectors", **by_id, subject_id=principal.subject_id),
        "vectors_pending": connection.run("erasure.vectors_pending", **by_id),
        "use_counters": connection.run("erasure.uses", **by_id),
        "candidates": connection.run(
            "erasure.candidates",
            **owner,
            everything=memory_id is None and conversation_id is None,
            conversation_id=conversation_id if memory_id is None else None,
            ids=ids,
            message_ids=sources,
        ),
        "versions": connection.run("erasure.memories", **by_id, subject_id=principal.subject_id),
        "memories": len(ids),
    }
    subjects.raise_epoch(connection, principal)
    if memory_id is None:
        connection.run("sweep.skip_pending", **owner, conversation_id=conversation_id)
        connection.run("sweep.forget_abandoned_of", **owner, conversation_id=conversation_id)
    now = datetime.now(UTC)
    receipt = Receipt(new_id(), now, removed, (), tuple(sorted(sources)), now)
    asked_by = actor or principal
    connection.run(
        "erasure.record",
        **owner,
        id=receipt.id,
        requested_by=asked_by.subject_id,
        reason=reason,
        receipt=receipt.as_json(),
    )
    details = {
        "erasure_id": str(receipt.id),
        "reason": reason,
        "removed": removed,
        "memory_ids_erased": sorted(map(str, ids)),
    }
    audit.append(
        connection,
        asked_by,
        [Entry(action=AuditAction.MEMORY_ERASURE, entity_type="user_memory", entity_id=memory_id, details=details)],
    )
    return receipt
