"""Field cases of kind K04: credentials and identifiers kept as memories. Every secret is put together at run time.

| door | what is shown here |
|------|--------------------|
| POST /candidates, PATCH /memories, sweeps by rules and by a model | refused with its class, nothing is embedded |
| afterwards | only the person's own turn holds the value; what an older release kept is found and closed |
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.memories.extraction import RulesExtractor
from ingatan.rescan import rescan
from ingatan.screening import screen
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from ingatan.types import Reason, Role
from tests.model_server import Step, model_server, operation, proposes, reacts
from tests.serving import Service, serving
from tests.tables import Tables

MIXED = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"
CLASSIC = "gh" + "p_" + MIXED[:36]
VALUES = {
    "prefix": CLASSIC,
    "hyphenated": "sk" + "-proj-" + MIXED,
    "dotted": "S" + "G." + MIXED[:22] + "." + MIXED[:40],
    "broken by a line": CLASSIC[:20] + "\n" + CLASSIC[20:],
    "broken by nothing": CLASSIC[:20] + "\u200b" + CLASSIC[20:],
    "connection": "postgres://u:" + "p4ss" + "@h/db",
    "pem": "-----BEGIN " + "PRIVATE KEY----- " + "MIIEvQIBADANBg",
    "card": "4111" + "11111111" + "1111",
    "national": "11710345" + "07900002",
    "password": "my password is " + "seven-blue-herons",
    "kata sandi": "kata sandi saya " + "tujuh-bangau-biru",
    "mật khẩu": "mật khẩu của tôi là " + "bay-con-hac-xanh",
}
CLASSES = {"card": Reason.IDENTIFIER, "national": Reason.IDENTIFIER}
BENIGN = (
    "I pinned commit 3f2a9c1e7b5d4086af91c2e3d4b5a69788776655 in my repository",
    "I use a desk-mounted-monitor-arm-holder",
    "the parcel had no key in it",
    "My order number is 1234567890123456",
    "I work on branch feature/PROJ-123-add-login",
    "I sort by the uuid 123e4567-e89b-12d3-a456-426614174000",
)


@dataclass
class House:
    """A service, the tables behind it, and what its embedder heard."""

    service: Service
    tables: Tables
    embedder: WordEmbedder

    def stored(self, mark: str) -> dict[str, list[str]]:
        """The rows that hold ``mark``, but for the turn in which the person said it and the title made of that turn."""
        turns = {"messages", "conversations"}
        return {name: rows for name, rows in self.tables.about([mark]).items() if name not in turns}


def said(value: str) -> str:
    """A statement that would be kept but for its value."""
    return f"Remember that I use {value}"


def mark(value: str) -> str:
    """What must be nowhere afterwards: the longest unbroken part of the value."""
    return max(value.replace("\u200b", " ").split(), key=len).strip("-")


@pytest.fixture
def house(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, tables: Tables) -> Iterator[House]:
    embedder = WordEmbedder()
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, embedder=embedder, extractor=RulesExtractor()) as service:
        yield House(service, tables, embedder)


@contextmanager
def with_model(house: House, path: Path, *script: Step) -> Iterator[Service]:
    """A second service on the same database whose extraction is by a scripted model."""
    with model_server(*script) as model:
        settings = model.settings()
        with serving(house.service.app.settings.database.url.get_secret_value(), path, environ=settings) as service:
            yield service


def propose(client: httpx.Client, text: str) -> dict[str, Any]:
    body = {"text": text, "type": "fact", "source": {"kind": "self"}}
    found: dict[str, Any] = client.post("/candidates", json=body).raise_for_status().json()
    return found


def audited(service: Service) -> list[dict[str, Any]]:
    """Every audit row, as an auditor reads it."""
    auditor = service.client("auditor", roles=(Role.AUDITOR,))
    items: list[dict[str, Any]] = auditor.get("/audit", params={"limit": "100"}).raise_for_status().json()["items"]
    return items


@pytest.mark.parametrize("kind", VALUES)
def test_k04_a_secret_is_refused_at_every_door(house: House, heard: io.StringIO, tmp_path: Path, kind: str) -> None:
    value, reason = VALUES[kind], CLASSES.get(kind, Reason.CREDENTIAL).value
    ana = house.service.client()

    answer = propose(ana, said(value))
    assert answer["decision"] == "reject"
    whole = "\n" not in value  # in two lines it is refused before, as more than one sentence
    assert (reason in answer["reasons"]) or not whole

    kept = propose(ana, "I use QGIS")
    patched = ana.patch(f"/memories/{kept['memory_id']}", json={"text": said(value)})
    assert patched.status_code == 422
    assert (reason in patched.json()["reasons"]) or not whole

    house.service.say(ana, said(value))
    house.service.sweep()

    house.service.say(ana, f"Note: {said(value)}", "I like tea with lemon")
    line = said(value).split("\n")[0]
    lies = reacts(lambda asked: proposes(operation("add", (asked.label(line[:24]), line), text=line)))
    with with_model(house, tmp_path / "model", lies) as modelled:
        modelled.sweep(minutes=60)

    assert "I use QGIS" in [item["text"] for item in house.service.remembered(ana)]
    assert house.stored(mark(value)) == {}
    assert all(mark(value) not in text for text in house.embedder.seen)
    rows = json.dumps(audited(house.service))
    assert (reason in rows) or not whole
    assert mark(value) not in rows
    assert mark(value) not in heard.getvalue()
    assert mark(value) not in patched.text + json.dumps(answer)


@pytest.mark.parametrize("text", BENIGN)
def test_k04_what_only_looks_like_a_secret_is_none(text: str) -> None:
    reasons = {finding.reason for finding in screen([text], language="en")}
    assert reasons & {Reason.CREDENTIAL, Reason.IDENTIFIER, Reason.OBFUSCATED} == set()


def test_k04_the_benign_are_kept(house: House) -> None:
    ana = house.service.client()
    for text in (BENIGN[1], BENIGN[4]):
        assert propose(ana, text)["decision"] == "accept", text


def test_k04_what_is_stored_already_is_found_and_closed(house: House) -> None:
    ana, bo = house.service.client("ana"), house.service.client("bo", tenant="other")
    kept = [propose(client, "I use QGIS")["memory_id"] for client in (ana, bo)]
    propose(ana, "I prefer short answers")
    value = VALUES["prefix"]
    for id in kept:  # as a release without this detector would have kept it
        house.tables.run("update memories set text = %s where id = %s", said(value), id)
    app = house.service.app

    looked = rescan(app.database, app.audit, close=False)
    assert (looked.owners, looked.memories, looked.refused, looked.closed) == (2, 3, 2, 0)
    assert {str(each.memory_id) for each in looked.listed} == set(kept)
    assert looked.reasons["credential"] == 2
    assert len(house.service.remembered(ana)) == 2

    closed = rescan(app.database, app.audit, close=True)
    assert (closed.refused, closed.closed) == (2, 2)
    assert [item["text"] for item in house.service.remembered(ana)] == ["I prefer short answers"]
    assert house.service.remembered(bo) == []
    assert value not in ana.post("/recall", json={"query": "What do I use?"}).raise_for_status().text
    rows = [row for row in audited(house.service) if row["details"].get("by") == "rescan"]
    assert [row["entity_id"] for row in rows] == [kept[0]]
    assert rows[0]["action"] == "memory_closed"
    assert "credential" in rows[0]["details"]["reasons"]
    assert mark(value) not in json.dumps(rows) + json.dumps(closed.as_json())
    assert rescan(app.database, app.audit, close=True).refused == 0
