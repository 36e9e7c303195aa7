"""Accounts: customer organisations whose members share what the account remembers, and who has authority in each.

An administrator of the tenant makes accounts and may manage all members; so may an account's own administrators.
Row-level security asks for membership at every statement. Functions take a connection and never commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan.errors import Conflict, Forbidden, NotFound
from ingatan.storage.database import Connection
from ingatan.types import Principal, Scope

MEMBERS_MAX = 10_000
"""Members of one account."""


class AccountRole(StrEnum):
    """What a member is: only an ``admin`` has authority to say what the account wants remembered."""

    ADMIN = "admin"
    MEMBER = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account; ``role`` is the caller's, None for an administrator of the tenant who is no member."""

    id: UUID
    name: str
    role: AccountRole | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person in an account."""

    subject_id: UUID
    role: AccountRole
    added_at: datetime


def owner(principal: Principal, account_id: UUID) -> Principal:
    """The account as the owner of what it remembers. Whoever acts as it was allowed to before."""
    return Principal(principal.tenant_id, account_id, scope=Scope.ACCOUNT)


def create(connection: Connection, principal: Principal, *, id: UUID, name: str) -> Account:
    """Make an account without members. Needs Power.ADMIN."""
    connection.run("accounts.create", tenant_id=principal.tenant_id, id=id, name=name)
    return get(connection, principal, id)


def get(connection: Connection, principal: Principal, id: UUID) -> Account:
    """One account of the caller, or any with Power.ADMIN. Raises NotFound."""
    row = connection.one("accounts.get", **_caller(principal), id=id)
    if row is None:
        raise _unknown()
    return _account(row)


def page(connection: Connection, principal: Principal, *, before: UUID | None, limit: int) -> list[Account]:
    """Up to ``limit`` accounts of the caller, or all with Power.ADMIN, newest first, after ``before``."""
    return [
        _account(row) for row in connection.all("accounts.list", **_caller(principal), before_id=before, limit=limit)
    ]


def is_admin(connection: Connection, principal: Principal, id: UUID) -> bool:
    """Whether the caller has authority in the account; False where they are no member of it."""
    row = connection.one("accounts.get", **_caller(principal), id=id)
    return row is not None and _account(row).role is AccountRole.ADMIN


def require_admin(connection: Connection, principal: Principal, id: UUID) -> None:
    """Raise NotFound for who is no member of the account, Forbidden for a member without authority in it."""
    if get(connection, principal, id).role is not AccountRole.ADMIN:
        raise Forbidden("Only an administrator of this account may do this. Ask one of them.")


def speaking_for(connection: Connection, principal: Principal, account_id: UUID | None) -> Principal:
    """Whose candidates the caller asks after: their own, or those about an account, whose scope is then entered.

    Raises NotFound for who is no member of the account, Forbidden for a member without authority in it.
    """
    if account_id is None:
        return principal
    require_admin(connection, principal, account_id)
    found = owner(principal, account_id)
    connection.enter(found)
    return found


def members(connection: Connection, principal: Principal, id: UUID, *, after: UUID | None, limit: int) -> list[Member]:
    """Up to ``limit`` members in order of their ids, after ``after``. Raises NotFound."""
    get(connection, principal, id)
    rows = connection.all("accounts.members", tenant_id=principal.tenant_id, id=id, after_id=after, limit=limit)
    return [Member(subject_id=row.subject_id, role=AccountRole(row.role), added_at=row.added_at) for row in rows]


def put_member(
    connection: Connection, principal: Principal, id: UUID, subject_id: UUID, role: AccountRole
) -> tuple[Member, bool]:
    """Make a person a member in ``role``, or change theirs; with whether they are new. Raises Conflict when full.

    The caller's authority is checked before: ``require_admin``, or Power.ADMIN.
    """
    keys = {"tenant_id": principal.tenant_id, "id": id}
    row = connection.one("accounts.put_member", **keys, subject_id=subject_id, role=role.value)
    assert row is not None, "the row was inserted or updated"
    counted = connection.one("accounts.count_members", **keys) if row.new else None
    if counted is not None and counted.n > MEMBERS_MAX:
        raise Conflict(f"An account has at most {MEMBERS_MAX:,} members. Remove someone first.")
    return Member(subject_id=subject_id, role=role, added_at=row.added_at), row.new


def remove_member(connection: Connection, principal: Principal, id: UUID, subject_id: UUID) -> None:
    """Remove a member; they are reminded of nothing of the account from the next question on. Raises NotFound."""
    if not connection.run("accounts.remove_member", tenant_id=principal.tenant_id, id=id, subject_id=subject_id):
        raise NotFound("There is no such member.")


def _unknown() -> NotFound:
    return NotFound("There is no such account, or you are not a member of it.")


def _caller(principal: Principal) -> dict[str, Any]:
    return {"tenant_id": principal.tenant_id, "subject_id": principal.subject_id}


def _account(row: Any) -> Account:
    role = AccountRole(row.role) if row.role is not None else None
    return Account(id=row.id, name=row.name, role=role, created_at=row.created_at)
