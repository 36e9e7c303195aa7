"""/accounts: customer organisations whose members share what the account remembers."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from ingatan import accounts, idempotency
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import AccountMember, NewAccount
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.api.page import Limit, Page
from ingatan.audit import AuditAction, Entry
from ingatan.errors import BadRequest
from ingatan.identity import SENTINEL_SUBJECT
from ingatan.storage.database import Connection, Power
from ingatan.types import Principal, Role, new_id

router = APIRouter(prefix="/accounts", tags=["accounts"])
Reader = Annotated[Principal, Depends(needs(Action.ACCOUNT_READ))]
Maker = Annotated[Principal, Depends(needs(Action.ACCOUNT_MAKE))]
Manager = Annotated[Principal, Depends(needs(Action.ACCOUNT_MANAGE))]


@router.post("", status_code=201)
def create(app: Running, caller: Maker, body: NewAccount, key: IdempotencyKey = None) -> dict[str, Any]:
    """Make an account; its first administrator is added next."""
    id = new_id()
    claim = idempotency.key_for("POST /accounts", key, body.model_dump(mode="json"))
    with app.database.write(caller) as connection:
        made = idempotency.take(connection, caller, claim, [id])
        connection.enter(caller, power=Power.ADMIN)
        if made is not None:
            return answers.account(accounts.get(connection, caller, made[0]))
        account = accounts.create(connection, caller, id=id, name=body.name)
        app.audit.append(connection, caller, [_entry(AuditAction.ACCOUNT_CREATED, id)])
    return answers.account(account)


@router.get("")
def listed(app: Running, caller: Reader, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The accounts that the caller is a member of, newest first; all of them for an administrator of the tenant."""
    page = Page(app, caller, "accounts", cursor, limit)
    with app.database.read(caller, power=_power(caller)) as connection:
        found = accounts.page(connection, caller, before=page.behind_id, limit=page.reads)
    return page.answer(found, answers.account, lambda item: (item.id,))


@router.get("/{id}")
def read(app: Running, caller: Reader, id: UUID) -> dict[str, Any]:
    """One account."""
    with app.database.read(caller, power=_power(caller)) as connection:
        return answers.account(accounts.get(connection, caller, id))


@router.get("/{id}/members")
def members(app: Running, caller: Reader, id: UUID, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """Its members, in order of their ids."""
    page = Page(app, caller, f"account-members:{id}", cursor, limit)
    with app.database.read(caller, power=_power(caller)) as connection:
        found = accounts.members(connection, caller, id, after=page.behind_id, limit=page.reads)
    return page.answer(found, answers.member, lambda item: (item.subject_id,))


@router.put("/{id}/members/{subject_id}")
def put(
    app: Running, caller: Manager, id: UUID, subject_id: UUID, body: AccountMember, response: Response
) -> dict[str, Any]:
    """Make a person a member or an administrator of the account: 201 if they are new to it."""
    if subject_id == SENTINEL_SUBJECT:
        raise BadRequest("This subject stands for callers without identity. Name a person.")
    with app.database.write(caller, power=_power(caller)) as connection:
        _check(connection, caller, id)
        member, new = accounts.put_member(connection, caller, id, subject_id, body.role)
        details = {"subject_id": str(subject_id), "role": body.role.value}
        app.audit.append(connection, caller, [_entry(AuditAction.MEMBER_ADDED, id, **details)])
    response.status_code = 201 if new else 200
    return answers.member(member)


@router.delete("/{id}/members/{subject_id}", status_code=204)
def remove(app: Running, caller: Manager, id: UUID, subject_id: UUID) -> None:
    """Remove a member, or leave. They are reminded of nothing of the account from the next question on."""
    with app.database.write(caller, power=_power(caller)) as connection:
        if subject_id != caller.subject_id:
            _check(connection, caller, id)
        accounts.remove_member(connection, caller, id, subject_id)
        app.audit.append(connection, caller, [_entry(AuditAction.MEMBER_REMOVED, id, subject_id=str(subject_id))])


def _power(caller: Principal) -> Power:
    return Power.ADMIN if Role.ADMIN in caller.roles else Power.PERSON


def _check(connection: Connection, caller: Principal, id: UUID) -> None:
    if Role.ADMIN in caller.roles:
        accounts.get(connection, caller, id)
    else:
        accounts.require_admin(connection, caller, id)


def _entry(action: AuditAction, id: UUID, **details: object) -> Entry:
    return Entry(action=action, entity_type="account", entity_id=id, details=details)
