"""S1's switches through every door: memory off, shadow mode, writing off, the allowlist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.storage import embedded
from tests.api.test_workspaces import PEOPLE, person
from tests.serving import Service, serving

SAID = "I work at the port of Sabang."
OFF = {"INGATAN_MEMORY__ENABLED": "false"}
SHADOW = {"INGATAN_MEMORY__READ_ENABLED": "false"}
READ_ONLY = {"INGATAN_MEMORY__WRITE_ENABLED": "false"}
ONLY_ANA = {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": json.dumps([PEOPLE["ana"]])}
PROPOSAL = {"text": "I prefer short answers.", "type": "preference", "source": {"kind": "self"}}


class Remembering:
    """A database in which Ana and Bea are remembered, to be served again with other settings."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory
        with self.serve({}) as service:
            for name in ("ana", "bea"):
                service.say(person(service, name), SAID)
            assert service.sweep().written == 2

    def serve(self, environ: dict[str, str]) -> Any:
        return serving(self.url, self.directory, environ=environ)


@pytest.fixture
def remembering(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Remembering:
    return Remembering(server.url(embedded.APP, database_name), tmp_path)


def recalled(client: httpx.Client) -> tuple[int, list[str]]:
    """How many memories are recalled, and the codes of the notes."""
    answer = client.post("/recall", json={"query": "where do I work?"})
    assert answer.status_code == 200
    return len(answer.json()["memories"]), [note["code"] for note in answer.json()["notes"]]


def refused_writes(service: Service, client: httpx.Client, memory_id: str) -> None:
    """Proposals and corrections answer 403 memory_disabled, and nothing changes."""
    before = service.remembered(client)
    for answer in (
        client.post("/candidates", json=PROPOSAL),
        client.patch(f"/memories/{memory_id}", json={"text": "I work at the port of Malahayati."}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "memory_disabled")
    assert service.remembered(client) == before


def test_off_the_owner_still_sees_and_erases(remembering: Remembering) -> None:
    with remembering.serve(OFF) as service:
        ana = person(service, "ana")
        [memory] = service.remembered(ana)
        assert ana.get(f"/memories/{memory['id']}").status_code == 200
        assert recalled(ana) == (0, ["memory_off"])
        refused_writes(service, ana, memory["id"])
        assert ana.delete(f"/memories/{memory['id']}").json()["receipt"]["removed"]["memories"] == 1
        assert ana.delete("/memories").json()["receipt"]["removed"]["memories"] == 0
        assert service.remembered(ana) == []


def test_shadow_mode_writes_and_shows_and_no_answer_uses_it(remembering: Remembering) -> None:
    with remembering.serve(SHADOW) as service:
        ana = person(service, "ana")
        assert recalled(ana) == (0, ["memory_not_used_in_answers"])
        service.say(ana, "I prefer short answers.")
        assert service.sweep().written == 1
        assert len(service.remembered(ana)) == 2
        assert ana.post("/candidates", json=PROPOSAL).json()["reasons"] == ["duplicate"]
        assert recalled(ana) == (0, ["memory_not_used_in_answers"])
    with remembering.serve({}) as service:
        assert recalled(person(service, "ana"))[0] == 2


def test_with_writing_off_what_there_is_is_recalled(remembering: Remembering) -> None:
    with remembering.serve(READ_ONLY) as service:
        ana = person(service, "ana")
        [memory] = service.remembered(ana)
        found, notes = recalled(ana)
        assert found == 1
        assert "may_not_be_saved_yet" not in notes
        refused_writes(service, ana, memory["id"])
        assert ana.delete("/memories").json()["receipt"]["removed"]["memories"] == 1


def test_an_unlisted_subject_sees_nothing_and_erases_nothing(remembering: Remembering) -> None:
    with remembering.serve({}) as service:
        [memory] = service.remembered(person(service, "bea"))
    with remembering.serve(ONLY_ANA) as service:
        ana, bea = person(service, "ana"), person(service, "bea")
        assert recalled(ana)[0] == 1
        assert service.remembered(bea) == []
        assert recalled(bea) == (0, ["memory_not_for_this_caller"])
        for method, path in (("GET", ""), ("GET", "/versions"), ("DELETE", "")):
            assert bea.request(method, f"/memories/{memory['id']}{path}").status_code == 404
        refused_writes(service, bea, memory["id"])
        emptied = bea.delete("/memories").json()["receipt"]
        assert (emptied["removed"]["memories"], emptied["removed"]["versions"]) == (0, 0)
        service.say(bea, "I prefer short answers.")
        service.say(ana, "I prefer short answers.")
        report = service.sweep()
        assert (report.conversations, report.written) == (2, 1), "Ana's two: this lane has a marker of its own"
        assert len(service.remembered(ana)) == 2
    with remembering.serve({}) as service:
        assert [item["id"] for item in service.remembered(person(service, "bea"))] == [memory["id"]]


def test_callers_without_identity_have_no_memory(remembering: Remembering) -> None:
    environ = {"INGATAN_SECURITY__REQUIRE_AUTH": "false", **ONLY_ANA}
    with remembering.serve(environ) as service, httpx.Client(base_url=service.address) as nobody:
        service.say(nobody, SAID)
        assert recalled(nobody) == (0, ["memory_not_for_this_caller"])
        assert nobody.get("/memories").json()["items"] == []
        assert nobody.post("/candidates", json=PROPOSAL).status_code == 403
        assert service.sweep().written == 0
    with remembering.serve({}) as service:
        report = service.sweep()
        assert (report.conversations, report.written) == (1, 0), "an unscoped sweeper does not learn from them either"
