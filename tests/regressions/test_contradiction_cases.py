"""Field cases of kind B with a model that judges badly: what a reply may retire, and what supports a claim.

| case | what is shown here |
|------|--------------------|
| B04 | neither recall nor the model is given a superseded fact as current; its turn does not bring it back |
| B05 | a mention, a denial, a retelling and a foreign id retire nothing, support nothing, and are on record |

The rules' side of both, history and the past: test_conflict_cases.py. B02: test_races.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from ingatan.storage import embedded
from ingatan.types import Role
from tests.model_server import ModelServer, Step, model_server, operation, proposes, reacts
from tests.serving import Service, serving

TREASURER = "I am treasurer of the rowing club."
REPAIRED = "I repaired the rowing club's boat trailer."
DENIED = "That wasn't me; the man in the chat said he had a pilot licence."
OLD, NEW = "My office opens with badge A.", "My office opens with the blue badge."


@dataclass(frozen=True)
class Judged:
    """A service with a scripted model, and Ana."""

    service: Service
    model: ModelServer
    ana: httpx.Client

    def state(self, text: str) -> str:
        body = {"text": text, "type": "fact", "source": {"kind": "self"}}
        return str(self.ana.post("/candidates", json=body).raise_for_status().json()["memory_id"])

    def active(self) -> dict[str, str]:
        return {item["text"].rstrip("."): item["id"] for item in self.service.remembered(self.ana)}

    def reasons(self) -> list[list[str]]:
        items = self.ana.get("/candidates", params={"decision": "reject"}).raise_for_status().json()["items"]
        return [item["reasons"] for item in items]


@pytest.fixture
def judged(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Judged]:
    with model_server() as model:
        url = server.url(embedded.APP, database_name)
        with serving(url, tmp_path, environ=model.settings()) as service:
            yield Judged(service, model, service.client())


def retiring(said: str, memory: str, kind: str, text: str | None = None) -> Step:
    return reacts(
        lambda asked: proposes(operation(kind, (asked.label(said), said), memory=asked.label(memory), text=text))
    )


@pytest.mark.parametrize("kind", ["delete", "update"])
@pytest.mark.parametrize("said", [REPAIRED, DENIED, "My neighbour is treasurer of the rowing club now."])
def test_b05_a_mention_or_a_retelling_retires_nothing(judged: Judged, kind: str, said: str) -> None:
    id = judged.state(TREASURER)
    before = judged.ana.get(f"/memories/{id}").json()
    text = None if kind == "delete" else "Repaired the rowing club's boat trailer"
    judged.model.script = [retiring(said.rstrip("."), f'"{TREASURER}"', kind, text)]
    judged.service.say(judged.ana, said)
    assert judged.service.sweep().failed == 0
    assert judged.active()[TREASURER.rstrip(".")] == id
    after = judged.ana.get(f"/memories/{id}").json()
    assert after == before, "neither closed nor strengthened"
    assert judged.service.remembered(judged.ana, "superseded") == []


def test_b05_a_denial_supports_nothing(judged: Judged) -> None:
    judged.model.script = [
        reacts(
            lambda asked: proposes(
                operation("add", (asked.label("wasn't me"), "he had a pilot licence"), text="Has a pilot licence"),
                operation("add", (asked.label("wasn't me"), DENIED.rstrip(".")), text="Had a pilot licence"),
            )
        )
    ]
    judged.service.say(judged.ana, DENIED)
    judged.service.sweep()
    assert judged.active() == {}
    assert len(judged.reasons()) == 2


def test_b05_an_id_of_somebody_else_retires_nothing_and_is_on_record(judged: Judged) -> None:
    bea = judged.service.client("bea")
    body = {"text": TREASURER, "type": "fact", "source": {"kind": "self"}}
    foreign = bea.post("/candidates", json=body).raise_for_status().json()["memory_id"]
    said = "Forget that I am treasurer of the rowing club."
    for label in (foreign, "M1", "M99"):
        reply = operation("delete", ("T1", said.rstrip(".")), memory=label)
        judged.model.script = [proposes(reply)]
        id = judged.service.say(judged.ana, said)
        assert judged.service.sweep().failed == 1
        failures = judged.ana.get(f"/conversations/{id}").json()["metadata"]
        assert failures["memory_extraction_failures"] == 1, "on record, without its words"
        judged.model.script = []
        judged.service.sweep()
    assert [item["id"] for item in judged.service.remembered(bea)] == [foreign]
    assert all(foreign not in asked.user for asked in judged.model.asked)
    assert judged.service.client("auditor", roles=[Role.AUDITOR]).get("/audit/verify").json()["sound"] is True


def test_b04_a_superseded_fact_is_shown_to_nobody_as_current(judged: Judged) -> None:
    judged.model.script = [
        reacts(lambda asked: proposes(operation("add", (asked.label("badge A"), OLD.rstrip(".")), text=OLD)))
    ]
    first = judged.service.say(judged.ana, OLD)
    judged.service.sweep()
    [id] = judged.active().values()
    judged.ana.patch(f"/memories/{id}", json={"text": NEW}).raise_for_status()
    judged.model.script = []
    asked_before = len(judged.model.asked)
    judged.service.say(judged.ana, "What opens the office, badge A?", conversation_id=first)
    judged.service.sweep()
    assert judged.active().keys() == {NEW.rstrip(".")}
    [asked] = judged.model.asked[asked_before:]
    offered = [line for line in asked.user.splitlines() if line.startswith("M")]
    assert any("blue badge" in line for line in offered)
    assert not any("badge A" in line for line in offered)
    found = judged.ana.post("/recall", json={"query": OLD, "top_k": 3}).json()
    assert [item["text"] for item in found["memories"]] == [NEW]
    assert "badge A" not in found["prompt"]
