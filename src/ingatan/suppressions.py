"""Suppressions: what a person never wants remembered again, as keyed marks from which nothing can be read.

Unlike the marks of an erasure, which hold for words said before it, a suppression holds for whatever is said until the
person lifts it. People say "never again", and so do the routes. Functions take a connection in the person's scope and
never commit.
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
from ingatan.memories.plausibility import plausible
from ingatan.memories.slots import named_in, value_of
from ingatan.memories.support import content
from ingatan.storage.database import Connection
from ingatan.types import Principal, new_id

LISTED_MAX = 500
"""How many suppressions are listed; a person who has more lifts some to see the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One "never again": of a whole attribute (``slot``), or of one statement (None)."""

    id: UUID
    slot: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Borne:
    """What words bear that a suppression may name: marks, and words; keyed hashes of 32 bytes each."""

    marks: tuple[bytes, ...]
    words: tuple[bytes, ...]


def borne(key: bytes, subject_id: UUID, *, texts: Sequence[str], slot: str | None) -> Borne:
    """What statements with these texts bear: of their words and value, and of every attribute they say something of."""
    about = {name for text in texts for name in named_in(text) if plausible(name, text)}
    about |= {slot} if slot is not None else set()
    found = set(erasure.marks(key, subject_id, texts=texts, slot=slot, turns=()))
    for name in about:
        found.add(_whole(key, subject_id, name))
        found |= set(erasure.marks(key, subject_id, texts=texts, slot=name, turns=()))
    said = {word for text in texts for word in content(text)}
    return Borne(marks=tuple(sorted(found)), words=tuple(_word(key, subject_id, word) for word in sorted(said)))


def suppress(
    connection: Connection,
    principal: Principal,
    key: bytes,
    *,
    texts: Sequence[str],
    slot: str | None,
    id: UUID | None = None,
) -> UUID | None:
    """Never remember ``texts`` again; without texts, nothing that fills ``slot``. Its id; None where neither is named.

    Of the first text also what holds all words of its value: "I work at X in Y" covers "at X in Y for ten years".
    """
    about, words = principal.subject_id, list[bytes]()
    if texts:
        marks = erasure.marks(key, about, texts=texts, slot=slot, turns=())
        named = value_of(slot, texts[0]).words if slot is not None else frozenset[str]()
        words = [_word(key, about, word) for word in sorted({stem for word in named for stem in content(word)})]
    elif slot is not None:
        marks = [_whole(key, about, slot)]
    else:
        return None
    id = id or new_id()
    row = {"tenant_id": principal.tenant_id, "subject_id": about, "wish_id": id, "slot": None if texts else slot}
    rows = [{**row, "digest": mark, "kind": "mark"} for mark in marks]
    rows += [{**row, "digest": word, "kind": "word"} for word in words]
    connection.many("suppressions.add", rows)
    return id


def held(connection: Connection, principal: Principal, said: Borne) -> bool:
    """Whether something that bears what ``said`` does is never to be remembered."""
    row = connection.one(
        "suppressions.any",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        marks=list(said.marks),
        words=list(said.words),
    )
    return row is not None


def _whole(key: bytes, subject_id: UUID, slot: str) -> bytes:
    return hmac.digest(key, subject_id.bytes + b"whole slot" + slot.encode(), hashlib.sha256)


def _word(key: bytes, subject_id: UUID, word: str) -> bytes:
    return hmac.digest(key, subject_id.bytes + b"one word" + word.encode(), hashlib.sha256)


def listed(connection: Connection, principal: Principal) -> list[Suppression]:
    """The person's suppressions, newest first, at most LISTED_MAX."""
    rows = connection.all(
        "suppressions.list", tenant_id=principal.tenant_id, subject_id=principal.subject_id, limit=LISTED_MAX
    )
    return [Suppression(id=row.wish_id, slot=row.slot, at=row.at) for row in rows]


def lift(connection: Connection, principal: Principal, id: UUID) -> None:
    """Take a suppression back: what is said from now on may be remembered. Raises NotFound."""
    removed = connection.run(
        "suppressions.lift", tenant_id=principal.tenant_id, subject_id=principal.subject_id, wish_id=id
    )
    if not removed:
        raise NotFound("There is no such 'never again', or it is not yours.")
