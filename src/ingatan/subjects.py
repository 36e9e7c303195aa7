"""Subjects: the people memories are about. One lock row each, with consent and the erasure epoch.

Whoever writes about a person locks their row first; an erasure raises the epoch under the same lock, so what was read
before it can never be written after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.errors import Forbidden
from ingatan.storage.database import Connection
from ingatan.types import Consent, Principal


@dataclass(frozen=True, slots=True)
class Subject:
    """A person's row at one moment. The last two are known where it was read without the lock."""

    id: UUID
    erasure_epoch: int
    consent: Consent
    consent_at: datetime | None = None
    has_suppressions: bool = False
    policy_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """How many candidates came since a moment: by one writer, about one subject, from one source.

    ``oldest_at`` is when the writer's first of them came.
    """

    by_writer: int = 0
    by_subject: int = 0
    by_source: int = 0
    oldest_at: datetime | None = None


def register(connection: Connection, principal: Principal) -> None:
    """Make the rows of the caller's tenant and person unless they exist."""
    with connection.pipeline():
        connection.run("subjects.register_tenant", tenant_id=principal.tenant_id, name=str(principal.tenant_id))
        connection.run("subjects.register", tenant_id=principal.tenant_id, subject_id=principal.subject_id)


def lock(connection: Connection, principal: Principal) -> Subject:
    """Lock the caller's row until the transaction ends and return it, made first if it was missing.

    Raises Forbidden for a person whose id is an account's.
    """
    keys = {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}
    row = connection.one("subjects.lock", **keys)
    if row is None:
        register(connection, principal)
        row = connection.one("subjects.lock", **keys)
    if row is None:
        raise Forbidden("This subject id stands for an account, not for a person. Nothing is remembered under it.")
    return Subject(principal.subject_id, row.erasure_epoch, Consent(row.consent))


def read(connection: Connection, principal: Principal) -> Subject:
    """The caller's row without a lock; defaults if they are not known yet."""
    row = connection.one("subjects.read", tenant_id=principal.tenant_id, subject_id=principal.subject_id)
    assert row is not None, "the query always has one row"
    return _subject(principal, row)


def standing(
    connection: Connection, principal: Principal, *, writer_id: UUID, source_id: UUID | None, since: datetime
) -> tuple[Subject, Brought]:
    """The subject's row without a lock, and what was brought since ``since``, in one query."""
    row = connection.one(
        "subjects.standing",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        writer_id=writer_id,
        source_id=source_id,
        since=since,
    )
    assert row is not None, "the query always has one row"
    brought = Brought(
        by_writer=row.by_writer, by_subject=row.by_subject, by_source=row.by_source, oldest_at=row.oldest_at
    )
    return _subject(principal, row), brought


def set_consent(connection: Connection, principal: Principal, consent: Consent) -> None:
    """Record consent. Withdrawing stops every later write; what is remembered stays until it is erased."""
    lock(connection, principal)
    connection.run(
        "subjects.set_consent",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        consent=consent.value,
    )


def raise_epoch(connection: Connection, principal: Principal) -> None:
    """Invalidate everything in flight about the caller. Call under ``lock``."""
    connection.run("subjects.raise_epoch", tenant_id=principal.tenant_id, subject_id=principal.subject_id)


def _subject(principal: Principal, row: Any) -> Subject:
    return Subject(
        principal.subject_id,
        row.erasure_epoch or 0,
        Consent(row.consent or "unset"),
        row.consent_at,
        row.has_suppressions,
        row.policy_version,
    )
