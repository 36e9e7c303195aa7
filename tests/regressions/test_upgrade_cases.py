"""Field cases of kind J: replicas that bring an old schema up together, one of which dies, and old data as it is.

| case | what is shown here |
|------|--------------------|
| J01 | four replicas on an old schema with data, one killed half-way: one does it, the others wait; again is a no-op; |
|     | every old row is as it was; an older or newer schema is refused and left alone; no way down drops anything     |
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ingatan.errors import StartRefused
from ingatan.storage import embedded
from ingatan.storage.checks import check_version
from ingatan.storage.database import Database
from ingatan.storage.migrate import MIGRATIONS, current_version, expected_version, migrate
from tests.integration.test_migrate import MIGRATE, catalogue
from tests.serving import serving
from tests.tables import Tables

OLD = ("0001_foundation.sql", "0002_row_security.sql")
STUCK = (
    "import sys, time; from ingatan.storage import migrate as m; whole = m.run_file\n"
    "def half(name):\n    whole(name)\n    if name.startswith('0004'):\n"
    "        print('half', flush=True); time.sleep(120)\n"
    "m.run_file = half; print(m.migrate(sys.stdin.readline().strip()))"
)
PEOPLE, TURNS = 20, 6
DATA = """
insert into tenants (id, name) select gen_random_uuid(), 'tenant ' || n from generate_series(1, 2) n;
insert into subjects (tenant_id, id, erasure_epoch)
    select t.id, gen_random_uuid(), n from tenants t, generate_series(1, 10) n;
insert into conversations (tenant_id, id, user_id, title, hidden_at)
    select tenant_id, gen_random_uuid(), id, 'talk', case when erasure_epoch % 3 = 0 then now() end from subjects;
insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, created_at)
    select c.tenant_id, gen_random_uuid(), c.id, n, case when n % 2 = 1 then c.user_id end,
           case when n % 2 = 1 then 'user' else 'assistant' end, repeat('words ', 1700), now() - interval '2 years'
    from conversations c, generate_series(1, 6) n;
insert into memories (tenant_id, id, version, scope_id, subject_id, type, slot, text, text_hash, language, importance,
                      trust, status, source_kind, conversation_id, policy_version, effective_at, recorded_at)
    select s.tenant_id, gen_random_uuid(), 1, s.id, s.id, case when n = 6 then 'reflection' else 'fact' end,
           case when n = 1 then 'workplace' end, case when n = 5 then repeat('x', 10000) else 'I use QGIS.' end,
           decode(md5(case when n in (1, 4, 5, 6) then n::text else 'same' end), 'hex'), 'en', 0.5, 'stated',
           case n when 2 then 'superseded' when 3 then 'deleted' when 4 then 'archived' else 'active' end, 'self',
           null, '1', now() - interval '2 years', now() - interval '2 years'
    from subjects s, generate_series(1, 6) n;
insert into embedding_models (name, dimensions) values ('testing/older', 64), ('testing/words', 64);
insert into memory_embeddings (tenant_id, scope_id, model_id, memory_id, version, v)
    select m.tenant_id, m.scope_id, e.id, m.id, 1,
           ('[' || repeat('0,', 63) || case when m.slot is null then '0' else '1' end || ']')::halfvec
    from memories m, embedding_models e where m.status = 'active';
insert into memory_uses (tenant_id, scope_id, memory_id, count, last_at)
    select tenant_id, scope_id, id, 3, now() from memories where status = 'active';
insert into candidates (tenant_id, id, subject_id, writer_id, type, decision, reasons, policy_version)
    select tenant_id, gen_random_uuid(), id, id, 'fact', 'reject', '{no_evidence}', '1' from subjects;
insert into erased_texts (tenant_id, subject_id, digest) select tenant_id, id, sha256('x') from subjects;
"""
Old = dict[str, list[str]]


@pytest.fixture
def old(server: embedded.EmbeddedServer, fresh: Callable[..., str]) -> str:
    """A database at version 0002 with people, duplicates, blanks, zero vectors and unknown types; its name."""
    name = fresh("template1")
    with psycopg.connect(server.url(embedded.OWNER, name)) as owner:
        owner.execute("create table alembic_version (version_num varchar(32) primary key)")
        owner.execute("insert into alembic_version values ('0002')")
        for file in OLD:
            owner.execute((MIGRATIONS / file).read_bytes())
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, name)) as admin:
        admin.execute(DATA.encode())
    return name


def columns(tables: Tables) -> dict[str, list[str]]:
    """The columns of each table, without the version's own."""
    rows = tables.run(
        "select c.table_name::text, array_agg(c.column_name::text order by c.column_name)"
        " from information_schema.columns c join information_schema.tables t using (table_schema, table_name)"
        " where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'alembic_version' group by 1"
    )
    return {str(name): [str(column) for column in found] for name, found in rows if isinstance(found, list)}


def content(tables: Tables, known: dict[str, list[str]]) -> Old:
    """Every row of the ``known`` columns, as text, sorted."""
    found: Old = {}
    with psycopg.connect(tables.url) as driver:
        for table, names in known.items():
            listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
            query = sql.SQL("select row({})::text from {}").format(listed, sql.Identifier(table))
            found[table] = sorted(str(row[0]) for row in driver.execute(query).fetchall())
    return found


def start(code: str, url: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(url)
    process.stdin.close()
    process.stdin = None
    return process


def test_j01_four_replicas_one_killed_half_way(server: embedded.EmbeddedServer, old: str, tmp_path: Path) -> None:
    tables, url = Tables.of(server, old), server.url(embedded.OWNER, old)
    known = columns(tables)
    before = content(tables, known)
    assert len(before["memories"]) == PEOPLE * TURNS
    stuck = start(STUCK, url)
    assert stuck.stdout is not None
    assert stuck.stdout.readline().strip() == "half"
    others = [start(MIGRATE, url) for _ in range(3)]
    time.sleep(2)
    assert [other.poll() for other in others] == [None] * 3, "they wait for the one that is at it"
    assert current_version(url) == "0002"
    stuck.kill()
    stuck.communicate(timeout=30)
    answers = [other.communicate(timeout=60) for other in others]
    assert [out.strip() for out, _ in answers] == [expected_version()] * 3, answers
    assert current_version(url) == expected_version()
    assert content(tables, known) == before
    likeness = catalogue(url)
    rows = tables.rows()
    assert migrate(url) == expected_version()
    assert (catalogue(url), tables.rows()) == (likeness, rows), "again is a no-op"


def test_j01_old_data_is_served_as_it_is(server: embedded.EmbeddedServer, old: str, tmp_path: Path) -> None:
    """Blank scopes, zero vectors, long texts, closed rows and a type of another release: none breaks an answer."""
    migrate(server.url(embedded.OWNER, old))
    tables = Tables.of(server, old)
    with serving(server.url(embedded.APP, old), tmp_path) as service:
        me = service.principal()
        [(subject,)] = tables.run("select id::text from subjects order by id limit 1")
        for table, column in (
            ("memories", "scope_id"), ("memory_embeddings", "scope_id"), ("memory_uses", "scope_id"),
            ("memories", "subject_id"),
        ):  # fmt: skip
            tables.run(f"update {table} set {column} = %s where {column} = %s", str(me.subject_id), subject)
        for table in ("memories", "memory_embeddings"):
            tables.run(
                f"set session_replication_role = replica; update {table} set tenant_id = '{me.tenant_id}'"
                f" where scope_id = '{me.subject_id}'"
            )
        ana = service.client()
        listed = service.remembered(ana)
        assert len(listed) == 2
        found = ana.post("/recall", json={"query": "QGIS", "max_chars": 20_000}).raise_for_status().json()
        assert {item["text"] for item in found["memories"]} <= {item["text"] for item in listed}
        assert found["memories"][0]["text"] == "I use QGIS."
        same = {"text": "I use QGIS every week.", "type": "fact", "source": {"kind": "self"}}
        assert ana.post("/candidates", json=same).json()["decision"] == "accept"
        ana.delete("/memories").raise_for_status()
        assert tables.run("select count(*) from memories where scope_id = %s", str(me.subject_id)) == [(0,)]


@pytest.mark.parametrize("version", ["0001", "0002", "9999"])
def test_j01_another_schema_is_refused_and_left_alone(
    server: embedded.EmbeddedServer, database_name: str, tables: Tables, version: str
) -> None:
    tables.run("update alembic_version set version_num = %s", version)
    before = tables.rows()
    with pytest.raises(StartRefused):
        Database(server.url(embedded.APP, database_name)).open()
    with pytest.raises(StartRefused):
        check_version(version)
    if version == "9999":
        with pytest.raises(StartRefused, match="newer"):
            migrate(server.url(embedded.OWNER, database_name))
    assert tables.rows() == before


def test_j01_no_migration_has_a_way_down() -> None:
    """Going back means restoring: a release that is too old refuses, and nothing is dropped on the way."""
    files = sorted((MIGRATIONS / "versions").glob("[0-9]*.py"))
    assert files
    assert [file.name for file in files if "downgrade" in file.read_text(encoding="utf-8")] == []
