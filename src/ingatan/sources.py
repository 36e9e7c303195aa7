"""Sources: what may bring candidates besides people, with what each may write, and batches of what they brought.

A source is revoked for good: nothing more is taken from it, and what it brought is withdrawn with everything derived
from that. A batch is rolled back alone. Functions take a connection and never commit.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ingatan.errors import BadRequest, Conflict, Forbidden, NotFound
from ingatan.storage.database import Connection
from ingatan.types import MemoryType, Principal, Scope, Trust

KEYS_MAX = 10
KEY_KINDS = {"OKP": ("Ed25519",), "EC": ("P-256", "P-384"), "RSA": ()}
"""Kinds of public keys, with the curves that are believed."""
RSA_BITS_MIN, RSA_BITS_MAX = 2_048, 8_192


class Kind(StrEnum):
    """What a source brings: signed events, approved documents, or content that it passes on."""

    EVENT = "event"
    DOCUMENT = "document"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A registered source. ``writer_id`` is the service that speaks for it; ``keys`` the public ones it signs with.

    ``made_at`` is None before it is registered.
    """

    id: UUID
    name: str
    kind: Kind
    writer_id: UUID | None
    keys: dict[str, Any] | None
    trust: Trust
    types: tuple[MemoryType, ...]
    scopes: tuple[Scope, ...]
    purposes: tuple[str, ...]
    made_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some of what a source brought, that can be rolled back together."""

    id: UUID
    source_id: UUID
    made_at: datetime
    rolled_back_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """A version that is served no more, or one that is served again in its place (``restored``)."""

    memory_id: UUID
    version: int
    scope: Scope
    owner_id: UUID
    restored: bool


def public_keys(keys: dict[str, Any]) -> dict[str, Any]:
    """``keys`` (a JSON Web Key Set) as they are kept. Raises BadRequest unless all are public, named and strong."""
    given = keys.get("keys")
    if (
        not isinstance(given, list)
        or not 1 <= len(given) <= KEYS_MAX
        or not all(isinstance(key, dict) for key in given)
    ):
        raise BadRequest(f"'keys' is no JSON Web Key Set: {{\"keys\": [...]}} of 1 to {KEYS_MAX} public keys.")
    named = [key.get("kid") for key in given]
    if not all(isinstance(kid, str) and kid for kid in named) or len(set(map(str, named))) != len(named):
        raise BadRequest("Each key has a 'kid' of its own, a string.")
    for key in given:
        _check_key(key)
    try:
        return {"keys": [key.as_dict(private=False) for key in KeySet.import_key_set({"keys": given}).keys]}
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        raise BadRequest("A key cannot be read. Send JSON Web Keys as in RFC 7517 and 8037.") from None


def _check_key(key: dict[str, Any]) -> None:
    """Raise BadRequest for a key of a kind that is not believed, a private one, or a weak one, before it is used."""
    kind, curve = key.get("kty"), key.get("crv")
    if not isinstance(kind, str) or kind not in KEY_KINDS or (KEY_KINDS[kind] and curve not in KEY_KINDS[kind]):
        raise BadRequest("A key is of a kind that is not believed. Use Ed25519, P-256, P-384 or RSA.")
    if "d" in key:
        raise BadRequest("A key is a private one. Send public keys only, and replace this one: it has been seen.")
    if kind == "RSA" and not RSA_BITS_MIN <= _bits(key.get("n")) <= RSA_BITS_MAX:
        raise BadRequest(f"An RSA key has {RSA_BITS_MIN:,} to {RSA_BITS_MAX:,} bits.")


def _bits(number: object) -> int:
    """The length of an unsigned number in base64url; 0 where it is none."""
    try:
        return int.from_bytes(urlsafe_b64decode(str(number) + "==")).bit_length()
    except ValueError:
        return 0


def register(connection: Connection, principal: Principal, source: Source) -> Source:
    """Keep a new source. Needs Power.ADMIN."""
    connection.run(
        "sources.add",
        tenant_id=principal.tenant_id,
        id=source.id,
        name=source.name,
        kind=source.kind.value,
        writer_id=source.writer_id,
        keys=source.keys,
        trust=source.trust.value,
        types=[kind.value for kind in source.types],
        scopes=[scope.value for scope in source.scopes],
        purposes=list(source.purposes),
        made_by=principal.subject_id,
    )
    return get(connection, principal, source.id)


def get(connection: Connection, principal: Principal, id: UUID) -> Source:
    """One source of the tenant. Raises NotFound."""
    row = connection.one("sources.get", tenant_id=principal.tenant_id, id=id)
    if row is None:
        raise NotFound("There is no such source.")
    return _source(row)


def page(connection: Connection, principal: Principal, *, before: UUID | None, limit: int) -> list[Source]:
    """Up to ``limit`` sources of the tenant, newest first, after ``before``."""
    rows = connection.all("sources.list", tenant_id=principal.tenant_id, before_id=before, limit=limit)
    return [_source(row) for row in rows]


def check_speaks(source: Source, caller: Principal) -> None:
    """Raise Forbidden unless the caller is the service that speaks for ``source``."""
    if source.writer_id != caller.subject_id:
        raise Forbidden("You do not speak for this source. Ask an administrator to register you as its writer.")


def open_batch(connection: Connection, principal: Principal, source_id: UUID, id: UUID) -> Batch:
    """Start a batch of a source that is not revoked. Raises NotFound, Conflict."""
    if get(connection, principal, source_id).revoked_at is not None:
        raise Conflict("This source is revoked for good. Register another one.")
    keys = {"tenant_id": principal.tenant_id, "source_id": source_id, "id": id}
    connection.run("sources.open_batch", **keys, made_by=principal.subject_id)
    return batch(connection, principal, id)


def batch(connection: Connection, principal: Principal, id: UUID) -> Batch:
    """One batch. Raises NotFound."""
    row = connection.one("sources.batch", tenant_id=principal.tenant_id, id=id)
    if row is None:
        raise NotFound("There is no such batch.")
    return Batch(id=row.id, source_id=row.source_id, made_at=row.made_at, rolled_back_at=row.rolled_back_at)


def check_batch(connection: Connection, principal: Principal, id: UUID, source_id: UUID) -> None:
    """Raise NotFound unless the batch is the source's, Conflict when it was rolled back."""
    found = batch(connection, principal, id)
    if found.source_id != source_id:
        raise NotFound("There is no such batch.")
    if found.rolled_back_at is not None:
        raise Conflict("This batch was rolled back. Open another.")


def hold(connection: Connection, principal: Principal, id: UUID, batch_id: UUID | None) -> Source:
    """One source as it is now; until the transaction ends nothing is withdrawn. Call before locking any subject.

    Raises as ``check_batch`` for a batch that takes nothing any more.
    """
    connection.all("sources.hold", tenant_id=principal.tenant_id)
    found = get(connection, principal, id)
    if batch_id is not None:
        check_batch(connection, principal, batch_id, id)
    return found


def forget_events(connection: Connection, tenant_id: UUID, now: datetime) -> int:
    """Forget which events were taken that would not be believed any more; how many. Needs Power.JOB."""
    return connection.run("sources.forget_events", tenant_id=tenant_id, before=now)


def revoke(connection: Connection, principal: Principal, id: UUID) -> list[Withdrawn]:
    """Revoke a source and withdraw what it brought; what was withdrawn and restored. Raises NotFound, Conflict.

    Needs Power.ADMIN.
    """
    get(connection, principal, id)
    if not connection.run("sources.revoke", tenant_id=principal.tenant_id, id=id):
        raise Conflict("This source is revoked already.")
    return _withdraw(connection, source=id, batch=None)


def roll_back(connection: Connection, principal: Principal, id: UUID) -> list[Withdrawn]:
    """Withdraw what a batch brought; what was withdrawn and restored. Raises NotFound, Conflict. Needs Power.ADMIN."""
    batch(connection, principal, id)
    if not connection.run("sources.roll_back", tenant_id=principal.tenant_id, id=id):
        raise Conflict("This batch was rolled back already.")
    return _withdraw(connection, source=None, batch=id)


def _withdraw(connection: Connection, *, source: UUID | None, batch: UUID | None) -> list[Withdrawn]:
    return [
        Withdrawn(
            memory_id=row.memory_id,
            version=row.version,
            scope=Scope(row.owner_scope),
            owner_id=row.owner_id,
            restored=row.restored,
        )
        for row in connection.all("sources.withdraw", source=source, batch=batch)
    ]


def _source(row: Any) -> Source:
    return Source(
        id=row.id,
        name=row.name,
        kind=Kind(row.kind),
        writer_id=row.writer_id,
        keys=row.keys,
        trust=Trust(row.trust),
        types=tuple(MemoryType(kind) for kind in row.types),
        scopes=tuple(Scope(scope) for scope in row.scopes),
        purposes=tuple(row.purposes),
        made_at=row.made_at,
        revoked_at=row.revoked_at,
    )


def allowed(source: Source, *, type: MemoryType, scope: Scope, purposes: Sequence[str]) -> bool:
    """Whether the source may write this kind of thing at all. No purposes registered means any."""
    return (
        type in source.types
        and scope in source.scopes
        and (not source.purposes or set(purposes) <= set(source.purposes))
    )
