"""The first page with a shared conversation: marked, and nobody is shown another's words as their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingatan import console, demo
from ingatan.storage import embedded
from tests.api.test_console import Visit
from tests.serving import Service, serving


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service with the page."""
    with serving(server.url(embedded.APP, database_name), tmp_path, install=console.install) as running:
        yield running


@pytest.mark.parametrize(
    ("language", "shared", "another", "note"),
    [
        ("en", "· Shared", "Another member", "Several people ask"),
        ("id", "· Bersama", "Anggota lain", "Beberapa orang bertanya"),
        ("vi", "· Dùng chung", "Thành viên khác", "Nhiều người hỏi"),
    ],
)
def test_a_shared_conversation_on_the_page(
    service: Service, language: str, shared: str, another: str, note: str
) -> None:
    first, second = (service.client(str(person.id)) for person in demo.people()[:2])
    team = second.post("/workspaces", json={"name": "Port team"}).json()["id"]
    second.put(f"/workspaces/{team}/members/{demo.people()[0].id}").raise_for_status()
    body = {"workspace_id": team}
    id = str(second.post("/conversations", json=body).json()["id"])
    service.say(second, "Where is berth four?", conversation_id=id)
    visit = Visit(service)
    visit.open()
    visit.send("/console/language", language=language)
    page = visit.open()
    assert shared in page
    assert page.count(another) == 1
    visit.send("/console/say", text="And berth five?", conversation=id)
    assert visit.open(f"/?conversation={id}").count(another) == 1
    assert note in visit.send("/console/recall", question="Where is it?", shown=id).text
    second.delete(f"/workspaces/{team}").raise_for_status()
    assert shared not in visit.open()
    assert first.get(f"/conversations/{id}").status_code == 404
