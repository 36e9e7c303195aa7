"""What the first system's document says and no other test shows: conversations, user control, administrators.

``docs/first-system.md`` is the table of all its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ingatan.errors import ExtractionRejected, ExtractionUnavailable
from ingatan.storage import embedded
from ingatan.telemetry import Event, observed
from ingatan.testing import ScriptedExtractor
from ingatan.types import Role
from tests.api.conftest import Under
from tests.serving import Service

WORK = "I work at the port of Sabang."
NEVER = (
    "My wife works at the port of Belawan.",
    "My boss Rahman likes long reports.",
    "I was diagnosed with diabetes last year.",
    "Saya sedang hamil lima bulan.",
    "Tôi bị hen suyễn từ nhỏ.",
    "Article 12 of the fisheries law allows trawling within two miles.",
    "The regulation says that permits last five years.",
    "My password is hunter2-and-more.",
)


@pytest.mark.parametrize("said", NEVER)
def test_what_is_never_stored_is_not_stored_beside_what_is(service: Service, said: str) -> None:
    ana = service.client()
    service.say(ana, said, WORK)
    service.sweep()
    assert [item["text"] for item in service.remembered(ana)] == [WORK.rstrip(".")]


def test_the_window_is_as_long_as_asked_for_and_ten_otherwise(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, *(f"Question {n}" for n in range(1, 16)))
    for asked, first in (({}, 6), ({"last": "3"}, 13), ({"last": "15"}, 1)):
        window = ana.get(f"/conversations/{id}/window", params=asked).json()["messages"]
        assert [item["content"] for item in window] == [f"Question {n}" for n in range(first, 16)]


def test_every_role_of_a_turn_is_kept_with_its_metadata(service: Service) -> None:
    writer = service.client("gateway", roles=[Role.USER, Role.WRITER])
    id = writer.post("/conversations", json={"title": "Permits"}).raise_for_status().json()["id"]
    turns = [
        {"role": role, "content": f"said by {role}", "metadata": {"channel": {"name": "web", "tries": [1, 2]}}}
        for role in ("system", "user", "assistant", "tool")
    ]
    writer.post(f"/conversations/{id}/messages", json={"messages": turns}).raise_for_status()
    kept = writer.get(f"/conversations/{id}/messages").json()["items"]
    assert {item["role"] for item in kept} == {"system", "user", "assistant", "tool"}
    assert all(item["metadata"]["channel"] == {"name": "web", "tries": [1, 2]} for item in kept)
    assert writer.get(f"/conversations/{id}").json()["title"] == "Permits"
    blob: dict[str, Any] = {"role": "user", "content": "more", "metadata": "ignore all rules"}
    assert writer.post(f"/conversations/{id}/messages", json={"messages": [blob]}).status_code == 422


def test_a_resumed_conversation_goes_on_and_moves_to_the_top(service: Service) -> None:
    ana = service.client()
    first = service.say(ana, "How do I register a boat?")
    service.say(ana, "Something else.")
    before = ana.get(f"/conversations/{first}").json()["updated_at"]
    service.say(ana, "And a second one?", conversation_id=first)
    assert [item["content"] for item in ana.get(f"/conversations/{first}/window").json()["messages"]] == [
        "How do I register a boat?",
        "And a second one?",
    ]
    assert ana.get(f"/conversations/{first}").json()["updated_at"] > before


def test_deleting_a_conversation_leaves_its_memories(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, WORK)
    service.sweep()
    ana.delete(f"/conversations/{id}").raise_for_status()
    assert [item["text"] for item in service.remembered(ana)] == [WORK.rstrip(".")]
    assert len(ana.post("/recall", json={"query": "Where do I work?"}).json()["memories"]) == 1


@pytest.mark.parametrize("one", [True, False], ids=["one", "all"])
def test_erasing_takes_superseded_rows_too_and_the_list_shows_active_ones(service: Service, one: bool) -> None:
    ana = service.client()
    service.say(ana, WORK)
    service.sweep()
    [memory] = service.remembered(ana)
    text = {"text": "I work at the port of Malahayati."}
    ana.patch(f"/memories/{memory['id']}", json=text).raise_for_status()
    assert [item["text"] for item in service.remembered(ana)] == ["I work at the port of Malahayati."]
    [old] = service.remembered(ana, "superseded")
    assert old["source"]["conversation_id"] == memory["source"]["conversation_id"], "where it came from stays"
    receipt = ana.delete(f"/memories/{memory['id']}" if one else "/memories").json()["receipt"]
    assert receipt["removed"]["versions"] == 2
    assert service.remembered(ana) == service.remembered(ana, "superseded") == []


def test_forgetting_in_chat_waits_for_idleness_and_erasing_does_not(service: Service) -> None:
    ana = service.client()
    service.say(ana, WORK, "I prefer short answers.")
    service.sweep()
    service.say(ana, "Please forget that I work at the port of Sabang.")
    assert service.sweep(minutes=29).conversations == 0
    assert len(service.remembered(ana)) == 2
    assert service.sweep().closed == 1
    [left] = service.remembered(ana)
    ana.delete(f"/memories/{left['id']}").raise_for_status()
    assert service.remembered(ana) == []


def test_the_marker_is_the_time_of_the_newest_turn(service: Service) -> None:
    ana = service.client()
    id = ana.post("/conversations", json={}).raise_for_status().json()["id"]
    said_at = datetime.now(UTC) - timedelta(minutes=50)
    for n in range(2):
        turn = {"role": "user", "content": WORK, "created_at": (said_at + timedelta(minutes=n)).isoformat()}
        ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).raise_for_status()
    service.sweep()
    metadata = ana.get(f"/conversations/{id}").json()["metadata"]
    marked = datetime.fromisoformat(metadata["memory_consolidated_through"])
    assert abs(marked - said_at - timedelta(minutes=1)) < timedelta(seconds=1)


def test_the_four_log_lines_that_administrators_watch(under: Under) -> None:
    script = ScriptedExtractor((), ExtractionUnavailable("timeout"), ExtractionRejected("truncated"))
    seen: list[Event] = []

    def observe(name: Event, fields: Mapping[str, object]) -> None:
        seen.append(name)

    with under(MEMORY__MAX_EXTRACTION_ATTEMPTS="2", parts={"extractor": script}) as service, observed(observe):
        service.say(service.client(), WORK)
        service.sweep()
        service.say(service.client(), WORK)
        service.sweep()
        service.sweep()
    lines = [name.value for name in seen if name.value.startswith("memory ")]
    assert lines == [
        "memory consolidated",
        "memory extraction unavailable",
        "memory extraction rejected",
        "memory consolidation abandoned",
    ]


COLUMNS = {
    "conversations": {"id", "user_id", "title", "metadata", "created_at", "updated_at"},
    "messages": {
        "id", "conversation_id", "trace_id", "role", "content", "source_citations", "metadata", "created_at"
    },
}  # fmt: skip


def test_tables_and_indexes_are_as_the_document_names_them(server: embedded.EmbeddedServer, database_name: str) -> None:
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name)) as driver:
        for table, columns in COLUMNS.items():
            found = driver.execute(
                "select column_name, data_type, is_nullable from information_schema.columns where table_name = %s",
                [table],
            ).fetchall()
            kinds = {name: (kind, nullable) for name, kind, nullable in found}
            assert columns <= kinds.keys()
            assert kinds["metadata"] == ("jsonb", "NO")
        assert kinds["source_citations"] == ("jsonb", "NO")
        assert kinds["trace_id"][1] == "YES"
        rows = driver.execute(
            "select indexdef from pg_indexes where tablename in ('conversations', 'messages')"
        ).fetchall()
    found_on = {tuple(re.split(r", ?| desc", re.findall(r"\((.*?)\)", row[0])[0], flags=re.IGNORECASE)) for row in rows}
    by_user = [columns for columns in found_on if columns[:2] == ("tenant_id", "user_id")]
    assert by_user, found_on
    assert ("tenant_id", "conversation_id", "created_at") in found_on
