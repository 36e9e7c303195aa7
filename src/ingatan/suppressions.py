"""Suppressions: what a person never wants remembered again, as keyed marks from which nothing can be read.

Unlike the marks of an erasure, which hold for words said before it, a wish holds for whatever is said until the person
takes it back. Functions take a connection in the person's scope and never commit.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan import erasure
from ingatan.errors import NotFound
from ingatan.memories.slots import Slot
from ingatan.storage.database import Connection
from ingatan.types import Principal, new_id

WISHES_MAX = 500
"""How many wishes are listed; a person who has more lifts some to see the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One "never again": of a whole attribute (``slot``), or of one statement (None)."""

    id: UUID
    slot: str | None
    at: datetime


def marks(key: bytes, subject_id: UUID, *, texts: Sequence[str], slot: str | None) -> list[bytes]:
    """The marks (32 bytes each) that statements with these texts bear: of their words, their value, their attribute."""
    borne = erasure.marks(key, subject_id, texts=texts, slot=slot, turns=())
    return [*borne, whole(key, subject_id, slot)] if slot is not None else borne


def whole(key: bytes, subject_id: UUID, slot: str) -> bytes:
    """The mark of everything that fills ``slot``."""
    return hmac.digest(key, subject_id.bytes + b"whole slot" + slot.encode(), hashlib.sha256)


def suppress(
    connection: Connection,
    principal: Principal,
    key: bytes,
    *,
    texts: Sequence[str],
    slot: str | None,
    wish_id: UUID | None = None,
) -> UUID | None:
    """Never remember ``texts`` again; without texts, nothing that fills ``slot``. The wish's id; None for no wish."""
    if texts:
        found = erasure.marks(key, principal.subject_id, texts=texts, slot=slot, turns=())
    elif slot is not None:
        found = [whole(key, principal.subject_id, slot)]
    else:
        return None
    wish_id = wish_id or new_id()
    owner = {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}
    named = slot if not texts else None
    rows = [{**owner, "wish_id": wish_id, "digest": mark, "slot": named} for mark in found]
    connection.many("suppressions.add", rows)
    return wish_id


def held(connection: Connection, principal: Principal, digests: Sequence[bytes]) -> bool:
    """Whether the person wished never to have something remembered that bears one of these marks."""
    row = connection.one(
        "suppressions.any",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        digests=list(digests),
    )
    return row is not None


def wishes(connection: Connection, principal: Principal) -> list[Wish]:
    """The person's wishes, newest first, at most WISHES_MAX."""
    rows = connection.all(
        "suppressions.list", tenant_id=principal.tenant_id, subject_id=principal.subject_id, limit=WISHES_MAX
    )
    return [Wish(id=row.wish_id, slot=row.slot, at=row.at) for row in rows]


def lift(connection: Connection, principal: Principal, wish_id: UUID) -> None:
    """Take a wish back: what is said from now on may be remembered. Raises NotFound."""
    removed = connection.run(
        "suppressions.lift", tenant_id=principal.tenant_id, subject_id=principal.subject_id, wish_id=wish_id
    )
    if not removed:
        raise NotFound("There is no such wish, or it is not yours.")


def slot_named(name: str) -> Slot | None:
    """The attribute with this name, or None."""
    return Slot(name) if name in set(Slot) else None
