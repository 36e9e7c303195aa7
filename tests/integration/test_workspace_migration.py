"""Migration 0003 on a database that already holds conversations: everyone who asked is known afterwards."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from ingatan.storage import embedded
from ingatan.storage.migrate import MIGRATIONS

BEFORE = ("0001_foundation.sql", "0002_row_security.sql")


def test_askers_are_found_in_the_turns_there_are(server: embedded.EmbeddedServer, fresh: Callable[..., str]) -> None:
    name = fresh("template1")
    with psycopg.connect(server.url(embedded.OWNER, name)) as owner:
        owner.execute("create table alembic_version (version_num text)")
        for file in BEFORE:
            owner.execute((MIGRATIONS / file).read_bytes())
    ids = {"t": "01a00000-0000-7000-8000-000000000001", "c": "01a00000-0000-7000-8000-000000000002"}
    ids |= {"ana": "01a00000-0000-7000-8000-000000000003"}
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, name)) as admin:
        admin.execute("insert into conversations (tenant_id, id, user_id) values (%(t)s, %(c)s, %(ana)s)", ids)
        for seq, role in enumerate(("user", "assistant", "user", "tool"), start=1):
            admin.execute(
                "insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, created_at) "
                "values (%(t)s, gen_random_uuid(), %(c)s, %(seq)s, %(author)s, %(role)s, 'words', now())",
                ids | {"seq": seq, "role": role, "author": ids["ana"] if role == "user" else None},
            )
    with psycopg.connect(server.url(embedded.OWNER, name)) as owner:
        owner.execute((MIGRATIONS / "0003_workspaces.sql").read_bytes())
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, name)) as admin:
        found = admin.execute(
            "select conversation_id::text, subject_id::text, last_seq, skip_seq from conversation_askers"
        )
        assert found.fetchall() == [(ids["c"], ids["ana"], 3, 0)]
        forced = admin.execute("select relname from pg_class where relrowsecurity and not relforcerowsecurity")
        assert forced.fetchall() == []
