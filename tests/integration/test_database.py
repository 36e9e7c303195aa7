"""Scope, transactions, round trips and errors of the way to a row."""

from __future__ import annotations

import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pytest

from ingatan.errors import Conflict, DatabaseUnavailable, IngatanError
from ingatan.settings import Prepared
from ingatan.storage import embedded
from ingatan.storage.database import Database, Power, json_value
from ingatan.types import Principal, new_id
from tests.conftest import Principals

CANARY = "canary-4711"
EMPTY = ("", "", "")


@pytest.fixture
def single(server: embedded.EmbeddedServer, database_name: str) -> Iterator[Database]:
    """The test's database through one connection, so that every borrower gets the same."""
    opened = Database(server.url(embedded.APP, database_name), pool_size=1, timeout_seconds=2)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def admin(server: embedded.EmbeddedServer, database_name: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as driver:
        yield driver


def leftover(database: Database) -> tuple[str, str, str]:
    """What the next borrower of the only connection finds of an earlier scope."""
    with database.jobs() as connection:
        row = connection.one("probe.scope")
        assert row is not None
        assert row.role == "ingatan_jobs"
        return row.tenant or "", row.subject or "", row.power or ""


def trips(database: Database, act: Callable[[], object]) -> int:
    """Round trips of ``act`` on the only connection: how often the client told the server to sync or to run at once."""
    with tempfile.TemporaryFile("w+") as file:
        with database._borrowed() as driver:
            driver.pgconn.trace(file.fileno())
        act()
        with database._borrowed() as driver:
            driver.pgconn.untrace()
        file.seek(0)
        sent = [line.split("\t") for line in file.read().splitlines()]
    return sum(1 for parts in sent if "F" in parts and {"Sync", "Query"} & set(parts))


def test_the_scope_is_the_transactions(single: Database, principals: Principals) -> None:
    alice = principals.alice
    with single.write(alice, power=Power.REVIEW) as connection:
        row = connection.one("probe.scope")
        assert row is not None
        assert (row.tenant, row.subject, row.power) == (str(alice.tenant_id), str(alice.subject_id), "review")
        assert row.role == "ingatan_app"
    assert leftover(single) == EMPTY


def test_the_scope_is_gone_after_an_exception(single: Database, principals: Principals) -> None:
    def request() -> None:
        with single.write(principals.alice) as connection:
            connection.run("rows.subjects", tenant=principals.alice.tenant_id, subject=principals.alice.subject_id)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        request()
    assert leftover(single) == EMPTY
    assert single.fetch(principals.alice, "probe.subjects") == []


def test_the_scope_is_gone_after_a_failed_statement(single: Database, principals: Principals) -> None:
    for attempt in (
        lambda: single.fetch(principals.alice, "probe.failing", value="x"),
        lambda: _run(single, principals.alice, "probe.failing", value="x"),
        lambda: single.fetch(principals.alice, "probe.echo", value="\x00"),
        lambda: _run(single, principals.alice, "probe.echo", value="\ud800"),
        lambda: single.fetch(principals.alice, "probe.echo"),
    ):
        with pytest.raises(IngatanError):
            attempt()
        assert leftover(single) == EMPTY


def test_the_scope_is_gone_after_a_cancelled_request(
    single: Database, principals: Principals, admin: psycopg.Connection[Any]
) -> None:
    failures: list[BaseException] = []

    def request() -> None:
        try:
            _run(single, principals.alice, "probe.sleeping", seconds=30)
        except IngatanError as error:
            failures.append(error)

    thread = threading.Thread(target=request)
    thread.start()
    cancel = (
        "select pg_cancel_backend(pid) from pg_stat_activity where query like '%pg_sleep(%' and pid <> pg_backend_pid()"
    )
    while not admin.execute(cancel.encode()).fetchall():
        pass
    thread.join(10)
    assert [type(error) for error in failures] == [DatabaseUnavailable]
    assert leftover(single) == EMPTY


def test_an_abandoned_reader_leaves_nothing(single: Database, principals: Principals) -> None:
    """A generator that holds a transaction and is closed before its end, as a dropped response is."""

    def stream() -> Iterator[int]:
        with single.write(principals.alice) as connection:
            yield len(connection.all("probe.subjects"))

    running = stream()
    assert next(running) == 0
    running.close()  # type: ignore[attr-defined]
    assert leftover(single) == EMPTY


def _run(database: Database, principal: Principal, name: str, **params: Any) -> int:
    with database.write(principal) as connection:
        return connection.run(name, **params)


def test_only_uuids_make_a_scope(database: Database) -> None:
    wrong = Principal("' or true --", new_id())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        database.read(wrong)
    with pytest.raises(TypeError):
        database.fetch(Principal(new_id(), None), "probe.subjects")  # type: ignore[arg-type]


def test_round_trips(single: Database, principals: Principals) -> None:
    alice = principals.alice
    own = {"tenant": alice.tenant_id}

    def one_query() -> None:
        with single.read(alice) as connection:
            connection.all("probe.subjects")

    def batch() -> None:
        with single.write(alice) as connection, connection.pipeline():
            connection.run("rows.tenants", **own)
            connection.run("rows.subjects", **own, subject=alice.subject_id)
            connection.run("rows.audit_heads", **own, lane=1)

    def nothing() -> None:
        with single.write(alice):
            pass

    assert trips(single, lambda: single.fetch(alice, "probe.subjects")) == 1
    assert trips(single, one_query) == 2
    assert trips(single, batch) == 2
    assert trips(single, nothing) == 0
    assert len(single.fetch(alice, "probe.subjects")) == 1


def test_many_in_one_trip(single: Database, principals: Principals) -> None:
    bob = principals.bob
    rows = [{"tenant": bob.tenant_id, "lane": lane} for lane in range(5)]
    affected: list[int] = []

    def write() -> None:
        with single.write(bob) as connection:
            affected.append(connection.many("rows.audit_heads", rows))
            affected.append(connection.many("rows.audit_heads", []))
            affected.append(connection.many("rows.audit_heads", [{"tenant": bob.tenant_id, "lane": 9}]))

    assert trips(single, write) == 3
    assert affected == [5, 0, 1]


def test_a_pipeline_that_fails_writes_nothing(single: Database, principals: Principals) -> None:
    alice = principals.alice

    def request() -> None:
        with single.write(alice) as connection, connection.pipeline():
            connection.run("rows.subjects", tenant=alice.tenant_id, subject=alice.subject_id)
            connection.run("rows.audit_heads", tenant=alice.tenant_id, lane=1)
            connection.run("rows.audit_heads", tenant=alice.tenant_id, lane=1)

    with pytest.raises(Conflict, match="audit_heads_pkey"):
        request()
    assert single.fetch(alice, "probe.subjects") == []
    assert leftover(single) == EMPTY


def test_one_and_run(database: Database, principals: Principals) -> None:
    with database.write(principals.alice) as connection:
        assert connection.one("probe.subjects") is None
        assert (
            connection.run("rows.subjects", tenant=principals.alice.tenant_id, subject=principals.alice.subject_id) == 1
        )
        assert connection.one("probe.subjects") == (principals.alice.tenant_id, principals.alice.subject_id)
        for lane in (1, 2):
            connection.run("rows.tenants", tenant=principals.alice.tenant_id, lane=lane)
    with database.jobs() as connection:
        assert len(connection.all("probe.tenants")) == 1
        with pytest.raises(IngatanError, match="several rows"):
            connection.one("probe.two")


def test_a_reader_cannot_write(database: Database, principals: Principals) -> None:
    with pytest.raises(IngatanError, match="25006"), database.read(principals.alice) as connection:
        connection.run("rows.tenants", tenant=principals.alice.tenant_id)


def test_a_swallowed_failure_does_not_commit(database: Database, principals: Principals) -> None:
    alice = principals.alice

    def request() -> None:
        with database.write(alice) as connection:
            connection.run("rows.subjects", tenant=alice.tenant_id, subject=alice.subject_id)
            with pytest.raises(Conflict):
                connection.run("rows.subjects", tenant=alice.tenant_id, subject=alice.subject_id)

    with pytest.raises(IngatanError, match="ignored"):
        request()
    assert database.fetch(alice, "probe.subjects") == []


def test_durability_is_the_transactions(single: Database, principals: Principals) -> None:
    def setting(durable: bool) -> str:
        with single.write(principals.alice, durable=durable) as connection:
            row = connection.one("probe.scope")
            assert row is not None
            return str(row.synchronous_commit)

    assert [setting(False), setting(True)] == ["off", "on"]


def test_values_come_back(database: Database, principals: Principals) -> None:
    ids = [new_id(), new_id()]
    for vector in (np.array([0.5, -2], dtype=np.float32), np.array([[0.5, 1], [-2, 1]], dtype=np.float32)[:, 0]):
        row = database.fetch(
            principals.alice,
            "probe.types",
            document={"a": ["ế", 1, None]},
            ids=ids,
            vector=vector,
            documents=json_value([{"b": 1}]),
        )[0]
        assert (row.document, row.ids, row.documents) == ({"a": ["ế", 1, None]}, ids, [{"b": 1}])
        assert (row.vector.tolist(), row.vector.dtype) == ([0.5, -2.0], np.float32)
        assert row.remainder == 2


def test_times_are_utc_wherever_the_server_is(
    server: embedded.EmbeddedServer, database_name: str, principals: Principals
) -> None:
    with psycopg.connect(server.url(embedded.OWNER, database_name)) as owner:
        owner.execute(f"alter database {database_name} set timezone = 'Asia/Jakarta'".encode())
    database = Database(server.url(embedded.APP, database_name), pool_size=1)
    database.open()
    for value in (datetime(2026, 11, 29, 5, 6, 7, 8, tzinfo=UTC), datetime(1999, 12, 31, 23, tzinfo=UTC)):
        row = database.fetch(principals.alice, "probe.time", value=value)[0]
        assert (row.zone, row.value, row.value.tzinfo) == ("Asia/Jakarta", value, UTC)
    with pytest.raises(IngatanError, match="OverflowError"):
        database.fetch(principals.alice, "probe.endless")
    database.close()


def test_vietnamese_is_lower_cased(database: Database, principals: Principals) -> None:
    assert database.fetch(principals.alice, "probe.lower", value="ĐÀ NẴNG")[0].value == "đà nẵng"


@pytest.mark.parametrize("value", [CANARY, "\x00" + CANARY, "\ud800" + CANARY])
def test_an_error_carries_no_text(
    database: Database, principals: Principals, server: embedded.EmbeddedServer, value: str
) -> None:
    for attempt in (
        lambda: database.fetch(principals.alice, "probe.failing", value=value),
        lambda: _run(database, principals.alice, "probe.failing", value=value),
        lambda: _run(
            database,
            principals.alice,
            "probe.add_candidate",
            tenant=principals.alice.tenant_id,
            subject=principals.alice.subject_id,
            id=new_id(),
            decision=value,
            payload={"text": value},
        ),
    ):
        with pytest.raises(IngatanError) as caught:
            attempt()
        told = "".join(traceback.format_exception(caught.value))
        assert "probe." in str(caught.value)
        assert CANARY not in told
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    log = server.log.read_text(encoding="utf-8")
    assert "ready to accept connections" in log
    assert CANARY not in log


def test_a_pipeline_that_is_left_writes_nothing(single: Database, principals: Principals) -> None:
    alice = principals.alice

    def request() -> None:
        with single.write(alice) as connection, connection.pipeline():
            assert connection.run("rows.subjects", tenant=alice.tenant_id, subject=alice.subject_id) == -1
            assert connection.many("rows.audit_heads", [{"tenant": alice.tenant_id, "lane": 1}]) == -1
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        request()
    assert single.fetch(alice, "probe.subjects") == []
    assert leftover(single) == EMPTY


def test_the_driver_logs_no_text(database: Database, principals: Principals, caplog: pytest.LogCaptureFixture) -> None:
    """Where two errors meet, the driver reports one of them to its log, text and all."""

    def request() -> None:
        with database.write(principals.alice) as connection, connection.pipeline():
            connection.run("probe.failing", value=CANARY)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        request()
    assert CANARY not in caplog.text


def test_a_missing_parent_is_a_conflict(database: Database, principals: Principals) -> None:
    alice = principals.alice
    with database.write(alice) as connection:
        connection.run("rows.model")
    with pytest.raises(Conflict, match="fkey"):
        _run(database, alice, "rows.memory_embeddings", tenant=alice.tenant_id, subject=alice.subject_id, id=new_id())


def test_a_message_needs_an_own_conversation(database: Database, principals: Principals) -> None:
    with pytest.raises(IngatanError, match="42501"):
        _run(
            database,
            principals.alice,
            "probe.add_message",
            tenant=principals.alice.tenant_id,
            id=new_id(),
            conversation=new_id(),
            content="x",
        )


def test_a_lost_connection_is_unavailable_and_then_well(
    single: Database, principals: Principals, admin: psycopg.Connection[Any], database_name: str
) -> None:
    alice = principals.alice
    end = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s and usename = 'ingatan_app'"

    def request() -> None:
        with single.write(alice) as connection:
            connection.run("rows.subjects", tenant=alice.tenant_id, subject=alice.subject_id)
            admin.execute(end, (database_name,))
            connection.all("probe.subjects")

    with pytest.raises(DatabaseUnavailable):
        request()
    assert single.fetch(alice, "probe.subjects") == []
    admin.execute(end, (database_name,))
    with pytest.raises(DatabaseUnavailable):
        single.fetch(alice, "probe.subjects")
    assert single.fetch(alice, "probe.subjects") == []


def test_a_full_pool_is_unavailable(single: Database, principals: Principals) -> None:
    with single.read(principals.alice), pytest.raises(DatabaseUnavailable):
        single.fetch(principals.alice, "probe.subjects")
    assert single.fetch(principals.alice, "probe.subjects") == []


def test_without_prepared_statements(
    server: embedded.EmbeddedServer, database_name: str, principals: Principals
) -> None:
    """For poolers that hand a connection on after each transaction: nothing is left on the session."""
    database = Database(server.url(embedded.APP, database_name), pool_size=1, prepared=Prepared.OFF)
    database.open()
    try:
        for _ in range(8):
            database.fetch(principals.alice, "probe.subjects")
        with database._borrowed() as driver:
            assert driver.execute("select count(*) from pg_prepared_statements").fetchall()[0][0] == 0
    finally:
        database.close()
