"""Row-level security of a workspace: who reads, who appends, who changes, who is out at once. As the service role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ingatan.storage import embedded
from ingatan.storage.database import Database, Power, scope
from ingatan.types import Principal, new_id
from tests.conftest import TEMPLATE

READABLE = ("workspaces", "conversations", "messages", "conversation_askers", "sweep_state")


@dataclass(frozen=True, kw_only=True)
class Team:
    """Ana owns the workspace, Bea made the conversation and asked in it, Cia is a member; Dan and Eve are not."""

    database: Database
    url: str
    ana: Principal
    bea: Principal
    cia: Principal
    dan: Principal
    eve: Principal
    workspace: UUID
    conversation: UUID

    def raw(self, who: Principal, statement: str, params: Sequence[Any] = (), power: Power = Power.PERSON) -> int:
        """Rows counted or affected by ``statement`` in the scope of ``who``; always undone."""
        with psycopg.connect(self.url, autocommit=True) as driver:
            for part in (b"begin", *scope(who, power)):
                driver.execute(part)
            cursor = driver.execute(statement.encode(), params)
            affected = cursor.fetchall()[0][0] if statement.startswith("select") else cursor.rowcount
            driver.execute("rollback")
            return int(affected)

    def seen(self, who: Principal) -> dict[str, int]:
        """How many rows of each readable table ``who`` sees."""
        return {table: self.raw(who, f"select count(*) from {table}") for table in READABLE}


@pytest.fixture(scope="module")
def team(server: embedded.EmbeddedServer) -> Iterator[Team]:
    """Made once: what the tests do to it is undone or refused."""
    name = "test_workspace_security"
    server.create_database(name, template=TEMPLATE)
    with opened(server, name) as made:
        yield made
    server.drop_database(name)


@contextmanager
def opened(server: embedded.EmbeddedServer, name: str) -> Iterator[Team]:
    """A team on a database of its own."""
    database = Database(server.url(embedded.APP, name))
    database.open()
    tenant = new_id()
    ana, bea, cia, dan = (Principal(tenant, new_id()) for _ in range(4))
    workspace, conversation = new_id(), new_id()
    made = Team(
        database=database,
        url=server.url(embedded.APP, name),
        ana=ana,
        bea=bea,
        cia=cia,
        dan=dan,
        eve=Principal(new_id(), new_id()),
        workspace=workspace,
        conversation=conversation,
    )
    keys = {"tenant": tenant, "id": workspace}
    with database.write(ana) as connection:
        connection.run("rows.tenants", tenant=tenant)
        connection.run("rows.workspaces", **keys, subject=ana.subject_id)
        connection.run("rows.workspace_members", **keys, subject=ana.subject_id)
        for person in (bea, cia):
            connection.run("rows.workspace_members", **keys, subject=person.subject_id)
    with database.write(bea) as connection:
        connection.run(
            "probe.add_conversation", tenant=tenant, id=conversation, subject=bea.subject_id, workspace=workspace
        )
        row = {"tenant": tenant, "id": conversation, "subject": bea.subject_id}
        for table in ("messages", "conversation_askers", "sweep_state"):
            connection.run(f"rows.{table}", **row)
    yield made
    database.close()


def test_members_read_and_nobody_else(team: Team) -> None:
    for person in (team.ana, team.bea, team.cia):
        assert team.seen(person) == dict.fromkeys(READABLE, 1)
        assert team.raw(person, "select count(*) from workspace_members") == 3
    for person in (team.dan, team.eve):
        assert team.seen(person) == dict.fromkeys(READABLE, 0)
        assert team.raw(person, "select count(*) from workspace_members") == 0
    for power in (Power.REVIEW, Power.AUDIT):
        assert team.raw(team.ana, "select count(*) from conversations", power=power) == 0


def test_a_removed_member_is_out_at_the_next_statement(server: embedded.EmbeddedServer, database_name: str) -> None:
    with opened(server, database_name) as team:
        remove = "delete from workspace_members where subject_id = %s"
        with psycopg.connect(team.url, autocommit=True) as theirs:
            for part in (b"begin", *scope(team.bea, Power.PERSON)):
                theirs.execute(part)
            count = "select count(*) from messages"
            assert theirs.execute(count).fetchall() == [(1,)]
            with psycopg.connect(team.url) as owners:
                for part in scope(team.ana, Power.PERSON):
                    owners.execute(part)
                assert owners.execute(remove, [team.bea.subject_id]).rowcount == 1
            assert theirs.execute(count).fetchall() == [(0,)]
        assert team.seen(team.bea) == dict.fromkeys(READABLE, 0) | {"conversation_askers": 1}, "the maker is out too"
        assert team.seen(team.cia) == dict.fromkeys(READABLE, 1)
        mine = "update conversation_askers set skip_seq = last_seq"
        assert team.raw(team.bea, mine) == 1, "one's own words can be skipped even when they are out of sight"
        assert team.raw(team.cia, mine) == 0


MESSAGE = (
    "insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, created_at) "
    "values (%s, gen_random_uuid(), %s, 2, %s, 'user', 'words', now())"
)


def test_members_append_in_their_own_name_only(team: Team) -> None:
    keys = [team.ana.tenant_id, team.conversation]
    assert team.raw(team.cia, MESSAGE, [*keys, team.cia.subject_id]) == 1
    for who, author in ((team.cia, team.bea), (team.ana, team.bea), (team.dan, team.dan), (team.eve, team.eve)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            team.raw(who, MESSAGE, [*keys, author.subject_id])


@pytest.mark.parametrize(
    ("change", "member_may"),
    [
        ("title = 'x'", False),
        ("off_record = true", False),
        ("hidden_at = now()", False),
        ("metadata = '{\"a\": 1}'", False),
        ("last_seq = last_seq + 1, updated_at = now()", True),
    ],
)
def test_only_the_maker_and_the_owner_change_a_conversation(team: Team, change: str, member_may: bool) -> None:
    statement = f"update conversations set {change}"
    assert team.raw(team.ana, statement) == 1
    assert team.raw(team.bea, statement) == 1
    assert team.raw(team.dan, statement) == 0
    if member_may:
        assert team.raw(team.cia, statement) == 1
        return
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        team.raw(team.cia, statement)


@pytest.mark.parametrize("change", ["workspace_id = null", "user_id = '{ana}'"])
def test_a_conversation_stays_where_and_whose_it_is(team: Team, change: str) -> None:
    statement = f"update conversations set {change.format(ana=team.ana.subject_id)}"
    for person in (team.ana, team.bea, team.cia):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            team.raw(person, statement)


@pytest.mark.parametrize("table", ["conversations", "messages"])
def test_only_the_maker_and_the_owner_delete(team: Team, table: str) -> None:
    statement = f"delete from {table}"
    deleted = {name: team.raw(getattr(team, name), statement) for name in ("ana", "bea", "cia", "dan", "eve")}
    assert deleted == {"ana": 1, "bea": 1, "cia": 0, "dan": 0, "eve": 0}


def test_only_the_owner_manages_members(team: Team) -> None:
    add = "insert into workspace_members (tenant_id, workspace_id, subject_id, role) values (%s, %s, %s, 'member')"
    row = [team.ana.tenant_id, team.workspace, team.dan.subject_id]
    assert team.raw(team.ana, add, row) == 1
    for person in (team.bea, team.cia, team.dan, team.eve):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            team.raw(person, add, row)
    removed = {name: team.raw(getattr(team, name), "delete from workspace_members") for name in ("ana", "bea", "dan")}
    assert removed == {"ana": 3, "bea": 1, "dan": 0}, "whoever is a member may leave"
    rename = "update workspaces set name = 'x'"
    assert [team.raw(person, rename) for person in (team.ana, team.bea, team.dan)] == [1, 0, 0]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        team.raw(team.ana, f"update workspaces set owner_id = '{team.bea.subject_id}'")


def test_nobody_starts_a_conversation_in_a_workspace_of_others(team: Team) -> None:
    for person in (team.dan, team.eve):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            team.raw(
                person,
                "insert into conversations (tenant_id, id, user_id, workspace_id) values (%s, %s, %s, %s)",
                [person.tenant_id, new_id(), person.subject_id, team.workspace],
            )


def test_a_transaction_goes_from_person_to_person_and_sees_each_ones_own(team: Team) -> None:
    with team.database.write(team.bea) as connection:
        connection.enter(team.dan)
        assert connection.all("probe.count_conversations")[0].n == 0
        connection.enter(team.cia)
        assert connection.all("probe.count_conversations")[0].n == 1
        assert connection.all("probe.scope")[0].subject == str(team.cia.subject_id)
        connection.enter(team.eve)
        assert connection.all("probe.count_conversations")[0].n == 0
    with team.database.read(team.bea) as connection:
        assert connection.all("probe.scope")[0].subject == str(team.bea.subject_id)
