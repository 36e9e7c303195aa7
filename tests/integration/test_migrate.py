"""Migrations: at once, again, printed, and what is said when they cannot be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from ingatan.errors import DatabaseUnavailable, StartRefused
from ingatan.storage import embedded
from ingatan.storage.database import Database
from ingatan.storage.migrate import current_version, expected_version, migrate, migration_sql

MIGRATE = "import sys; from ingatan.storage.migrate import migrate; print(migrate(sys.stdin.read()))"


def catalogue(url: str) -> list[tuple[object, ...]]:
    """Columns, constraints, indexes, policies and grants, as the schema's likeness."""
    with psycopg.connect(url) as driver:
        return driver.execute(
            "select 'column', table_name || '.' || column_name || data_type || is_nullable"
            " || coalesce(column_default, '') from information_schema.columns where table_schema = 'public'"
            " union all select 'constraint', conrelid::regclass || pg_get_constraintdef(oid) from pg_constraint"
            " where connamespace = 'public'::regnamespace"
            " union all select 'index', indexdef from pg_indexes where schemaname = 'public'"
            " union all select 'policy', p::text from pg_policies p"
            " union all select 'grant', grantee || table_name || column_name || privilege_type"
            " from information_schema.column_privileges where table_schema = 'public'"
            " union all select 'version', version_num from alembic_version order by 1, 2"
        ).fetchall()


def test_three_replicas_at_once(server: embedded.EmbeddedServer, fresh: Callable[..., str]) -> None:
    url = server.url(embedded.OWNER, fresh("template1"))
    assert current_version(url) is None
    replicas = [
        subprocess.Popen([sys.executable, "-c", MIGRATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for replica in replicas:
        assert replica.stdin is not None
        replica.stdin.write(url)
        replica.stdin.close()
    answers = []
    for replica in replicas:
        assert replica.stdout is not None
        with replica.stdout:
            answers.append(replica.stdout.read().strip())
        assert replica.wait() == 0
    assert answers == [expected_version()] * 3
    assert current_version(url) == expected_version()


def test_again_changes_nothing(server: embedded.EmbeddedServer, database_name: str) -> None:
    url = server.url(embedded.OWNER, database_name)
    before = catalogue(url)
    assert migrate(url) == expected_version()
    assert catalogue(url) == before


def test_the_printed_sql_does_the_same(
    server: embedded.EmbeddedServer, database_name: str, fresh: Callable[..., str]
) -> None:
    by_hand = fresh("template1")
    url = server.url(embedded.OWNER, by_hand)
    with psycopg.connect(url, autocommit=True) as driver:
        driver.execute(migration_sql().encode())
    assert catalogue(url) == catalogue(server.url(embedded.OWNER, database_name))
    opened = Database(server.url(embedded.APP, by_hand))
    opened.open()
    opened.close()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[tuple[embedded.EmbeddedServer, str]]:
    """A server without our roles, and the address of an administrator 'chief' who may create none."""
    with embedded.start(tmp_path) as server:
        server.drop_database("ingatan")
        with psycopg.connect(server.url(embedded.ADMINISTRATOR, "postgres"), autocommit=True) as admin:
            for statement in (
                "drop role ingatan_app, ingatan_jobs, ingatan_owner",
                "create role chief login password 'test'",
                "create database ingatan owner chief",
            ):
                admin.execute(statement.encode())
        yield server, f"postgresql://chief:test@{server.url().partition('@')[2]}"


def test_roles_are_made_by_who_may(bare: tuple[embedded.EmbeddedServer, str]) -> None:
    server, url = bare
    with pytest.raises(StartRefused, match="Run as administrator: create role ingatan_app login"):
        migrate(url)
    assert current_version(url) is None
    with psycopg.connect(server.url(embedded.ADMINISTRATOR)) as admin:
        admin.execute("alter role chief createrole")
    migrate(url)
    with psycopg.connect(url) as chief:
        chief.execute("alter role ingatan_app password 'service'")
    opened = Database(url.replace("chief:test", "ingatan_app:service"))
    opened.open()
    with opened.jobs() as connection:
        assert connection.all("probe.tenants") == []
    opened.close()


def test_a_newer_schema_is_left_alone(server: embedded.EmbeddedServer, database_name: str) -> None:
    url = server.url(embedded.OWNER, database_name)
    with psycopg.connect(url) as driver:
        driver.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(StartRefused, match="newer"):
        migrate(url)


def test_a_role_that_may_not_is_told(server: embedded.EmbeddedServer, fresh: Callable[..., str]) -> None:
    url = server.url(embedded.APP, fresh("template1"))
    with pytest.raises(StartRefused, match="permission denied"):
        migrate(url)
    assert current_version(url) is None


def test_no_answer_is_unavailable(server: embedded.EmbeddedServer) -> None:
    with pytest.raises(DatabaseUnavailable, match="DATABASE__ADMIN_URL"):
        migrate(server.url(embedded.OWNER, "not_there"))
