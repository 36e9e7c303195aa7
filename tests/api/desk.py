"""A tenant with a source of signed events, a service that passes them on, and a person they are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from ingatan.identity import tenant_uuid
from tests.serving import Service
from tests.signing import Signer

HAPPENED = "Case 417 was escalated to engineering."
JOSE = {"Content-Type": "application/jose"}


@dataclass
class Desk:
    """A tenant with a source of events about people and accounts, and a service that passes them on."""

    service: Service
    operator: httpx.Client
    agent: httpx.Client
    signer: Signer
    account: str
    person: str

    def source(self, signer: Signer, **fields: Any) -> httpx.Response:
        """Register ``signer``."""
        body = {"name": "T", "kind": "event", "keys": signer.keys, "scopes": ["user", "account"], **fields}
        answer = self.operator.post("/sources", json=body)
        if answer.status_code == 201:
            signer.source_id, signer.tenant_id = answer.json()["id"], str(tenant_uuid("default"))
        return answer

    def send(self, token: str, client: httpx.Client | None = None, *, key: str = "") -> httpx.Response:
        """Post a token."""
        return (client or self.agent).post(
            "/episodes", content=token, headers=JOSE | ({"Idempotency-Key": key} if key else {})
        )

    def event(self, **claims: Any) -> str:
        """An event about the person, unless it says otherwise."""
        about = {} if {"sub", "account"} & set(claims) else {"sub": self.person}
        return self.signer.event(claims.pop("text", HAPPENED), **about, **claims)

    def reason(self, token: str) -> str:
        """Why an event is not believed."""
        answer = self.send(token)
        assert answer.status_code == 422, answer.text
        return str(answer.json().get("reason") or answer.json()["reasons"][0])


def recalled(client: httpx.Client, query: str = "What happened to case 417?", **fields: Any) -> list[str]:
    answer = client.post("/recall", json={"query": query, **fields}).raise_for_status().json()
    return [item["text"] for item in answer["memories"]]
