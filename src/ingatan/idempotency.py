"""Idempotency: an act that is repeated with the same key and body happens once, and answers with what it made.

A key is bound to the caller, the route and the body. Answers are rebuilt from the ids of what was made; no text is kept
here: of the key its hash, and of the body a hash keyed by the key as it was sent, so that no number in what was refused
can be found by trying. The key is taken in the act's own transaction, so a key without its act, or the reverse, cannot
exist; a bulk's key only binds its body, and each of its parts has one of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ingatan.errors import KeyReused
from ingatan.storage.database import Connection
from ingatan.types import Principal

KEY_CHARS_MAX = 255
KEPT = timedelta(days=7)
"""How long a key is remembered: a client that repeats an act does so within minutes."""


@dataclass(frozen=True, slots=True)
class Key:
    """An idempotency key that came with a request: its hash in hexadecimal, and the hash of the body keyed by it."""

    route: str
    value: str
    body_sha256: bytes


@dataclass(frozen=True, slots=True)
class Made:
    """The ids of what an act with a key made, and when."""

    ids: tuple[UUID, ...]
    at: datetime


def key_for(route: str, value: str | None, body: Any) -> Key | None:
    """The key of a request with JSON ``body``, or None if the caller sent none."""
    if value is None:
        return None
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str, ensure_ascii=True)
    sent = value[:KEY_CHARS_MAX].encode()
    return Key(route, hashlib.sha256(sent).hexdigest(), hmac.digest(sent, canonical.encode(), hashlib.sha256))


def take(connection: Connection, principal: Principal, key: Key | None, makes: Sequence[UUID]) -> list[UUID] | None:
    """Take ``key`` for an act that makes ``makes``; None means go ahead.

    Returns the ids that an earlier act with this key made: then do nothing and answer with those. A concurrent act with
    the same key is awaited. Raises KeyReused when the key came with another body.
    """
    if key is None:
        return None
    named = _named(principal, key)
    if connection.run("idempotency.take", **named, body_sha256=key.body_sha256, resource_ids=list(makes)):
        return None
    made = taken(connection, principal, key)
    if made is None:
        raise _reused()
    return list(made.ids)


def taken(connection: Connection, principal: Principal, key: Key | None) -> Made | None:
    """What an earlier act with ``key`` made, or None if there was none. Raises KeyReused as ``take``."""
    row = connection.one("idempotency.read", **_named(principal, key)) if key is not None else None
    if key is None or row is None:
        return None
    if bytes(row.body_sha256) != key.body_sha256:
        raise _reused()
    return Made(tuple(row.resource_ids), row.created_at)


def _named(principal: Principal, key: Key) -> dict[str, Any]:
    return {
        "tenant_id": principal.tenant_id,
        "principal_id": principal.subject_id,
        "route": key.route,
        "key": key.value,
    }


def _reused() -> KeyReused:
    return KeyReused("This Idempotency-Key was used with another body. Use a new key for a new request.")


def clean(connection: Connection, tenant_id: UUID, now: datetime) -> int:
    """Forget the tenant's keys that are older than KEPT; return how many. Needs Power.JOB."""
    return connection.run("idempotency.clean", tenant_id=tenant_id, before=now - KEPT)
