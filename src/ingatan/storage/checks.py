"""May the service run on this database, as this role? Asked once, at start."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import namedtuple_row

from ingatan.errors import DatabaseUnavailable, StartRefused
from ingatan.storage import queries
from ingatan.storage.failures import guarded
from ingatan.storage.migrate import expected_version

SERVER_VERSION_MIN = 160000
VECTOR_VERSION_MIN = (0, 8)
PROBES = 4
"""Rounds of the probe for prepared statements: other sessions of the same pooler may hide a clash in one of them."""


def check(url: str, *, timeout_seconds: float) -> None:
    """StartRefused, saying what to change, unless server, extension, role and schema are as the service needs them."""
    try:
        driver = _session(url, timeout_seconds)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
        raise DatabaseUnavailable(f"The database cannot be reached: {reason} Check DATABASE__URL.") from None
    except psycopg.ProgrammingError:
        raise StartRefused("DATABASE__URL is not a PostgreSQL connection address.") from None
    with driver:
        facts: Any = guarded("database.facts", lambda: driver.execute(queries.load("database.facts")).fetchone())
        check_server(facts.server_version, facts.vector_version)
        _check_role(facts)
        found = None
        if facts.version_table:
            row = guarded("database.version", lambda: driver.execute(queries.load("database.version")).fetchone())
            found = None if row is None else str(row.version)
        check_version(found)


def keeps_prepared(url: str, *, timeout_seconds: float) -> bool:
    """Whether a session finds the statements it prepared. A transaction pooler that does not follow them loses them.

    Two sessions prepare two statements, each in its own order, so that the same name stands for different ones: on one
    server session the second clashes or is answered by the other's statement.
    """
    names = ("database.ping", "database.other_ping")
    with _session(url, timeout_seconds) as one, _session(url, timeout_seconds) as other:
        try:
            for _ in range(PROBES):
                for driver, order in ((one, names), (other, names[::-1])):
                    for name in order:
                        row: Any = driver.execute(queries.load(name), prepare=True).fetchone()
                        if row.one != names.index(name) + 1:
                            return False
        except (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement):
            return False
        return True


def _session(url: str, timeout_seconds: float) -> psycopg.Connection[Any]:
    return psycopg.connect(
        url, autocommit=True, row_factory=namedtuple_row, connect_timeout=max(2, int(timeout_seconds))
    )


def check_version(found: str | None) -> None:
    """StartRefused unless the schema is exactly the one this release was written for."""
    expected = expected_version()
    if found == expected:
        return
    if found is not None and found > expected:
        raise StartRefused(
            f"The schema is at version {found}, newer than this release knows ({expected}). Install that release."
        )
    raise StartRefused(f"The schema is at version {found or 'none'}, needed is {expected}. Run 'ingatan migrate'.")


def check_server(server_version: int, vector_version: str | None) -> None:
    """StartRefused for a server or an extension older than what the service needs."""
    if server_version < SERVER_VERSION_MIN:
        raise StartRefused(f"PostgreSQL 16 or newer is needed; this is {server_version // 10000}.")
    if vector_version is None:
        raise StartRefused("The extension 'vector' is missing in this database. Run 'ingatan migrate'.")
    if tuple(int(part) for part in vector_version.split(".")[:2]) < VECTOR_VERSION_MIN:
        raise StartRefused(
            f"The extension 'vector' is at {vector_version}; 0.8 or newer is needed. Install it, then run "
            "'alter extension vector update'."
        )


def _check_role(facts: Any) -> None:
    if facts.privileged:
        raise StartRefused(
            f"The role '{facts.role}' (DATABASE__URL), or one it is a member of, is a superuser, bypasses row-level "
            "security or owns the tables. Use 'ingatan_app' or a member of it; keep the owner for DATABASE__ADMIN_URL."
        )
    if facts.inherits_jobs:
        raise StartRefused(
            f"The role '{facts.role}' (DATABASE__URL) inherits 'ingatan_jobs' and would see every tenant. Run as "
            "administrator: grant ingatan_jobs to ingatan_app with inherit false, set true"
        )
    if not facts.may_do_jobs and facts.version_table:
        raise StartRefused(
            f"The role '{facts.role}' (DATABASE__URL) may not become 'ingatan_jobs'. Run as administrator: "
            f"grant ingatan_app to {facts.role}"
        )
