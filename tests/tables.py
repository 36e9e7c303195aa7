"""Every table of a database as an administrator sees it: what is really stored, whatever row-level security shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import psycopg
from psycopg import sql

from ingatan.storage import embedded

Rows = dict[str, list[str]]
MOVED = {
    "active": sql.SQL("select count(*) from memories where status = 'active' and tenant_id = %(tenant)s"),
    "epochs": sql.SQL("select sum(erasure_epoch) from subjects where tenant_id = %(tenant)s"),
    "positions": sql.SQL("select sum(last_seq) from conversations where tenant_id = %(tenant)s"),
    "watermarks": sql.SQL("select sum(done_seq) from sweep_state where tenant_id = %(tenant)s"),
    "skipped": sql.SQL("select sum(skip_seq) from conversation_askers where tenant_id = %(tenant)s"),
}


@dataclass(frozen=True)
class Tables:
    """A database, read past row-level security."""

    url: str

    @classmethod
    def of(cls, server: embedded.EmbeddedServer, name: str) -> Tables:
        """The tables of database ``name``."""
        return cls(server.url(embedded.ADMINISTRATOR, name))

    def rows(self) -> Rows:
        """Every row of every table in the schema, as text, sorted."""
        with psycopg.connect(self.url) as driver:
            names = driver.execute(
                "select table_name::text from information_schema.tables"
                " where table_schema = 'public' and table_type = 'BASE TABLE' order by 1"
            ).fetchall()
            found: Rows = {}
            for (name,) in names:
                query = sql.SQL("select t::text from {} t").format(sql.Identifier(name))
                found[name] = sorted(str(row[0]) for row in driver.execute(query).fetchall())
            return found

    def about(self, marks: Iterable[str], *, within: str = "") -> Rows:
        """The rows that hold any of ``marks``, and ``within``, by table; tables without any are left out."""
        wanted = [mark.casefold() for mark in marks]
        found = {
            name: [row for row in rows if within in row and any(mark in row.casefold() for mark in wanted)]
            for name, rows in self.rows().items()
        }
        return {name: rows for name, rows in found.items() if rows}

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """One statement as the administrator; its rows."""
        with psycopg.connect(self.url) as driver:
            cursor = driver.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def counts(self, tenant: str) -> dict[str, int]:
        """Rows of one tenant by table, and what acts move in rows that are there: positions, states, epochs."""
        with psycopg.connect(self.url) as driver:
            names = _tenants_tables(self.url)
            each = sql.SQL("select {}, (select count(*) from {} where tenant_id = %(tenant)s)::bigint")
            parts = [each.format(sql.Literal(name), sql.Identifier(name)) for name in names]
            parts += [sql.SQL("select {}, ({})::bigint").format(sql.Literal(name), MOVED[name]) for name in MOVED]
            rows = driver.execute(sql.SQL(" union all ").join(parts), {"tenant": tenant}).fetchall()
            return {str(name): int(count or 0) for name, count in rows}


@cache
def _tenants_tables(url: str) -> list[str]:
    with psycopg.connect(url) as driver:
        rows = driver.execute(
            "select t.table_name::text from information_schema.columns c join information_schema.tables t"
            " using (table_schema, table_name) where table_schema = 'public' and table_type = 'BASE TABLE'"
            " and c.column_name = 'tenant_id' order by 1"
        ).fetchall()
        return [str(row[0]) for row in rows]
