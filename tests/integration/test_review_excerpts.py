"""What a reviewer's one function gives of a conversation, and what no power gets out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ingatan.storage import embedded
from ingatan.storage.database import Power, scope
from ingatan.types import Principal, new_id
from tests.serving import Service, serving
from tests.tables import Tables

SECRET = "Something nobody proposes stands here."
SAID = f"{SECRET} {'x' * 1_100}. I work at the port of Sabang. {'y' * 1_100} {SECRET}"
QUOTE = "I work at the port of Sabang"


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    environ = {"INGATAN_POLICY__PROFILE": "governed"}
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ) as running:
        yield running


@pytest.fixture
def asking(server: embedded.EmbeddedServer, database_name: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url(embedded.APP, database_name), autocommit=True) as driver:
        yield driver


@pytest.fixture
def tables(server: embedded.EmbeddedServer, database_name: str) -> Tables:
    return Tables.of(server, database_name)


def excerpts(
    driver: psycopg.Connection[Any], who: Principal, power: Power, id: UUID, characters: int = 200
) -> list[tuple[Any, ...]]:
    """What the function says to ``who``."""
    driver.execute(b"begin")
    for part in scope(who, power):
        driver.execute(part)
    rows = driver.execute("select * from ingatan_review_excerpts(%s, %s)", (id, characters)).fetchall()
    driver.execute(b"rollback")
    return rows


def waiting(service: Service) -> tuple[str, UUID]:
    """A conversation with a held candidate: its id and the candidate's."""
    ana = service.client()
    conversation = service.say(ana, SAID, SECRET)
    service.sweep()
    [item] = ana.get("/candidates", params={"state": "open"}).json()["items"]
    return conversation, UUID(item["id"])


def test_it_gives_so_much_and_to_a_reviewer_alone(service: Service, asking: psycopg.Connection[Any]) -> None:
    _, id = waiting(service)
    rita = service.principal("rita")
    [(_, quote, before, after, _)] = excerpts(asking, rita, Power.REVIEW, id)
    assert quote == QUOTE
    assert (len(before), len(after)) == (100, 100)
    for characters, most in ((0, 0), (-5, 0), (1_000_000, 1_000), (2_147_483_647, 1_000)):
        [(_, quote, before, after, _)] = excerpts(asking, rita, Power.REVIEW, id, characters)
        assert (quote, len(before) <= most, len(after) <= most) == (QUOTE, True, True)
        assert SECRET not in before + after
    for power in set(Power) - {Power.REVIEW}:
        assert excerpts(asking, rita, power, id) == []
        assert excerpts(asking, service.principal(), power, id) == []
    assert excerpts(asking, service.principal("rita", tenant="other"), Power.REVIEW, id) == []
    assert excerpts(asking, rita, Power.REVIEW, new_id()) == []


def test_a_reviewer_reads_no_message_and_no_conversation(service: Service, asking: psycopg.Connection[Any]) -> None:
    waiting(service)
    for table in ("messages", "conversations", "conversation_askers", "memories", "subjects"):
        asking.execute(b"begin")
        for part in scope(service.principal("rita"), Power.REVIEW):
            asking.execute(part)
        assert asking.execute(f"select count(*) from {table}".encode()).fetchone() == (0,)
        asking.execute(b"rollback")


@pytest.mark.parametrize(
    "change",
    [
        "update candidates set state = 'settled', payload = null",
        "update conversations set hidden_at = now()",
        "update messages set off_record = true",
        "update messages set author_id = gen_random_uuid()",
        "update messages set role = 'assistant'",
        "update candidates set message_ids = '{}'",
        "update candidates set conversation_id = gen_random_uuid()",
        "update candidates set payload = jsonb_set(payload, '{candidate,evidence,0,quote}', '\"not there\"')",
        "update candidates set payload = jsonb_set(payload, '{candidate,evidence,0,quote}', '\"\"')",
    ],
)
def test_nothing_is_given_where_it_may_not_be_read(
    service: Service, asking: psycopg.Connection[Any], tables: Tables, change: str
) -> None:
    _, id = waiting(service)
    rita = service.principal("rita")
    assert len(excerpts(asking, rita, Power.REVIEW, id)) == 1
    tables.run(change)
    assert excerpts(asking, rita, Power.REVIEW, id) == []


def test_the_other_functions_act_for_the_job_alone(service: Service, asking: psycopg.Connection[Any]) -> None:
    waiting(service)
    calls = (
        b"select count(*) from ingatan_expire_candidates('infinity', 10)",
        b"select count(*) from ingatan_unusual(now(), 1, 1, 1, 1, 1, 1)",
    )
    for call in calls:
        for power in (Power.PERSON, Power.REVIEW, Power.ADMIN, Power.AUDIT):
            asking.execute(b"begin")
            for part in scope(service.principal(), power):
                asking.execute(part)
            assert asking.execute(call).fetchone() == (0,)
            asking.execute(b"rollback")
