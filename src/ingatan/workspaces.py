"""Workspaces: people who read and continue the same conversations. One owner each, who alone manages the members.

Row-level security asks for membership at every statement, so whoever is removed sees nothing from then on, whatever
their token says. Functions take a connection in the caller's scope and never commit. A workspace that the caller is no
member of is NotFound; what only its owner may do is Forbidden to its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan import subjects
from ingatan.errors import Conflict, Forbidden, NotFound
from ingatan.storage.database import Connection
from ingatan.types import Principal

MEMBERS_MAX = 1_000
"""Members of one workspace."""
OWNED_MAX = 200
"""Workspaces of one owner: whose number each statement of a member looks through."""


class WorkspaceRole(StrEnum):
    """What a member is."""

    OWNER = "owner"
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace as one of its members sees it; ``role`` is theirs."""

    id: UUID
    name: str
    owner_id: UUID
    role: WorkspaceRole
    members: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person in a workspace."""

    subject_id: UUID
    role: WorkspaceRole
    added_at: datetime


def create(connection: Connection, principal: Principal, *, id: UUID, name: str) -> Workspace:
    """Start a workspace with the caller as its owner and only member. Raises Conflict above OWNED_MAX.

    The shared sentinel may not (Forbidden): everybody without identity would read what is said there.
    """
    if principal.shared_sentinel:
        raise Forbidden("Callers without identity share no workspace. Sign in first.")
    subjects.register(connection, principal)
    owned = connection.one("workspaces.count_owned", **_caller(principal))
    if owned is not None and owned.n >= OWNED_MAX:
        raise Conflict(f"One person owns at most {OWNED_MAX} workspaces. Delete one first.")
    tenant = {"tenant_id": principal.tenant_id}
    connection.run("workspaces.create", **tenant, id=id, name=name, owner_id=principal.subject_id)
    _add(connection, principal, id, principal.subject_id, WorkspaceRole.OWNER)
    return get(connection, principal, id)


def get(connection: Connection, principal: Principal, id: UUID) -> Workspace:
    """One workspace of the caller. Raises NotFound."""
    row = connection.one("workspaces.get", **_caller(principal), id=id)
    if row is None:
        raise NotFound("There is no such workspace, or you are not a member of it.")
    return _workspace(row)


def page(connection: Connection, principal: Principal, *, before: UUID | None, limit: int) -> list[Workspace]:
    """Up to ``limit`` workspaces that the caller is a member of, newest first, after ``before``."""
    rows = connection.all("workspaces.list", **_caller(principal), before_id=before, limit=limit)
    return [_workspace(row) for row in rows]


def rename(connection: Connection, principal: Principal, id: UUID, name: str) -> Workspace:
    """Give a workspace of the caller's own another name. Raises NotFound, Forbidden."""
    _own(connection, principal, id)
    connection.run("workspaces.rename", **_caller(principal), id=id, name=name)
    return get(connection, principal, id)


def delete(connection: Connection, principal: Principal, id: UUID) -> None:
    """Take the workspace and its conversations out of every view; swept no more. Raises NotFound, Forbidden.

    Messages stay until retention or erasure; memories stay with whom they are about.
    """
    _own(connection, principal, id)
    keys = {"tenant_id": principal.tenant_id, "id": id}
    connection.run("workspaces.hide_conversations", **keys)
    connection.run("workspaces.forget_sweep", **keys)
    connection.run("workspaces.delete", **_caller(principal), id=id)
    connection.run("workspaces.remove_all", **keys)


def members(connection: Connection, principal: Principal, id: UUID, *, after: UUID | None, limit: int) -> list[Member]:
    """Up to ``limit`` members in order of their ids, after ``after``. Raises NotFound."""
    get(connection, principal, id)
    rows = connection.all("workspaces.members", tenant_id=principal.tenant_id, id=id, after_id=after, limit=limit)
    return [_member(row) for row in rows]


def add(connection: Connection, principal: Principal, id: UUID, subject_id: UUID) -> tuple[Member, bool]:
    """Add a person; they read every conversation of the workspace from now on. Returns them, and whether they are new.

    Raises NotFound, Forbidden, and Conflict above MEMBERS_MAX.
    """
    _own(connection, principal, id)
    new = _add(connection, principal, id, subject_id, WorkspaceRole.MEMBER)
    counted = connection.one("workspaces.count_members", tenant_id=principal.tenant_id, id=id) if new else None
    if counted is not None and counted.n > MEMBERS_MAX:
        raise Conflict(f"A workspace has at most {MEMBERS_MAX:,} members. Remove someone first.")
    return member(connection, principal, id, subject_id), new


def member(connection: Connection, principal: Principal, id: UUID, subject_id: UUID) -> Member:
    """One member. Raises NotFound."""
    row = connection.one("workspaces.member", tenant_id=principal.tenant_id, id=id, subject_id=subject_id)
    if row is None:
        raise NotFound("There is no such member, or you are not a member of this workspace.")
    return _member(row)


def remove(connection: Connection, principal: Principal, id: UUID, subject_id: UUID) -> None:
    """Remove a member: the owner anyone but themselves, anyone themselves. Raises NotFound, Forbidden, Conflict."""
    workspace = get(connection, principal, id)
    if subject_id == workspace.owner_id == principal.subject_id:
        raise Conflict("The owner stays a member. Delete the workspace instead.")
    if principal.subject_id not in (subject_id, workspace.owner_id):
        raise _not_owner()
    keys = {"tenant_id": principal.tenant_id, "id": id, "subject_id": subject_id}
    if not connection.run("workspaces.remove_member", **keys):
        raise NotFound("There is no such member.")


def _own(connection: Connection, principal: Principal, id: UUID) -> None:
    if connection.one("workspaces.lock", **_caller(principal), id=id) is None:
        get(connection, principal, id)
        raise _not_owner()


def _add(connection: Connection, principal: Principal, id: UUID, subject_id: UUID, role: WorkspaceRole) -> bool:
    keys = {"tenant_id": principal.tenant_id, "id": id, "subject_id": subject_id}
    return connection.run("workspaces.add_member", **keys, role=role.value) > 0


def _not_owner() -> Forbidden:
    return Forbidden("Only the owner of this workspace may do this. Ask them.")


def _caller(principal: Principal) -> dict[str, Any]:
    return {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}


def _workspace(row: Any) -> Workspace:
    return Workspace(
        id=row.id,
        name=row.name,
        owner_id=row.owner_id,
        role=WorkspaceRole(row.role),
        members=row.members,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _member(row: Any) -> Member:
    return Member(subject_id=row.subject_id, role=WorkspaceRole(row.role), added_at=row.added_at)
