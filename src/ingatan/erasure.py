"""Erasure: permanent removal of memories from every representation, with a receipt.

Erasing takes the subject's lock first and raises the epoch, so a sweep in flight cannot write what it read before.
Keyed hashes of the erased texts remain: words said before the erasure may not bring the memory back.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from ingatan import spans, subjects
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.errors import NotFound
from ingatan.languages import CODES, load
from ingatan.memories.events import fillers, tells_event
from ingatan.memories.slots import single_valued, value_of
from ingatan.memories.support import content, stem
from ingatan.storage.database import Connection
from ingatan.text import digest
from ingatan.types import Principal, new_id

SHARE_WINDOW = timedelta(hours=1)
"""Over which the policy's rates count what somebody brought, also where they erased it since."""
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


def marks(
    key: bytes, subject_id: UUID, *, texts: Sequence[str], slot: str | None, turns: Iterable[UUID]
) -> list[bytes]:
    """Keyed hashes (32 bytes each) under which erased words are recognised: nothing can be read from them.

    One for each text, for its content words without order, of an event also without words like "already", for the value
    it gives its single-valued slot, and for each turn it came from: an erased memory does not come back from the same
    turn, or from older words for the same thing.
    """
    found = {b"turn" + id.bytes for id in turns}
    aside = {stem(word) for word in fillers()}
    for text in texts:
        said = set(content(text))
        found.add(b"text" + digest(text))
        found.add(b"words" + " ".join(sorted(said)).encode())
        if tells_event(text, [load(code) for code in CODES]):
            found.add(b"words" + " ".join(sorted(said - aside)).encode())
        if slot is not None and single_valued(slot):
            value = value_of(slot, text)
            named = [slot, *sorted(value.words), *value.numbers, str(value.negated)]
            found.add(b"slot" + " ".join(named).encode())
    return sorted(hmac.digest(key, subject_id.bytes + mark, hashlib.sha256) for mark in found)


def mark_old(connection: Connection, principal: Principal, key: bytes, limit: int) -> int:
    """Give up to ``limit`` versions of the caller's that were written before there were marks theirs; how many.

    Without them an erasure by SQL, which has no key, would leave nothing to recognise the words by.
    """
    owner = {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}
    subjects.lock(connection, principal)
    rows = connection.all("erasure.unmarked", **owner, limit=limit)
    made = [
        {
            "tenant_id": principal.tenant_id,
            "id": row.id,
            "version": row.version,
            "marks": marks(key, principal.subject_id, texts=[row.text], slot=row.slot, turns=row.turns),
        }
        for row in rows
    ]
    connection.many("erasure.mark", made)
    return len(made)


def erased_at(connection: Connection, principal: Principal, digests: Iterable[bytes]) -> dict[bytes, datetime]:
    """When the caller last erased something that bears each of these marks; without those that nothing erased bears."""
    wanted = sorted(digests)
    if not wanted:
        return {}
    rows = connection.all(
        "erasure.erased_at", tenant_id=principal.tenant_id, subject_id=principal.subject_id, digests=wanted
    )
    return {bytes(row.digest): row.at for row in rows}


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
    rows = connection.all(
        "erasure.select", **owner, scope=principal.scope.value, memory_id=memory_id, conversation_id=conversation_id
    )
    if memory_id is not None and not rows:
        raise NotFound("There is no such memory, or it is not yours.")
    ids = list({row.id for row in rows})
    by_id = {"tenant_id": principal.tenant_id, "ids": ids}
    sources = [row.message_id for row in connection.all("erasure.sources", **by_id)]
    seen = {
        mark for row in rows for mark in marks(key, principal.subject_id, texts=[row.text], slot=row.slot, turns=())
    }
    seen |= set(marks(key, principal.subject_id, texts=(), slot=None, turns=sources))
    connection.many("erasure.remember", [{**owner, "digest": mark} for mark in sorted(seen)])
    now, asked_by = datetime.now(UTC), actor or principal
    decided = _decisions(
        connection,
        **owner,
        everything=memory_id is None and conversation_id is None,
        conversation_id=conversation_id if memory_id is None else None,
        ids=ids,
        message_ids=sources,
        marks=[mark.hex() for mark in seen],
        asked_by=asked_by.subject_id,
        since=now - SHARE_WINDOW,
    )
    removed = _remove(connection, principal, ids, decisions=decided.n)
    subjects.raise_epoch(connection, principal)
    if memory_id is None:
        spans.skip_pending(connection, principal, conversation_id)
        connection.run("sweep.forget_abandoned_of", **owner, conversation_id=conversation_id)
    receipt = Receipt(new_id(), now, removed, (), tuple(sorted(sources)), now)
    connection.run(
        "erasure.record",
        **owner,
        id=receipt.id,
        requested_by=asked_by.subject_id,
        reason=reason,
        receipt=receipt.as_json(),
        brought=decided.brought,
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


def _decisions(connection: Connection, **which: Any) -> Any:
    """Delete decisions; ``n`` is how many, ``brought`` how many of them the one who asks had brought lately."""
    row = connection.one("erasure.candidates", **which)
    assert row is not None, "counts are one row"
    return row


def _remove(connection: Connection, principal: Principal, ids: list[UUID], *, decisions: int) -> dict[str, int]:
    """Delete memories ``ids`` from every representation; counts of rows that went, and the ``decisions`` before."""
    by_id = {"tenant_id": principal.tenant_id, "ids": ids}
    return {
        "quotes": connection.run("erasure.evidence", **by_id),
        "vectors": connection.run("erasure.vectors", **by_id, subject_id=principal.subject_id),
        "vectors_pending": connection.run("erasure.vectors_pending", **by_id),
        "use_counters": connection.run("erasure.uses", **by_id),
        "candidates": decisions,
        "versions": connection.run("erasure.memories", **by_id, subject_id=principal.subject_id),
        "memories": len(ids),
    }
