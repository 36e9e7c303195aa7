"""Bring a database's schema to this release. Alembic keeps count; the changes themselves are SQL files beside it."""

from __future__ import annotations

import io
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import namedtuple_row

from ingatan.errors import DatabaseUnavailable, StartRefused
from ingatan.storage import queries

if TYPE_CHECKING:
    from alembic.runtime.environment import EnvironmentContext

MIGRATIONS = Path(__file__).parent / "migrations"


@cache
def expected_version() -> str:
    """The version this release was written for: the number of the last migration."""
    return max(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def current_version(url: str) -> str | None:
    """The version of the schema at ``url``, or None if nothing was migrated there yet."""
    with _connect(url) as driver, driver.cursor(row_factory=namedtuple_row) as cursor:
        facts = cursor.execute(queries.load("database.facts")).fetchone()
        if facts is None or not facts.version_table:
            return None
        row = cursor.execute(queries.load("database.version")).fetchone()
        return None if row is None else str(row.version)


def migrate(admin_url: str) -> str:
    """Bring the schema at ``admin_url`` to this release's version and return it; does nothing where it is there.

    The role of ``admin_url`` becomes the owner of the tables. One transaction; replicas that start at once wait for
    one another. StartRefused, saying what to do, if the database is newer or the role may not.
    """
    found = current_version(admin_url)
    if found is not None and found > expected_version():
        raise StartRefused(f"The schema is at version {found}, newer than this release ({expected_version()}).")
    from sqlalchemy import create_engine, exc, pool  # noqa: PLC0415 - only migrations need it

    engine = create_engine("postgresql+psycopg://", creator=partial(_connect, admin_url), poolclass=pool.NullPool)
    try:
        with engine.connect() as connection:
            _run(partial(_online, connection))
    except exc.DBAPIError as error:
        reason = _reason(error.orig)
    else:
        return expected_version()
    raise StartRefused(f"The migration was undone: {reason}")


def migration_sql() -> str:
    """The SQL that ``migrate`` would run on an empty database, for administrators who run it themselves."""
    output = io.StringIO()
    _run(partial(_offline, output), as_sql=True)
    return output.getvalue()


def run_file(name: str) -> None:
    """Run one SQL file of ``migrations/`` inside the current migration, verbatim: no parameters, no rewriting."""
    from alembic import context, op  # noqa: PLC0415 - only migrations need it

    text = (MIGRATIONS / name).read_text(encoding="utf-8")
    if context.is_offline_mode():
        context.get_context().impl.static_output(text)
    else:
        op.get_bind().execution_options(no_parameters=True).exec_driver_sql(text)


def _connect(url: str) -> Any:
    try:
        return psycopg.connect(url, connect_timeout=10)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
    raise DatabaseUnavailable(f"The database cannot be reached: {reason} Check DATABASE__ADMIN_URL.")


def _run(configure: Any, *, as_sql: bool = False) -> None:
    from alembic.config import Config  # noqa: PLC0415 - only migrations need it
    from alembic.runtime.environment import EnvironmentContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _context: Any) -> Any:
        return script._upgrade_revs("head", revision)

    with EnvironmentContext(config, script, fn=steps, as_sql=as_sql, destination_rev="head") as environment:
        configure(environment)


def _online(connection: Any, environment: EnvironmentContext) -> None:
    environment.configure(connection=connection, transactional_ddl=True)
    with environment.begin_transaction():
        connection.exec_driver_sql(queries.load("migrate.lock").decode())
        environment.run_migrations()


def _offline(output: io.StringIO, environment: EnvironmentContext) -> None:
    environment.configure(dialect_name="postgresql", output_buffer=output, transactional_ddl=True)
    with environment.begin_transaction():
        environment.get_context().impl.static_output(queries.load("migrate.lock").decode() + ";")
        environment.run_migrations()


def _reason(error: object) -> str:
    if isinstance(error, psycopg.Error):
        hint = error.diag.message_hint
        return f"{error.diag.message_primary or type(error).__name__}{f' {hint}' if hint else ''}"
    return type(error).__name__
