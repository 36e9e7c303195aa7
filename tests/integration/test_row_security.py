"""Every table with a tenant: each sees its own, and no statement reaches another's. Seeded as the service role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from ingatan.errors import IngatanError
from ingatan.storage import embedded, queries
from ingatan.storage.database import Database, Power, scope
from ingatan.types import Principal, new_id
from tests.conftest import TEMPLATE, Principals, people

TABLES = (
    "tenants", "subjects", "workspaces", "workspace_members", "conversations", "messages", "conversation_askers",
    "sweep_state", "sweep_abandoned", "memories", "memory_evidence", "memory_uses", "memory_embeddings", "candidates",
    "audit_heads", "audit_log", "audit_pending", "erasures", "idempotency_keys", "embedding_pending", "erased_texts",
    "suppressions", "policy_versions", "accounts", "account_members", "sources", "batches", "memory_lineage",
    "seen_events", "alerts",
)  # fmt: skip
"""In an order that foreign keys allow. ``test_every_table_is_here`` holds it against the catalogue."""
OF_TENANT = {
    "tenants", "audit_heads", "audit_log", "audit_pending", "accounts", "account_members", "seen_events", "alerts",
}  # fmt: skip
SEEN = {
    "tenants": {"person": 1, "review": 1, "audit": 1, "admin": 1, "job": 1},
    "audit_heads": {"person": 2, "review": 2, "audit": 2, "admin": 2, "job": 2},
    "accounts": {"person": 1, "admin": 2},
    "account_members": {"person": 1, "admin": 2},
    "sources": {"person": 2, "review": 2, "audit": 2, "admin": 2, "job": 2},
    "batches": {"person": 2, "review": 2, "audit": 2, "admin": 2, "job": 2},
    "seen_events": {"job": 2},
    "policy_versions": {"person": 2, "review": 2, "audit": 2, "admin": 2, "job": 2},
    "alerts": {"audit": 2, "admin": 2},
    "audit_log": {"audit": 2},
    "audit_pending": {"job": 2},
    "candidates": {"person": 1, "review": 2},
    "memory_evidence": {"person": 1, "review": 2},
    "memory_uses": {"person": 1, "job": 2},
    "idempotency_keys": {"person": 1, "job": 2},
    "sweep_state": {"person": 1, "job": 2},
    "sweep_abandoned": {"person": 1, "job": 2},
}
"""Rows Alice sees of the two that her tenant has, by power; elsewhere one as a person and none otherwise."""
WRITTEN_AS = {
    **dict.fromkeys(("policy_versions", "accounts", "account_members", "sources"), Power.ADMIN),
    "alerts": Power.JOB,
}
"""In which power rows of a table are written; elsewhere as a person."""
NEVER_DELETED = {
    "policy_versions", "alerts", "tenants", "subjects", "audit_heads", "audit_log", "erasures", "erased_texts",
    "workspaces", "conversation_askers", "accounts", "sources", "batches", "memory_lineage",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """A database with one row a table for each person, and their other parameters."""

    database: Database
    url: str
    admin: psycopg.Connection[Any]
    people: Principals
    params: dict[Principal, dict[str, Any]]


@pytest.fixture(scope="module")
def seeded(server: embedded.EmbeddedServer) -> Iterator[Seeded]:
    """Made once: what the tests do to it is undone or refused."""
    name = "test_row_security"
    server.create_database(name, template=TEMPLATE)
    database = Database(server.url(embedded.APP, name))
    database.open()
    yield from _seed(server, database, name, people())
    database.close()
    server.drop_database(name)


def _seed(
    server: embedded.EmbeddedServer, database: Database, database_name: str, principals: Principals
) -> Iterator[Seeded]:
    people = (principals.alice, principals.bob, principals.carol)
    params = {
        person: {"tenant": person.tenant_id, "subject": person.subject_id, "id": new_id(), "lane": lane}
        for lane, person in enumerate(people)
    }
    for person in people:
        with database.write(person) as connection:
            connection.run("rows.model")
        for table in TABLES:
            with database.write(person, power=WRITTEN_AS.get(table, Power.PERSON)) as connection:
                connection.run(f"rows.{table}", **params[person])
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as admin:
        yield Seeded(
            database=database,
            url=server.url(embedded.APP, database_name),
            admin=admin,
            people=principals,
            params=params,
        )


def _raw(seeded: Seeded, statement: str, opening: tuple[bytes, ...]) -> int:
    """Rows counted or affected by ``statement`` as the service role; always undone."""
    with psycopg.connect(seeded.url, autocommit=True) as driver:
        for part in (b"begin", *opening):
            driver.execute(part)
        cursor = driver.execute(statement.encode())
        affected = cursor.fetchall()[0][0] if statement.startswith("select") else cursor.rowcount
        driver.execute("rollback")
        return int(affected)


def test_every_table_is_here(seeded: Seeded) -> None:
    found = seeded.admin.execute(
        "select c.relname, c.relrowsecurity and c.relforcerowsecurity from pg_class c where relkind in ('r', 'p') and "
        "(relname = 'tenants' or exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))"
    ).fetchall()
    assert {name for name, _ in found} == set(TABLES)
    assert [name for name, forced in found if not forced] == []


@pytest.mark.parametrize("power", list(Power))
def test_each_sees_their_own(seeded: Seeded, power: Power) -> None:
    opening = scope(seeded.people.alice, power)
    seen = {table: _raw(seeded, f"select count(*) from {table}", opening) for table in TABLES}
    assert seen == {table: SEEN.get(table, {"person": 1}).get(power, 0) for table in TABLES}


@pytest.mark.parametrize(
    "opening",
    [
        (),
        (b"set local ingatan.scope = ''",),
        (b"set local ingatan.scope = '  '",),
        (b"set local ingatan.scope = '  person'",),
        (b"set local ingatan.scope = '  job'",),
        (b"set local ingatan.scope = '  audit'",),
    ],
)
def test_no_scope_sees_nothing(seeded: Seeded, opening: tuple[bytes, ...]) -> None:
    assert {table: _raw(seeded, f"select count(*) from {table}", opening) for table in TABLES} == dict.fromkeys(
        TABLES, 0
    )


@pytest.mark.parametrize("table", TABLES)
def test_no_one_writes_as_another(seeded: Seeded, table: str) -> None:
    """The insert that succeeded for Carol and Bob is refused to Alice, and so is one of her own under a wrong power."""
    people = seeded.people
    for other in (people.carol,) if table in OF_TENANT else (people.bob, people.carol):
        fresh = seeded.params[other] | {"id": new_id()}
        if table == "tenants":
            fresh["tenant"] = new_id()
        power = WRITTEN_AS.get(table, Power.PERSON)
        with pytest.raises(IngatanError, match="42501"), seeded.database.write(people.alice, power=power) as connection:
            connection.run(f"rows.{table}", **fresh)
    if table != "tenants":
        with (
            pytest.raises(IngatanError, match="42501"),
            seeded.database.write(people.alice, power=Power.AUDIT) as connection,
        ):
            connection.run(f"rows.{table}", **seeded.params[people.alice])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("power", list(Power))
def test_no_one_deletes_anothers(seeded: Seeded, table: str, power: Power) -> None:
    seen = SEEN.get(table, {"person": 1}).get(power, 0)
    try:
        gone = _raw(seeded, f"delete from {table}", scope(seeded.people.alice, power))
    except psycopg.errors.InsufficientPrivilege:
        assert table in NEVER_DELETED
    else:
        assert table not in NEVER_DELETED
        reads_only = power is Power.REVIEW or (power is Power.JOB and table in {"memory_uses", "sweep_state"})
        assert gone == (0 if reads_only else seen)


def test_a_row_cannot_be_moved_to_another(seeded: Seeded) -> None:
    alice, bob = seeded.people.alice, seeded.people.bob
    move = f"update conversations set user_id = '{bob.subject_id}'"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _raw(seeded, move, scope(alice, Power.PERSON))
    stay = f"update conversations set user_id = '{alice.subject_id}'"
    assert _raw(seeded, stay, scope(alice, Power.PERSON)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_log set action = 'x'",
        "delete from audit_log",
        "truncate audit_log",
        "update alembic_version set version_num = '0'",
        "delete from alembic_version",
        "update messages set content = 'x'",
        "alter table messages disable row level security",
        "create table mine (x int)",
        "select count(*) from leases",
        "delete from erased_texts",
    ],
)
def test_the_service_role_may_not(seeded: Seeded, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        _raw(seeded, statement, scope(seeded.people.alice, Power.PERSON))


def test_a_reviewer_decides_and_nothing_else(seeded: Seeded) -> None:
    opening = scope(seeded.people.alice, Power.REVIEW)
    assert _raw(seeded, "update candidates set decision = 'accept'", opening) == 2
    assert _raw(seeded, "update memories set importance = 1", opening) == 0


def test_jobs_see_what_has_no_content(seeded: Seeded) -> None:
    jobs = (b"set local role ingatan_jobs",)
    assert _raw(seeded, "select count(*) from sweep_state", jobs) == 3
    assert _raw(seeded, "select count(id) from tenants", jobs) == 2
    assert _raw(seeded, "select count(*) from leases", jobs) == 0
    assert _raw(seeded, "update sweep_state set fence = fence + 1", jobs) == 3
    assert _raw(seeded, "select count(*) from embedding_pending", jobs) == 3
    assert _raw(seeded, "select count(*) from sweep_abandoned", jobs) == 3
    assert _raw(seeded, "select count(*) from conversation_askers", jobs) == 3
    for keys in ("memories", "memory_embeddings", "audit_pending"):
        assert _raw(seeded, f"select count(tenant_id) from {keys}", jobs) == 3
    seen = {"sweep_state", "tenants", "embedding_pending", "sweep_abandoned", "memories", "memory_embeddings"}
    for table in sorted(set(TABLES) - seen - {"audit_pending", "conversation_askers"}):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _raw(seeded, f"select count(*) from {table}", jobs)
    for statement in (
        "select count(name) from tenants",
        "delete from sweep_state",
        "update sweep_state set last_seq = 9",
        "update conversation_askers set skip_seq = 9",
        "select count(text) from memories",
        "select count(v) from memory_embeddings",
        "select count(details) from audit_pending",
        "update memories set status = 'deleted'",
        "update memory_embeddings set version = 2",
        "delete from audit_pending",
        "update embedding_pending set version = 2",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _raw(seeded, statement, jobs)


def test_conversation_deletion_reaches_its_rows(seeded: Seeded) -> None:
    """Cascades are the owner's, who is under forced row security too: they must not be stopped by it."""
    alice = seeded.people.alice
    tables = ("messages", "sweep_state", "sweep_abandoned")
    fresh = seeded.params[alice] | {"id": new_id()}
    count = " union all ".join(f"select count(*) from {table} where conversation_id = %(id)s" for table in tables)
    with seeded.database.write(alice) as connection:
        for table in ("conversations", *tables):
            connection.run(f"rows.{table}", **fresh)
    assert seeded.admin.execute(count.encode(), fresh).fetchall() == [(1,)] * 3
    with psycopg.connect(seeded.url) as driver:
        for part in scope(alice, Power.PERSON):
            driver.execute(part)
        assert driver.execute("delete from conversations where id = %(id)s", fresh).rowcount == 1
    assert seeded.admin.execute(count.encode(), fresh).fetchall() == [(0,)] * 3


def test_seeding_covers_the_tables() -> None:
    assert {name.removeprefix("rows.") for name in queries.names() if name.startswith("rows.")} == {*TABLES, "model"}
