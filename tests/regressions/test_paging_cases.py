"""Field cases of kind I: lists that are walked while they change.

| case | what is shown here |
|------|--------------------|
| I01 | each list at equal times, walked by 1, 7, 50, 100 while rows come and go: every row once; limits; bad cursors |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

from ingatan.types import Role
from tests.serving import Service
from tests.tables import Tables

ROWS, ROWS_BY_ONE, AT_ONCE = 250, 100, 120
"""So many rows; by one each there are fewer, to be quick. AT_ONCE of them have one time, the others share a few."""
TIME = f"timestamptz '2026-11-01 10:00:00.123456+00' + make_interval(secs => greatest(0, n - {AT_ONCE}) / 40)"
MINE = "'{tenant}', gen_random_uuid()"
INSERTS = {
    "memories": "insert into memories (tenant_id, id, version, scope_id, subject_id, type, text, text_hash, language,"
    " importance, trust, status, source_kind, policy_version, effective_at, recorded_at)"
    f" select {MINE}, 1, '{{subject}}', '{{subject}}', 'fact', 'words ' || n, sha256(gen_random_uuid()::text::bytea),"
    f" 'en', 0.5, 'stated', 'active', 'self', '1', {TIME}, {TIME} from generate_series(1, {{count}}) n returning id",
    "candidates": "insert into candidates (tenant_id, id, subject_id, writer_id, type, decision, reasons,"
    f" policy_version, created_at) select {MINE}, '{{subject}}', '{{subject}}', 'fact', 'reject', '{{{{}}}}', '1',"
    f" {TIME} from generate_series(1, {{count}}) n returning id",
    "conversations": "insert into conversations (tenant_id, id, user_id, title, created_at, updated_at)"
    f" select {MINE}, '{{subject}}', 'talk', {TIME}, {TIME} from generate_series(1, {{count}}) n returning id",
    "messages": "insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, created_at)"
    f" select {MINE}, '{{conversation}}', n + coalesce((select max(seq) from messages"
    f" where conversation_id = '{{conversation}}'), 0), '{{subject}}', 'user', 'words', {TIME}"
    " from generate_series(1, {count}) n returning id",
    "workspaces": f"with made as (insert into workspaces (tenant_id, id, name, owner_id, created_at) select {MINE},"
    f" 'team', '{{subject}}', {TIME} from generate_series(1, {{count}}) n returning id) insert into workspace_members"
    " (tenant_id, workspace_id, subject_id, role) select '{tenant}', id, '{subject}', 'owner' from made"
    " returning workspace_id",
    "workspace_members": "insert into workspace_members (tenant_id, workspace_id, subject_id, role, added_at)"
    f" select '{{tenant}}', '{{workspace}}', gen_random_uuid(), 'member', {TIME}"
    " from generate_series(1, {count}) n returning subject_id",
    "audit_log": "insert into audit_log (tenant_id, lane, seq, id, at, actor_id, action, entity_type, details, mac)"
    " select '{tenant}', 0, n + coalesce((select max(seq) from audit_log where tenant_id = '{tenant}'), 0),"
    f" gen_random_uuid(), {TIME}, '{{subject}}', 'act', 'thing', '{{{{}}}}', '\\x00'"
    " from generate_series(1, {count}) n returning id",
}
"""How rows come; the audit only grows."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """One list of a person's: where it is read, how rows come and go, and what names a row."""

    client: httpx.Client
    path: str
    insert: str
    delete: str
    tables: Tables
    key: str = "id"

    def come(self, count: int) -> set[str]:
        return {str(row[0]) for row in self.tables.run(self.insert.replace("{count}", str(count)))}

    def go(self, id: str) -> None:
        self.tables.run(self.delete.replace("{id}", id))

    def page(self, limit: int, cursor: str | None = None) -> httpx.Response:
        return self.client.get(self.path, params={"limit": str(limit)} | ({"cursor": cursor} if cursor else {}))


@pytest.fixture
def listing(service: Service, tables: Tables) -> Callable[[str], Listing]:
    def make(name: str) -> Listing:
        client = service.client(roles=[Role.USER, Role.AUDITOR])
        known = {
            "subject": str(service.principal().subject_id),
            "tenant": str(service.principal().tenant_id),
            "conversation": service.say(client, "hello"),
            "workspace": client.post("/workspaces", json={"name": "team"}).json()["id"],
        }
        service.app.seal()
        insert, path, key = INSERTS[name].replace("{{}}", "{}"), f"/{name}", "id"
        if name == "messages":
            path = f"/conversations/{known['conversation']}/messages"
        if name == "workspace_members":
            path, key = f"/workspaces/{known['workspace']}/members", "subject_id"
        if name == "audit_log":
            path = "/audit"
        for word, value in known.items():
            insert = insert.replace(f"{{{word}}}", value)
        delete = f"delete from {name} where {key} = '{{id}}'"
        if name == "workspaces":
            delete = "update workspaces set deleted_at = now() where id = '{id}'"
        return Listing(client=client, path=path, insert=insert, delete=delete, tables=tables, key=key)

    return make


@pytest.mark.parametrize("limit", [1, 7, 50, 100])
@pytest.mark.parametrize("name", INSERTS)
def test_i01_every_row_that_stays_is_seen_once(listing: Callable[[str], Listing], name: str, limit: int) -> None:
    listed = listing(name)
    there = listed.come(ROWS if limit > 1 else ROWS_BY_ONE)
    seen: list[str] = []
    gone: set[str] = set()
    cursor: str | None = None
    for turn in range(len(there) + 100):
        answer = listed.page(limit, cursor)
        assert answer.status_code == 200
        items = [item[listed.key] for item in answer.json()["items"]]
        cursor = answer.json()["next_cursor"]
        assert len(items) == limit or cursor is None, "short pages only at the end"
        seen += items
        if cursor is None:
            break
        if turn % 5 == 0 and name != "audit_log":
            listed.come(1)
            for candidate in [seen[-1], *sorted(there - {*seen} - gone)[:1]]:
                if candidate in there:
                    listed.go(candidate)
                    gone.add(candidate)
    assert cursor is None
    assert len(seen) == len({*seen}), "none twice"
    assert there - gone <= {*seen}, "none is missed"
    assert name == "audit_log" or gone


@pytest.mark.parametrize("name", INSERTS)
def test_i01_limits_and_cursors_that_are_not_ours(
    service: Service, listing: Callable[[str], Listing], name: str
) -> None:
    other = listing("candidates" if name != "candidates" else "conversations")
    stranger = service.client("bea", roles=[Role.USER, Role.AUDITOR])
    for turn in range(5):
        service.say(stranger, f"talk {turn}")
    listed = listing(name)
    there = listed.come(30)
    for limit in ("0", "-1", "1000000000", "1e9", "abc", "101", "1.5", "", " ", "*", "٣x"):
        assert listed.client.get(listed.path, params={"limit": limit}).status_code == 422, limit
    cursor = listed.page(7).json()["next_cursor"]
    assert listed.page(7, cursor).status_code == 200
    other.come(10)
    foreign = stranger.get("/conversations", params={"limit": "1"}).json()["next_cursor"]
    middle = len(cursor) // 2
    wrong = [
        cursor[:-1], cursor[1:], cursor + "A", cursor + "!", cursor + "=", cursor + "==", cursor + " ", "!" + cursor,
        cursor[:middle] + "~" + cursor[middle:], cursor[:middle] + ("A" if cursor[middle] != "A" else "B")
        + cursor[middle + 1 :], cursor[:-1] + chr(ord(cursor[-1]) ^ 1), cursor.swapcase(), cursor * 2, "eyJhIjoxfQ",
        "0", "é" * 10, "A" * 5_000, other.page(1).json()["next_cursor"], foreign,
    ]  # fmt: skip
    for tampered in wrong:
        if tampered.strip() == cursor:
            continue
        answer = listed.page(7, tampered)
        assert answer.status_code == 400, tampered[:60]
        assert answer.json()["code"] == "bad_cursor"
        assert not any(id in answer.text for id in there)
    theirs = stranger.get(listed.path, params={"cursor": cursor})
    assert theirs.status_code in {400, 404}
    for given in (" ", "", "null"):
        assert listed.client.get(listed.path, params={"cursor": given}).status_code == 422


FILTERS = {"memories": {"status": "deleted"}, "candidates": {"decision": "accept"}, "audit_log": {"entity_type": "x"}}


@pytest.mark.parametrize("name", FILTERS)
def test_i01_a_cursor_of_another_filter_is_refused(listing: Callable[[str], Listing], name: str) -> None:
    listed = listing(name)
    listed.come(10)
    cursor = listed.page(5).json()["next_cursor"]
    answer = listed.client.get(listed.path, params={"cursor": cursor, **FILTERS[name]})
    assert answer.status_code == 400


def test_i01_a_cursor_from_before_an_erasure_shows_what_is_left(listing: Callable[[str], Listing]) -> None:
    listed = listing("memories")
    listed.come(20)
    cursor = listed.page(5).json()["next_cursor"]
    listed.client.delete("/memories").raise_for_status()
    answer = listed.page(5, cursor)
    assert (answer.status_code, answer.json()["items"], answer.json()["next_cursor"]) == (200, [], None)
