"""Policy documents in force: the newest that a tenant's administrators made, or the one of the profile that ships.

A version is never changed; a new one takes its place. Functions take a connection and never commit.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.errors import IngatanError, NotFound
from ingatan.memories.policy import RULES_VERSION
from ingatan.memories.policy_document import PolicyDocument, shipped
from ingatan.storage.database import Connection
from ingatan.types import Principal

SHIPPED = 0
"""The version number of a tenant that has no document of its own."""


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


class Policies:
    """The documents in force. A version never changes, so each is read and validated once a process."""

    def __init__(self, profile: str) -> None:
        self._shipped = shipped(profile)
        self._known: dict[tuple[UUID, int], PolicyDocument] = {}

    def of(self, connection: Connection, principal: Principal) -> PolicyDocument:
        """The document in force for the tenant."""
        return self.at(connection, principal, _in_force(connection, principal))

    def label(self, connection: Connection, principal: Principal) -> str:
        """What is recorded with decisions made for the tenant now."""
        version = _in_force(connection, principal)
        return label(self.at(connection, principal, version), version)

    def at(self, connection: Connection, principal: Principal, version: int) -> PolicyDocument:
        """The document of the tenant's ``version``; the shipped one for SHIPPED."""
        if version == SHIPPED:
            return self._shipped
        key = (principal.tenant_id, version)
        known = self._known.get(key)
        if known is None:
            row = connection.one("policy.read", tenant_id=principal.tenant_id, version=version)
            if row is None:
                raise IngatanError("A policy version that was in force is gone. Look at the table policy_versions.")
            known = self._known.setdefault(key, PolicyDocument.model_validate(row.document))
        return known


def label(document: PolicyDocument, version: int) -> str:
    """What is recorded with each decision: profile, version of the rules, and of the tenant's document if any."""
    name = f"{document.profile}-{RULES_VERSION}"
    return name if version == SHIPPED else f"{name}.{version}"


def _in_force(connection: Connection, principal: Principal) -> int:
    row = connection.one("policy.newest", tenant_id=principal.tenant_id)
    return row.version if row is not None else SHIPPED


def _version(row: Any) -> PolicyVersion:
    document = PolicyDocument.model_validate(row.document)
    return PolicyVersion(number=row.version, document=document, made_by=row.made_by, made_at=row.made_at)
