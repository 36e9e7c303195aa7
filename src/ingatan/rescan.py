"""Screening again what is remembered already: a later release of the detectors refuses what an earlier one let pass.

Each owner's memories are read in the owner's own scope. A look changes nothing; closing drops the vectors and leaves an
audit row with the reasons and never the text. What was closed is served nowhere and stays until it is erased.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ingatan import subjects
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.memories import registry
from ingatan.memories.assessment import screened
from ingatan.storage.database import Database
from ingatan.types import Memory, MemoryStatus, Principal, Reason, Scope

OWNERS_PAGE = 500
"""So many people are listed in one go."""
LISTED_MAX = 1_000
"""So many memories are named in the report; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A memory that would not be stored today, by its ids and why."""

    tenant_id: UUID
    memory_id: UUID
    reasons: tuple[Reason, ...]


@dataclass(slots=True, kw_only=True)
class Report:
    """What a scan found: people and memories read, refused ones by reason, how many were closed; content-free."""

    owners: int = 0
    memories: int = 0
    refused: int = 0
    closed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    listed: list[Refused] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The report as the command prints it."""
        items = [
            {"tenant_id": str(each.tenant_id), "memory_id": str(each.memory_id), "reasons": list(each.reasons)}
            for each in self.listed
        ]
        counts = {"owners": self.owners, "memories": self.memories, "refused": self.refused, "closed": self.closed}
        return {**counts, "reasons": dict(self.reasons.most_common()), "items": items}


def rescan(database: Database, audit: Audit, *, close: bool, tell: Callable[[int], None] = lambda read: None) -> Report:
    """Screen every active memory of every tenant again; with ``close`` close what is refused now, a person at a time.

    ``tell`` hears how many memories were read, once a page of owners. Can be stopped and run again.
    """
    report = Report()
    for number, owner in enumerate(_owners(database)):
        _scan(database, audit, owner, report, close=close)
        if number % OWNERS_PAGE == OWNERS_PAGE - 1:
            tell(report.memories)
    return report


def _owners(database: Database) -> Iterator[Principal]:
    position: tuple[UUID | None, UUID | None] = (None, None)
    while True:
        with database.jobs() as connection:
            rows = connection.all("sweep.owners", tenant_id=position[0], scope_id=position[1], limit=OWNERS_PAGE)
        for row in rows:
            yield Principal(row.tenant_id, row.scope_id, scope=Scope(row.scope))
        if len(rows) < OWNERS_PAGE:
            return
        position = (rows[-1].tenant_id, rows[-1].scope_id)


def _scan(database: Database, audit: Audit, owner: Principal, report: Report, *, close: bool) -> None:
    now = datetime.now(UTC)
    with database.read(owner) as connection:
        active, expired = registry.standing(connection, owner, now)
    memories = [*active, *expired]
    report.owners += 1
    report.memories += len(memories)
    judged = [(memory, screened(memory)) for memory in memories]
    refused = [(memory, reasons) for memory, reasons in judged if reasons]
    report.refused += len(refused)
    for memory, reasons in refused:
        report.reasons.update(reason.value for reason in reasons)
        if len(report.listed) < LISTED_MAX:
            report.listed.append(Refused(tenant_id=owner.tenant_id, memory_id=memory.id, reasons=reasons))
    if close and refused:
        report.closed += _close(database, audit, owner, refused)


def _close(database: Database, audit: Audit, owner: Principal, refused: list[tuple[Memory, tuple[Reason, ...]]]) -> int:
    """Close those of ``refused`` whose version is still the one that was judged; return how many."""
    closed = MemoryStatus.DELETED
    with database.write(owner) as connection:
        subjects.lock(connection, owner)
        now = datetime.now(UTC)
        active, expired = registry.standing(connection, owner, now)
        there = {(memory.id, memory.version) for memory in (*active, *expired)}
        entries = [
            Entry(
                action=AuditAction.MEMORY_CLOSED,
                entity_type="user_memory",
                entity_id=memory.id,
                details={"status": closed.value, "by": "rescan", "reasons": [reason.value for reason in reasons]},
            )
            for memory, reasons in refused
            if (memory.id, memory.version) in there
            and registry.retire(connection, owner, memory.id, closed, candidate_id=None)
        ]
        audit.append(connection, owner, entries)
    return len(entries)
