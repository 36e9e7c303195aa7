"""A tenant whose sources bring things: an operator, a service that writes, and a person."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from ingatan.embeddings import Vector
from ingatan.identity import tenant_uuid
from ingatan.testing import WordEmbedder
from ingatan.types import Role
from tests.serving import Service
from tests.signing import Signer
from tests.tables import Tables

JOSE = {"Content-Type": "application/jose"}
WAIT_SECONDS = 20.0


class Gate(WordEmbedder):
    """An embedder that can be held while it embeds what would be stored."""

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.arrived, self.opened = threading.Event(), threading.Event()

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors, once the gate is open."""
        if self.held:
            self.held = False
            self.arrived.set()
            assert self.opened.wait(WAIT_SECONDS)
        return list(super().passages(texts))


@dataclass
class House:
    """A tenant with an operator, a service that writes, and the tables behind."""

    service: Service
    gate: Gate
    tables: Tables
    operator: httpx.Client
    agent: httpx.Client
    ana: httpx.Client
    person: str

    def source(self, kind: str = "external", **fields: Any) -> str:
        """A registered source; the agent speaks for it."""
        agent = str(self.service.principal("agent").subject_id)
        named = {"name": kind, "kind": kind} | ({} if kind == "event" else {"writer_id": agent})
        return str(self.operator.post("/sources", json=named | fields).raise_for_status().json()["id"])

    def events(self, **fields: Any) -> Signer:
        """A registered source of signed events."""
        signer = Signer()
        signer.tenant_id = str(tenant_uuid("default"))
        signer.source_id = self.source("event", keys=signer.keys, scopes=["user", "account"], **fields)
        return signer

    def happened(self, signer: Signer, text: str, **claims: Any) -> httpx.Response:
        """An event about Ana, unless it says otherwise."""
        about = {} if "account" in claims else {"sub": self.person}
        return self.agent.post("/episodes", content=signer.event(text, **about, **claims), headers=JOSE)

    def bring(self, source: str, text: str, client: httpx.Client | None = None, **fields: Any) -> httpx.Response:
        """Pass content on about Ana."""
        given = {name: fields.pop(name) for name in ("batch_id", "derived_from", "kind") if name in fields}
        body = {
            "text": text,
            "type": "fact",
            "subject_id": self.person,
            "source": {"kind": "external", "source_id": source} | given,
        } | fields
        return (client or self.agent).post("/candidates", json=body)

    def approve(self, candidate_id: str) -> str:
        """A reviewer approves what waits; the memory's id."""
        rita = self.service.client("rita", roles=[Role.REVIEWER])
        answer = rita.post(f"/review/candidates/{candidate_id}/approve", json={})
        assert answer.json().get("memory_id"), answer.text
        return str(answer.json()["memory_id"])

    def recalled(self, query: str, client: httpx.Client | None = None, **fields: Any) -> list[str]:
        """Texts recalled, sorted."""
        asked = (client or self.ana).post("/recall", json={"query": query, **fields}).raise_for_status().json()
        return sorted(item["text"] for item in asked["memories"])

    def audited(self, action: str) -> list[dict[str, Any]]:
        """Audit rows of one action."""
        auditor = self.service.client("aud", roles=[Role.AUDITOR])
        rows = auditor.get("/audit", params={"limit": 100}).raise_for_status().json()["items"]
        return [row for row in rows if row["action"] == action]
