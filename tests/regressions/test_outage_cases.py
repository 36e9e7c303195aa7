"""Field cases of kind G: the database goes away in the middle.

| case | what is shown here |
|------|--------------------|
| G05 | cut at each statement of each act: all or nothing, 503, repeated once, and nothing is left behind |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.errors import IngatanError
from ingatan.identity import tenant_uuid
from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from tests.cutter import Cutter, cutting
from tests.serving import Service, serving
from tests.tables import Tables

OSLO, PORTO = "I live in Oslo.", "I live in Porto."
STATEMENTS_MAX = 200
"""No act takes so many."""
AFTERWARDS = 100


@dataclass
class Broken:
    """A service whose way to the database breaks when told."""

    service: Service
    cutter: Cutter
    tables: Tables
    met: int = 0
    clients: list[httpx.Client] = field(default_factory=list)

    def stranger(self) -> tuple[httpx.Client, str]:
        """Somebody in a tenant of their own, and its id."""
        self.met += 1
        name = f"tenant-{self.met}"
        client = self.service.client(tenant=name)
        client.put("/consent", json={"consent": "granted"}).raise_for_status()
        return client, str(tenant_uuid(name))


@pytest.fixture
def broken(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, tables: Tables) -> Iterator[Broken]:
    environ = {"INGATAN_DATABASE__POOL_SIZE": "2", "INGATAN_DATABASE__TIMEOUT_SECONDS": "5"}
    with (
        cutting(server.url(embedded.APP, database_name)) as cutter,
        serving(cutter.url, tmp_path, environ=environ, extractor=RulesExtractor()) as service,
    ):
        yield Broken(service, cutter, tables)


Act = Callable[[], httpx.Response | None]
Ready = Callable[[Broken, httpx.Client], Act]
KEY = {"Idempotency-Key": "once"}


def state(client: httpx.Client, text: str = OSLO, **more: Any) -> httpx.Response:
    body = {"text": text, "type": "fact", "source": {"kind": "self"}}
    return client.post("/candidates", json=body, **more)


def appends(broken: Broken, client: httpx.Client) -> Act:
    id = broken.service.say(client, "hello")
    turns = {"messages": [{"role": "user", "content": OSLO}, {"role": "user", "content": "Where is berth four?"}]}
    return lambda: client.post(f"/conversations/{id}/messages", json=turns, headers=KEY)


def accepts(broken: Broken, client: httpx.Client) -> Act:
    return lambda: state(client, headers=KEY)


def corrects(broken: Broken, client: httpx.Client) -> Act:
    id = state(client).json()["memory_id"]
    return lambda: client.patch(f"/memories/{id}", json={"text": PORTO})


def erases(broken: Broken, client: httpx.Client) -> Act:
    id = state(client).json()["memory_id"]
    return lambda: client.delete(f"/memories/{id}", params={"never_again": "true"})


def erases_everything(broken: Broken, client: httpx.Client) -> Act:
    state(client)
    broken.service.say(client, "I prefer short answers.")
    return lambda: client.delete("/memories")


def starts(broken: Broken, client: httpx.Client) -> Act:
    body = {"title": "talk", "metadata": {"channel": "web"}}
    return lambda: client.post("/conversations", json=body, headers=KEY)


def never(broken: Broken, client: httpx.Client) -> Act:
    return lambda: client.post("/consent/never-again", json={"slot": "workplace"}, headers=KEY)


def sweeps(broken: Broken, client: httpx.Client) -> Act:
    broken.service.say(client, OSLO)

    def act() -> None:
        broken.tables.run(
            "update leases set lease_until = now() - interval '1 second'; update sweep_state set lease_until = null;"
            " update subjects set lease_until = null, scoped_lease_until = null"
        )
        try:
            broken.service.sweep()
        except IngatanError as error:
            assert error.status == 503  # noqa: PT017 (either way may be, and this one only so)

    return act


ACTS: dict[str, Ready] = {
    "start a conversation": starts, "append turns": appends, "accept": accepts,
    "correct": corrects, "erase one": erases, "erase everything": erases_everything, "never again": never,
    "sweep": sweeps,
}  # fmt: skip
ONCE = {"start a conversation", "append turns", "accept", "never again", "sweep"}
"""Acts that may be repeated whether or not they were done: with their key, or because a sweep knows what it did."""


def moved(broken: Broken, tenant: str, before: dict[str, int]) -> dict[str, int]:
    """What an act changed; audit rows count the same before and after they are chained."""
    after = broken.tables.counts(tenant)
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


@pytest.mark.parametrize("name", ACTS)
def test_g05_cut_at_any_statement_it_is_as_before_or_as_after(broken: Broken, name: str) -> None:
    ready = ACTS[name]
    client, tenant = broken.stranger()
    act, before = ready(broken, client), broken.tables.counts(tenant)
    done = act()
    assert done is None or done.is_success
    whole = moved(broken, tenant, before)
    assert whole
    for statement in range(1, STATEMENTS_MAX):
        client, tenant = broken.stranger()
        act, before = ready(broken, client), broken.tables.counts(tenant)
        broken.cutter.arm(statement)
        answer = act()
        cut = broken.cutter.disarm()
        found = moved(broken, tenant, before)
        assert found in ({}, whole), statement
        if not cut:
            assert found == whole
            break
        if answer is not None and answer.is_success:
            assert found == whole, statement  # what was cut was a spare connection being made beside the act
            continue
        if answer is not None:
            assert answer.status_code == 503, statement
            assert answer.headers["retry-after"]
        if found == {} or name in ONCE:
            again = act()
            assert again is None or again.is_success
            assert moved(broken, tenant, before) == whole, statement
    assert not cut, "there are more statements than were tried"
    assert statement > 1
    well_afterwards(broken)


def well_afterwards(broken: Broken) -> None:
    """A hundred requests over two connections, and no session left in a transaction."""
    clients = [broken.service.client(f"person-{n}") for n in range(10)]

    def use(n: int) -> int:
        client = clients[n % 10]
        if n % 3 == 0:
            return client.post("/recall", json={"query": "Where?"}).status_code
        return (client.get("/memories") if n % 3 == 1 else state(client, f"I use tool{n} every day.")).status_code

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(use, range(AFTERWARDS))) <= {200, 201}
    sessions = "select state from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    states = [str(row[0]) for row in broken.tables.run(sessions)]
    assert 1 <= len(states) <= 2
    assert set(states) == {"idle"}
    assert broken.tables.run("select pid from pg_locks where locktype = 'advisory'") == []
