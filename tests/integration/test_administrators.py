"""The administrators' page, run block by block on a real service's database; and what erasing by SQL leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ingatan.storage import embedded
from ingatan.storage.database import Power
from tests.serving import Service

PAGE = Path(__file__).parents[2] / "docs" / "administrators.md"
BLOCK = re.compile(r"^```sql( superuser)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORK = "I work at the port of Sabang"
SHORT = "I prefer short answers"


def remember(service: Service, name: str = "ana") -> str:
    """Two memories from a conversation and one stated directly; returns the conversation's id."""
    client = service.client(name)
    said = service.say(client, WORK, SHORT)
    service.sweep()
    stated = {"text": "I use QGIS every week", "type": "fact", "source": {"kind": "self"}}
    client.post("/candidates", json=stated).raise_for_status()
    assert len(service.remembered(client)) == 3
    return said


def run(driver: psycopg.Connection[Any], statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    cursor = driver.execute(sql.SQL(statement))
    names = [column.name for column in cursor.description or ()]
    return names, cursor.fetchall() if cursor.description else []


@pytest.fixture
def superuser(server: embedded.EmbeddedServer, database_name: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as driver:
        yield driver
        driver.execute("drop role if exists dina")


@pytest.fixture
def dba(superuser: psycopg.Connection[Any], service: Service) -> Iterator[psycopg.Connection[Any]]:
    """A connection with the rights of a member of ``ingatan_dba`` and no others."""
    superuser.execute("set role ingatan_dba")
    yield superuser
    superuser.execute("reset role")


def test_every_block_of_the_page_runs_and_answers(
    service: Service, server: embedded.EmbeddedServer, database_name: str, superuser: psycopg.Connection[Any]
) -> None:
    said = remember(service)
    subject = str(service.principal("ana").subject_id)
    blocks = [(bool(who), text.replace("<user>", subject)) for who, text in BLOCK.findall(PAGE.read_text("utf-8"))]
    assert len(blocks) >= 9
    answers: dict[str, list[tuple[Any, ...]]] = {}
    for as_superuser, text in blocks:
        if not as_superuser:
            superuser.execute("set session authorization dina")
        for statement in filter(str.strip, text.split(";\n")):
            answers[statement.strip().rstrip(";")] = run(superuser, statement)[1]
        superuser.execute("reset session authorization")
    found = {key: rows for key, rows in answers.items() if rows}
    active = next(rows for key, rows in found.items() if key.startswith("select type, text"))
    assert {row[1] for row in active} == {WORK, SHORT, "I use QGIS every week"}
    assert {str(row[3]) for row in active if row[1] == WORK} == {said}
    assert found["select status, count(*) from user_memory group by status"] == [("active", 3)]
    assert any(key.startswith("select id,") for key in found), "the keys in conversations.metadata"
    assert any("messages_createdAt_idx" in key for key in found)
    assert [row for key, rows in found.items() if "ai_engine_audit_log" in key for row in rows]
    assert answers[f"select erase_user_memory('{subject}')"] == [(0,)], "the block before erased everything"
    assert service.remembered(service.client("ana")) == []


def test_a_dba_sees_two_views_and_nothing_else(dba: psycopg.Connection[Any], service: Service) -> None:
    remember(service)
    names, rows = run(dba, "select * from user_memory")
    assert {"userId", "type", "text", "embedding", "importance", "status", "sourceConversationId"} <= set(names)
    assert "sourceMessageIds" in names
    assert all(row[names.index("embedding")] for row in rows)
    for table in ("memories", "messages", "conversations", "candidates", "audit_log", "erased_texts"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(dba, f"select * from {table}")
    for statement in ("update user_memory set text = 'x'", "delete from ai_engine_audit_log"):
        with pytest.raises(psycopg.errors.Error):
            run(dba, statement)


@pytest.mark.parametrize("view", ["user_memory", "ai_engine_audit_log"])
def test_the_service_role_sees_no_view(server: embedded.EmbeddedServer, database_name: str, view: str) -> None:
    with psycopg.connect(server.url(embedded.APP, database_name)) as driver:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(driver, f"select * from {view}")
        driver.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(driver, "select erase_user_memory(gen_random_uuid())")


TRACES = (
    "memories", "memory_evidence", "memory_embeddings", "memory_uses", "embedding_pending", "candidates",
)  # fmt: skip


def traces(driver: psycopg.Connection[Any], service: Service, name: str) -> dict[str, int]:
    """Rows of one person's tenant by table, seen without row-level security."""
    driver.execute("reset role")
    tenant = service.principal(name).tenant_id
    counted = {}
    for table in TRACES:
        count = sql.SQL("select count(*) from {} where tenant_id = %s").format(sql.Identifier(table))
        counted[table] = int(driver.execute(count, [tenant]).fetchall()[0][0])
    driver.execute("set role ingatan_dba")
    return counted


@pytest.mark.parametrize("how", ["delete from user_memory where \"userId\" = '{}'", "select erase_user_memory('{}')"])
def test_erasing_by_sql_leaves_what_an_erasure_leaves(dba: psycopg.Connection[Any], service: Service, how: str) -> None:
    ana, bob = service.client("ana"), service.client("bob")
    said = remember(service)
    service.say(bob, "I work at the airport.")
    service.sweep()
    ana.post("/recall", json={"query": "port"}).raise_for_status()
    service.app.seal()
    before_bob = service.remembered(bob)
    run(dba, how.format(service.principal("ana").subject_id))
    assert service.remembered(ana) == []
    assert service.remembered(bob) == before_bob
    left = traces(dba, service, "ana")
    assert left == {**dict.fromkeys(TRACES, 0)} | {
        "memories": 1, "memory_evidence": 1, "memory_embeddings": 1, "memory_uses": 1, "candidates": 1
    }, "Bob's one memory, and nothing of Ana's"  # fmt: skip
    service.app.seal()
    audited = run(dba, "select details from ai_engine_audit_log where action = 'memory_erasure'")[1]
    assert {row[0]["reason"] for row in audited} == {"administrator"}
    assert WORK not in str(audited)
    # Said before the erasure, in words or in their turns: not learned again. Said anew: learned.
    dba.execute("reset role")
    dba.execute("update sweep_state set done_seq = 0, attempts = 0")
    service.sweep()
    assert service.remembered(ana) == []
    service.say(ana, WORK, conversation_id=said)
    service.sweep()
    assert [item["text"] for item in service.remembered(ana)] == [WORK]


def test_one_version_erased_leaves_the_others(dba: psycopg.Connection[Any], service: Service) -> None:
    ana = service.client("ana")
    remember(service)
    id = next(item["id"] for item in service.remembered(ana) if item["text"] == WORK)
    ana.patch(f"/memories/{id}", json={"text": "I work at the harbour of Sabang."}).raise_for_status()
    run(dba, "delete from user_memory where status = 'superseded'")
    assert [row[0] for row in run(dba, f"select status from user_memory where id = '{id}'")[1]] == ["active"]
    assert len(service.remembered(ana)) == 3


def test_what_is_in_flight_does_not_survive_an_erasure_by_sql(dba: psycopg.Connection[Any], service: Service) -> None:
    """The epoch is raised, so that a commit that read before finds it changed."""
    remember(service)
    dba.execute("reset role")
    epochs = "select erasure_epoch from subjects order by erasure_epoch desc limit 1"
    before = run(dba, epochs)[1]
    dba.execute("set role ingatan_dba")
    run(dba, f"delete from user_memory where \"userId\" = '{service.principal('ana').subject_id}'")
    dba.execute("reset role")
    assert run(dba, epochs)[1] > before


def test_rows_of_unknown_types_are_never_served_and_go_with_their_person(
    dba: psycopg.Connection[Any], service: Service
) -> None:
    ana = service.client("ana")
    remember(service)
    dba.execute("reset role")
    dba.execute("update memories set type = 'reflection' where text = %s", [WORK])
    assert WORK not in {item["text"] for item in service.remembered(ana)}
    recalled = ana.post("/recall", json={"query": "port of Sabang"}).json()["memories"]
    assert WORK not in {item["text"] for item in recalled}
    dba.execute("set role ingatan_dba")
    assert ("reflection", "active", 1) in run(dba, "select type, status, count(*) from user_memory group by 1, 2")[1]
    ana.delete("/memories").raise_for_status()
    assert run(dba, "select count(*) from user_memory")[1] == [(0,)]


def test_a_receipt_is_kept_without_text(dba: psycopg.Connection[Any], service: Service) -> None:
    remember(service)
    run(dba, f"delete from user_memory where \"userId\" = '{service.principal('ana').subject_id}'")
    dba.execute("reset role")
    receipts = run(dba, "select receipt from erasures where reason = 'administrator'")[1]
    assert len(receipts) == 1, "one a person and transaction"
    assert receipts[0][0]["removed"]["versions"] == 3
    assert receipts[0][0]["removed"]["vectors"] == 3
    assert WORK not in str(receipts)


def test_the_chain_stays_sound(service: Service, dba: psycopg.Connection[Any]) -> None:
    remember(service)
    run(dba, f"delete from user_memory where \"userId\" = '{service.principal('ana').subject_id}'")
    assert service.app.seal() >= 3
    who = service.principal("ana")
    with service.app.database.read(who, power=Power.AUDIT) as connection:
        assert service.app.audit.verify(connection, who.tenant_id).sound
