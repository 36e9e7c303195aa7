"""Audit: one keyed chain of rows a tenant, without content, written in the act's own transaction.

Each row's MAC is HMAC-SHA256 over the previous MAC and the row, keyed outside the database: whoever can write the
tables but not read the key cannot edit, remove, insert or reorder rows unseen. What is not seen yet: rows cut off the
end together with a head set back to match (anchors outside the database will show that; they are not built yet).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan.errors import Unavailable
from ingatan.storage.database import Connection, Database
from ingatan.types import Principal, new_id

SEAL_BATCH = 500
VERIFY_PAGE = 2_000


class AuditAction(StrEnum):
    """What is recorded. ``user_memory`` is S1's entity type for memories."""

    CONVERSATION_CREATED = "conversation_created"
    CONVERSATION_CHANGED = "conversation_changed"
    CONVERSATION_DELETED = "conversation_deleted"
    TURNS_APPENDED = "turns_appended"
    CONSENT_CHANGED = "consent_changed"
    CANDIDATE_DECIDED = "candidate_decided"
    CANDIDATE_REVIEWED = "candidate_reviewed"
    CANDIDATE_APPEALED = "candidate_appealed"
    CANDIDATE_WITHDRAWN = "candidate_withdrawn"
    CANDIDATE_EXPIRED = "candidate_expired"
    POLICY_CHANGED = "policy_changed"
    ALERT_RAISED = "alert_raised"
    MEMORY_WRITTEN = "memory_written"
    MEMORY_REINFORCED = "memory_reinforced"
    MEMORY_CLOSED = "memory_closed"
    MEMORY_ERASURE = "memory_erasure"
    MEMORY_SUPPRESSED = "memory_suppressed"
    SUPPRESSION_LIFTED = "suppression_lifted"
    MEMORY_RECALLED = "memory_recalled"
    SWEEP_ABANDONED = "sweep_abandoned"
    SWEEP_REQUEUED = "sweep_requeued"
    WORKSPACE_CREATED = "workspace_created"
    WORKSPACE_RENAMED = "workspace_renamed"
    WORKSPACE_DELETED = "workspace_deleted"
    MEMBER_ADDED = "member_added"
    MEMBER_REMOVED = "member_removed"
    ACCOUNT_CREATED = "account_created"
    SOURCE_REGISTERED = "source_registered"
    SOURCE_REVOKED = "source_revoked"
    BATCH_OPENED = "batch_opened"
    BATCH_ROLLED_BACK = "batch_rolled_back"
    MEMORY_WITHDRAWN = "memory_withdrawn"
    MEMORY_RESTORED = "memory_restored"
    EVENT_REFUSED = "event_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row before it is chained. ``details`` holds ids, counts and codes only, never text."""

    action: AuditAction
    entity_type: str
    entity_id: UUID | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What ``verify`` found: rows read, and the first row (sequence number) that breaks the chain, with the reason."""

    rows: int
    broken_seq: int | None = None
    reason: str = ""

    @property
    def sound(self) -> bool:
        return self.broken_seq is None


class Audit:
    """Appends to and verifies the chain. ``key`` is 32 bytes derived from the master key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def append(self, connection: Connection, actor: Principal, entries: Sequence[Entry]) -> None:
        """Chain ``entries``, in order, as the last statements of the act's transaction. Locks the tenant's head."""
        now = datetime.now(UTC)
        rows = [
            {
                "id": new_id(),
                "at": now,
                "actor_id": actor.subject_id,
                "action": entry.action.value,
                "entity_type": entry.entity_type,
                "entity_id": entry.entity_id,
                "details": dict(entry.details or {}),
            }
            for entry in entries
        ]
        self._chain(connection, actor.tenant_id, rows)

    def enqueue_recall(
        self, database: Database, actor: Principal, memory_ids: Sequence[UUID], details: Mapping[str, Any]
    ) -> None:
        """Record that ``memory_ids`` were recalled, unchained and without a lock, in one round trip of its own.

        ``seal`` chains the row soon. It is on disk within the server's write-ahead delay (under a second): a crash of
        the database server in that time can lose it. For the path of every answer.
        """
        database.act(
            actor,
            "audit.enqueue",
            durable=False,
            tenant_id=actor.tenant_id,
            id=new_id(),
            at=datetime.now(UTC),
            actor_id=actor.subject_id,
            action=AuditAction.MEMORY_RECALLED.value,
            entity_type="user_memory",
            details={"memory_ids": [str(id) for id in memory_ids], **details},
        )

    def seal(self, connection: Connection, tenant_id: UUID) -> int:
        """Chain up to SEAL_BATCH pending rows of a tenant, oldest first, count the uses they report; return how many.

        Needs Power.JOB.
        """
        taken = connection.all("audit.take_pending", tenant_id=tenant_id, limit=SEAL_BATCH)
        rows = [row._asdict() for row in sorted(taken, key=lambda row: row.id.bytes)]
        if rows:
            # A question about the past is no use of what is remembered now.
            used = [row["details"] for row in rows if "as_of" not in row["details"]]
            uses = Counter(UUID(id) for details in used for id in details.get("memory_ids", ()))
            counted = [
                {"tenant_id": tenant_id, "memory_id": id, "count": count, "at": rows[-1]["at"]}
                for id, count in sorted(uses.items())
            ]
            connection.many("audit.count_uses", counted)
            self._chain(connection, tenant_id, rows)
        return len(rows)

    def verify(self, connection: Connection, tenant_id: UUID) -> Verification:
        """Read the whole chain of a tenant and return the first break, if any. Reads in pages."""
        mac, seq, rows = self._genesis(tenant_id), 0, 0
        while True:
            page = connection.all("audit.page", tenant_id=tenant_id, after=seq, limit=VERIFY_PAGE)
            for row in page:
                rows += 1
                if row.seq != seq + 1:
                    return Verification(rows, seq + 1, "missing")
                if row.at is None:
                    return Verification(rows, row.seq, "altered")
                expected = self._mac(mac, tenant_id, row._asdict())
                if not hmac.compare_digest(expected, bytes(row.mac)):
                    return Verification(rows, row.seq, "altered")
                mac, seq = expected, row.seq
            if len(page) < VERIFY_PAGE:
                break
        strays = connection.one("audit.strays", tenant_id=tenant_id)
        if strays is None or strays.n:
            return Verification(rows, seq + 1, "rows outside the chain")
        head = connection.one("audit.read_head", tenant_id=tenant_id)
        if head is None:
            return Verification(rows) if not rows else Verification(rows, seq, "head missing")
        if head.seq != seq or not hmac.compare_digest(mac, bytes(head.mac)):
            return Verification(rows, min(head.seq, seq) + 1, "removed at the end")
        return Verification(rows)

    def _chain(self, connection: Connection, tenant_id: UUID, rows: list[dict[str, Any]]) -> None:
        head = connection.one("audit.head", tenant_id=tenant_id)
        if head is None:
            connection.run("audit.first_head", tenant_id=tenant_id, mac=self._genesis(tenant_id))
            head = connection.one("audit.head", tenant_id=tenant_id)
        if head is None:
            raise Unavailable("The audit chain cannot be reached; nothing was changed. Try again.")
        seq, mac = head.seq, bytes(head.mac)
        with connection.pipeline():
            for row in rows:
                seq += 1
                mac = self._mac(mac, tenant_id, {**row, "seq": seq})
                connection.run("audit.append", tenant_id=tenant_id, seq=seq, mac=mac, **row)
            connection.run("audit.move_head", tenant_id=tenant_id, seq=seq, mac=mac)

    def _genesis(self, tenant_id: UUID) -> bytes:
        return hmac.digest(self._key, b"ingatan audit chain" + tenant_id.bytes, hashlib.sha256)

    def _mac(self, previous: bytes, tenant_id: UUID, row: Mapping[str, Any]) -> bytes:
        fields = [
            str(tenant_id),
            row["seq"],
            str(row["id"]),
            row["at"].astimezone(UTC).isoformat(),
            str(row["actor_id"]),
            row["action"],
            row["entity_type"],
            str(row["entity_id"]),
            row["details"],
        ]
        body = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        return hmac.digest(self._key, previous + body, hashlib.sha256)
