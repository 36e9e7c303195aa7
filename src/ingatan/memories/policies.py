"""Which policy document governs a tenant: the newest of its own versions, or the one of the profile that ships."""

from __future__ import annotations

from uuid import UUID

from ingatan.errors import IngatanError
from ingatan.memories.policy import RULES_VERSION
from ingatan.memories.policy_document import PolicyDocument, shipped
from ingatan.storage.database import Connection
from ingatan.types import Principal

SHIPPED = 0
"""The version number of a tenant that has no document of its own."""


class Policies:
    """The documents in force. A version never changes, so each is read and validated once a process."""

    def __init__(self, profile: str) -> None:
        self._shipped = shipped(profile)
        self._known: dict[tuple[UUID, int], PolicyDocument] = {}

    def of(self, connection: Connection, principal: Principal) -> PolicyDocument:
        """The document in force for the tenant."""
        row = connection.one("policy.newest", tenant_id=principal.tenant_id)
        return self.at(connection, principal, row.version if row is not None else SHIPPED)

    def label(self, connection: Connection, principal: Principal) -> str:
        """What is recorded with decisions made for the tenant now."""
        row = connection.one("policy.newest", tenant_id=principal.tenant_id)
        version = row.version if row is not None else SHIPPED
        return label(self.at(connection, principal, version), version)

    def at(self, connection: Connection, principal: Principal, version: int) -> PolicyDocument:
        """The document of the tenant's ``version``; the shipped one for SHIPPED."""
        if version == SHIPPED:
            return self._shipped
        key = (principal.tenant_id, version)
        known = self._known.get(key)
        if known is None:
            row = connection.one("policy.get", tenant_id=principal.tenant_id, version=version)
            if row is None:
                raise IngatanError("A policy version that was in force is gone. Look at the table policy_versions.")
            known = self._known.setdefault(key, PolicyDocument.model_validate(row.document))
        return known


def label(document: PolicyDocument, version: int) -> str:
    """What is recorded with each decision: profile, version of the rules, and of the tenant's document if any."""
    name = f"{document.profile}-{RULES_VERSION}"
    return name if version == SHIPPED else f"{name}.{version}"
