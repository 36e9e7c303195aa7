"""A real service for tests: an App on a fresh database behind a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import uvicorn
from fastapi import FastAPI

from ingatan import api, settings
from ingatan.app import App
from ingatan.embeddings import Embedder
from ingatan.identity import DEVELOPMENT_ISSUER, development_token, subject_uuid, tenant_uuid
from ingatan.memories.extraction import Extractor
from ingatan.sweep_report import SweepReport
from ingatan.testing import WordEmbedder
from ingatan.types import Principal, Role

START_SECONDS = 10.0
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of loopback: reading the certificates that everybody trusts takes a client longer than most tests."""
_idle: list[FastAPI] = []
"""Web applications of services that ended: their routes are built once, whichever App they serve."""


def _keep_as_it_came(web: FastAPI, app: App) -> None:
    """Nothing beside the API."""


class PromptServer(uvicorn.Server):
    """Ends as soon as it is asked to and has answered, where uvicorn's looks ten times a second."""

    async def main_loop(self) -> None:
        """Wait until ``stop``."""
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await self._asked.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more, let what runs end, close."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(0.001)
        await self.lifespan.shutdown()

    def stop(self) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._asked.set)


@dataclass
class Service:
    """A running service and ways to use it as its people would."""

    app: App
    web: FastAPI
    address: str
    embedder: Embedder
    sign_in: str | None = None
    clients: list[httpx.Client] = field(default_factory=list)

    def client(
        self, subject: str = "ana", *, tenant: str = "default", roles: Sequence[Role] = (Role.USER,)
    ) -> httpx.Client:
        """An HTTP client signed in as ``subject``."""
        assert self.app.development_key is not None
        token = development_token(self.app.development_key, subject=subject, tenant=tenant, roles=roles)
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=self.address, headers=headers, timeout=30, verify=NO_TLS)
        self.clients.append(client)
        return client

    def principal(self, subject: str = "ana", *, tenant: str = "default") -> Principal:
        """The principal that ``client(subject)`` is."""
        return Principal(tenant_uuid(tenant), subject_uuid(DEVELOPMENT_ISSUER, subject), verified=True)

    def sweep(self, *, minutes: float = 31) -> SweepReport:
        """Sweep as if ``minutes`` had passed."""
        return self.app.sweeper.sweep(datetime.now(UTC) + timedelta(minutes=minutes))

    def say(self, client: httpx.Client, *texts: str, conversation_id: str | None = None) -> str:
        """Say ``texts`` as user turns; returns the conversation's id."""
        id = conversation_id or client.post("/conversations", json={}).raise_for_status().json()["id"]
        turns = [{"role": "user", "content": text} for text in texts]
        client.post(f"/conversations/{id}/messages", json={"messages": turns}).raise_for_status()
        return str(id)

    def remembered(self, client: httpx.Client, status: str = "active") -> list[dict[str, Any]]:
        """All memories of the client's person in ``status``."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            query = {"status": status, "limit": "100"} | ({"cursor": cursor} if cursor else {})
            page = client.get("/memories", params=query).raise_for_status().json()
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return items


@contextmanager
def serving(
    url: str,
    data_directory: Path,
    *,
    environ: dict[str, str] | None = None,
    embedder: Embedder | None = None,
    previous: Sequence[Embedder] = (),
    extractor: Extractor | None = None,
    pause: Callable[[str], None] = lambda step: None,
    install: Callable[[FastAPI, App], str | None] = _keep_as_it_came,
) -> Iterator[Service]:
    """Serve the database at ``url`` on a free loopback port until the block ends."""
    chosen = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_DATABASE__URL": url,
        "INGATAN_LLM__LOOPBACK_ONLY": "true",
        "INGATAN_SERVER__DATA_DIRECTORY": str(data_directory),
        **(environ or {}),
    }
    vectors = embedder or WordEmbedder()
    app = App.start(settings.load(chosen), embedder=vectors, previous=previous, extractor=extractor, pause=pause)
    web = _idle.pop() if install is _keep_as_it_came and _idle else api.create(app)
    web.state.app = app
    sign_in = install(web, app)
    server = PromptServer(uvicorn.Config(web, host="127.0.0.1", port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    service = Service(app, web, f"http://127.0.0.1:{port}", vectors, sign_in)
    try:
        yield service
    finally:
        for client in service.clients:
            client.close()
        server.stop()
        thread.join(START_SECONDS)
        app.close()
        if install is _keep_as_it_came:
            _idle.append(web)


def ids(items: list[dict[str, Any]]) -> list[UUID]:
    """The ids of listed items, in order."""
    return [UUID(item["id"]) for item in items]
