"""On which database, and as which role, the service may start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from ingatan.errors import DatabaseUnavailable, StartRefused
from ingatan.storage import checks, embedded
from ingatan.storage.database import Database
from ingatan.storage.migrate import expected_version, migrate

PASSWORD = "test"


@pytest.fixture
def role(server: embedded.EmbeddedServer, database_name: str) -> Iterator[Callable[[str], str]]:
    """Make a role 'probe_role' by running a statement more; returns its address."""
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as admin:

        def make(statement: str) -> str:
            admin.execute(f"create role probe_role login password '{PASSWORD}' in role ingatan_app".encode())
            admin.execute(statement.encode())
            address = server.url(embedded.APP, database_name).partition("@")[2]
            return f"postgresql://probe_role:{PASSWORD}@{address}"

        yield make
        admin.execute("reset role")
        admin.execute("reassign owned by probe_role to postgres")
        admin.execute("drop owned by probe_role")
        admin.execute("drop role probe_role")


@pytest.mark.parametrize("privileged", [embedded.OWNER, embedded.ADMINISTRATOR])
def test_owner_and_superuser_are_refused(server: embedded.EmbeddedServer, database_name: str, privileged: str) -> None:
    with pytest.raises(StartRefused, match="DATABASE__URL"):
        Database(server.url(privileged, database_name)).open()


@pytest.mark.parametrize(
    "statement",
    [
        "alter role probe_role bypassrls",
        "alter role probe_role superuser",
        "grant ingatan_owner to probe_role",
        "grant ingatan_owner to probe_role with inherit false, set true",
        "grant postgres to probe_role",
        "grant ingatan_jobs to probe_role with inherit true",
        "alter table leases owner to probe_role",
    ],
)
def test_more_than_the_service_needs_is_refused(role: Callable[[str], str], statement: str) -> None:
    with pytest.raises(StartRefused, match="probe_role"):
        Database(role(statement)).open()


def test_another_role_of_the_same_rights_may(role: Callable[[str], str]) -> None:
    database = Database(role("select 1"))
    database.open()
    with database.jobs() as connection:
        assert connection.all("probe.tenants") == []
    database.close()


REPAIRED = {
    "alter role probe_role bypassrls": "alter role probe_role nobypassrls",
    "alter role probe_role superuser": "alter role probe_role nosuperuser",
    "grant ingatan_owner to probe_role": "revoke ingatan_owner from probe_role",
    "grant ingatan_jobs to probe_role with inherit true": "revoke ingatan_jobs from probe_role",
    "alter table leases owner to probe_role": "alter table leases owner to ingatan_owner",
    "revoke ingatan_app from probe_role": "grant ingatan_app to probe_role",
}
"""What is wrong with a role, and what mends just that."""


@pytest.mark.parametrize("fault", REPAIRED)
def test_a_role_without_its_one_fault_may(
    role: Callable[[str], str], server: embedded.EmbeddedServer, database_name: str, fault: str
) -> None:
    url = role(fault)
    with pytest.raises(StartRefused, match="probe_role"):
        checks.check(url, timeout_seconds=5)
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as admin:
        admin.execute(REPAIRED[fault].encode())
    checks.check(url, timeout_seconds=5)


def test_a_schema_brought_to_the_version_is_accepted(
    server: embedded.EmbeddedServer, fresh: Callable[..., str]
) -> None:
    empty = fresh("template1")
    with pytest.raises(StartRefused, match="ingatan migrate"):
        checks.check(server.url(embedded.APP, empty), timeout_seconds=5)
    migrate(server.url(embedded.OWNER, empty))
    checks.check(server.url(embedded.APP, empty), timeout_seconds=5)
    for version in ("0001", "9999"):
        with pytest.raises(StartRefused):
            checks.check_version(version)
    checks.check_version(expected_version())


def test_an_empty_database_is_refused(server: embedded.EmbeddedServer, fresh: Callable[..., str]) -> None:
    with pytest.raises(StartRefused, match="ingatan migrate"):
        Database(server.url(embedded.APP, fresh("template1"))).open()


@pytest.mark.parametrize(("version", "advice"), [("0001", "ingatan migrate"), ("9999", "Install that release")])
def test_another_schema_is_refused(
    server: embedded.EmbeddedServer, database_name: str, version: str, advice: str
) -> None:
    with psycopg.connect(server.url(embedded.OWNER, database_name)) as owner:
        owner.execute("update alembic_version set version_num = %s", (version,))
    with pytest.raises(StartRefused, match=advice):
        Database(server.url(embedded.APP, database_name)).open()


def test_no_answer_is_unavailable_and_tells_no_password(server: embedded.EmbeddedServer) -> None:
    url = server.url(embedded.APP, "not_there")
    with pytest.raises(DatabaseUnavailable, match="not_there") as caught:
        Database(url).open()
    assert url.partition("@")[0].rpartition(":")[2] not in str(caught.value)
    with pytest.raises(StartRefused, match="DATABASE__URL"):
        Database("not an address").open()


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        ({"server_version": 150004}, "PostgreSQL 16"),
        ({"vector_version": None}, "extension 'vector' is missing"),
        ({"vector_version": "0.7.4"}, "0.8 or newer"),
    ],
)
def test_old_software_is_refused(facts: dict[str, Any], advice: str) -> None:
    good: dict[str, Any] = {"server_version": 160000, "vector_version": "0.8.0"}
    checks.check_server(**good)
    with pytest.raises(StartRefused, match=advice):
        checks.check_server(**good | facts)
