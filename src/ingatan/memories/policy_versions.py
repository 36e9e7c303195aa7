"""Policy versions: the documents that a tenant's administrators made, each with its number, author and time.

A version is never changed; a new one takes its place. Functions take a connection and never commit.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.errors import NotFound
from ingatan.memories.policies import SHIPPED
from ingatan.memories.policy_document import PolicyDocument
from ingatan.storage.database import Connection
from ingatan.types import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """One version. Who and when are None for the document that ships (``SHIPPED``)."""

    number: int
    document: PolicyDocument
    made_by: UUID | None = None
    made_at: datetime | None = None

    @property
    def sha256(self) -> str:
        """The hash of the document in hexadecimal, over its values and not its layout."""
        return fingerprint(self.document)


def fingerprint(document: PolicyDocument) -> str:
    """SHA-256 of a document's values, in hexadecimal."""
    canonical = json.dumps(document.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def newest(connection: Connection, principal: Principal) -> PolicyVersion | None:
    """The newest of the tenant's own versions."""
    row = connection.one("policy.newest", tenant_id=principal.tenant_id)
    return _version(row) if row else None


def get(connection: Connection, principal: Principal, number: int) -> PolicyVersion:
    """One of the tenant's own versions. Raises NotFound."""
    row = connection.one("policy.read", tenant_id=principal.tenant_id, version=number)
    if row is None:
        raise NotFound("There is no such version of the policy.")
    return _version(row)


def page(connection: Connection, principal: Principal, *, before: int | None, limit: int) -> list[PolicyVersion]:
    """Up to ``limit`` of the tenant's own versions, newest first, before ``before``."""
    rows = connection.all("policy.page", tenant_id=principal.tenant_id, before=before, limit=limit)
    return [_version(row) for row in rows]


def add(connection: Connection, administrator: Principal, number: int, document: PolicyDocument) -> bool:
    """Make version ``number``; False if somebody else did. Needs Power.ADMIN."""
    made = connection.run(
        "policy.add",
        tenant_id=administrator.tenant_id,
        version=number,
        document=document.model_dump(mode="json"),
        made_by=administrator.subject_id,
    )
    return made == 1


def number_of(version: PolicyVersion | None) -> int:
    """The number in force."""
    return version.number if version else SHIPPED


def _version(row: Any) -> PolicyVersion:
    document = PolicyDocument.model_validate(row.document)
    return PolicyVersion(number=row.version, document=document, made_by=row.made_by, made_at=row.made_at)
