"""The regulator: the tenant's policy document, how well it agrees with reviewers, and what is unusual.

Administrators change the document; each change is a new version, and audited by number and hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ingatan.audit import Audit, AuditAction, Entry
from ingatan.errors import Outdated
from ingatan.memories import agreement, alerts, policies
from ingatan.memories.agreement import Agreement, Compared
from ingatan.memories.alerts import Alert
from ingatan.memories.decisions import Judgement
from ingatan.memories.policies import Policies, PolicyVersion
from ingatan.memories.policy_document import PolicyDocument
from ingatan.settings import PolicySettings
from ingatan.storage.database import Connection, Database, Power
from ingatan.telemetry import Event, event
from ingatan.types import Outcome, Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The agreement over a time, with the policy in force now and how many wait."""

    agreement: Agreement
    policy_version: str
    mode: str
    waiting: int
    waiting_since: datetime | None

    def as_json(self) -> dict[str, Any]:
        """The report as it is answered."""
        return {
            "policy_version": self.policy_version,
            "mode": self.mode,
            "waiting": self.waiting,
            "waiting_since": self.waiting_since.isoformat() if self.waiting_since else None,
            **self.agreement.as_json(),
        }


class Regulator:
    """Shows and changes the policy, and watches what comes of it."""

    def __init__(self, database: Database, *, settings: PolicySettings, audit: Audit, known: Policies) -> None:
        self._database = database
        self._settings = settings
        self._audit = audit
        self._known = known

    @property
    def mode(self) -> str:
        """``enforce``, or ``dry`` where decisions are only tried out."""
        return self._settings.mode

    def in_force(self, caller: Principal) -> PolicyVersion:
        """The document by which the caller's tenant is governed now."""
        with self._database.read(caller) as connection:
            return self._in_force(connection, caller)

    def label(self, version: PolicyVersion) -> str:
        """What is recorded with each decision under ``version``."""
        return policies.label(version.document, version.number)

    def version(self, caller: Principal, number: int) -> PolicyVersion:
        """One version of the caller's tenant; SHIPPED for the one that ships. Raises NotFound."""
        with self._database.read(caller) as connection:
            if number == policies.SHIPPED:
                return self._shipped(connection, caller)
            return policies.get(connection, caller, number)

    def history(self, caller: Principal, *, before: int | None, limit: int) -> list[PolicyVersion]:
        """The tenant's own versions, newest first."""
        with self._database.read(caller) as connection:
            return policies.page(connection, caller, before=before, limit=limit)

    def set(self, administrator: Principal, document: PolicyDocument, *, expected: int | None = None) -> PolicyVersion:
        """Govern the tenant by ``document`` from the next act on; nothing happens where the newest says the same.

        Raises Outdated where ``expected`` is not the version in force, or another was made at the same moment.
        """
        with self._database.write(administrator, power=Power.ADMIN) as connection:
            newest = policies.newest(connection, administrator)
            number = policies.number_of(newest)
            if expected is not None and expected != number:
                raise _outdated(number)
            if newest is not None and newest.document == document:
                return newest
            made = PolicyVersion(
                number=number + 1,
                document=document,
                made_by=administrator.subject_id,
                made_at=datetime.now(UTC),
            )
            if not policies.add(connection, administrator, made.number, document):
                raise _outdated(made.number)
            details = {"version": made.number, "sha256": made.sha256, "profile": document.profile}
            entry = Entry(action=AuditAction.POLICY_CHANGED, entity_type="policy", details=details)
            self._audit.append(connection, administrator, [entry])
        return made

    def report(self, caller: Principal, *, from_at: datetime | None, to_at: datetime | None) -> Report:
        """How the policy's own decisions compare with the verdicts given in [from_at, to_at). Counts only."""
        with self._database.read(caller, power=Power.REVIEW) as connection:
            version = self._in_force(connection, caller)
            rows = connection.all("review.agreement", tenant_id=caller.tenant_id, from_at=from_at, to_at=to_at)
            waiting = connection.one("review.waiting", tenant_id=caller.tenant_id)
        compared = [
            Compared(
                outcome=Outcome(row.proposed_decision),
                judgement=Judgement(row.verdict),
                reasons=tuple(row.reasons),
                count=row.n,
            )
            for row in rows
        ]
        return Report(
            agreement=agreement.agreement(compared),
            policy_version=self.label(version),
            mode=self.mode,
            waiting=waiting.n if waiting else 0,
            waiting_since=waiting.oldest_at if waiting else None,
        )

    def watch(self, tenants: Sequence[UUID], moment: datetime | None = None) -> list[Alert]:
        """Raise what is unusual in each of ``tenants``; those raised now."""
        found: list[Alert] = []
        for tenant_id in tenants:
            job = Principal(tenant_id, UUID(int=0))
            with self._database.write(job, power=Power.JOB) as connection:
                document = self._in_force(connection, job).document
                raised = alerts.watch(connection, job, document, moment or datetime.now(UTC))
                if raised:
                    self._audit.append(connection, job, [_raised(alert) for alert in raised])
            for alert in raised:
                event(
                    Event.ALERT_RAISED, level="warning", tenant_id=tenant_id, reason=alert.kind.value, count=alert.count
                )
            found += raised
        return found

    def _in_force(self, connection: Connection, caller: Principal) -> PolicyVersion:
        return policies.newest(connection, caller) or self._shipped(connection, caller)

    def _shipped(self, connection: Connection, caller: Principal) -> PolicyVersion:
        document = self._known.at(connection, caller, policies.SHIPPED)
        return PolicyVersion(number=policies.SHIPPED, document=document)


def _raised(alert: Alert) -> Entry:
    details = {"kind": alert.kind.value, "key": str(alert.key), "count": alert.count, "day": alert.day.isoformat()}
    return Entry(action=AuditAction.ALERT_RAISED, entity_type="alert", entity_id=alert.id, details=details)


def _outdated(number: int) -> Outdated:
    return Outdated(
        f"The policy is at version {number} by now. Read it again, and send your change with that version.",
        extra={"version": number},
    )
