"""F01, F03: turns posted at once by several askers, and several sweepers over the same conversations."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from ingatan.sweep_report import SweepReport
from ingatan.types import Candidate, Role, Turn
from tests.api.test_workspaces import PEOPLE, conversation, person, workspace
from tests.serving import Service, serving

SAID = "I work at the port of Sabang."
CLOCK = "2026-11-29T10:00:00+07:00"
SWEEPERS = 8
IDLE_CONVERSATIONS = 100
WAIT_SECONDS = 30.0


class Counted(RulesExtractor):
    """The rules, counting calls a conversation; ``slow`` conversations wait for ``opened``, once each."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[UUID] = []
        self.slow = 0
        self.arrived = threading.Event()
        self.opened = threading.Event()
        self.turns: list[tuple[Turn, ...]] = []

    def extract(self, turns: Sequence[Turn], **asked: Any) -> tuple[Candidate, ...]:
        """What the rules find."""
        self.calls.append(asked["conversation_id"])
        self.turns.append(tuple(turns))
        if self.slow:
            self.slow -= 1
            self.arrived.set()
            assert self.opened.wait(WAIT_SECONDS)
        return super().extract(turns, **asked)


class Fleet:
    """Services over one database that share an extractor."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory

    @contextmanager
    def serve(self, count: int, extractor: Counted, **settings: str) -> Iterator[list[Service]]:
        environ = {
            "INGATAN_MEMORY__SWEEP_BATCH_SIZE": "200",
            "INGATAN_DATABASE__POOL_SIZE": "2",
            "INGATAN_DATABASE__TIMEOUT_SECONDS": "60",
            **{f"INGATAN_MEMORY__{name.upper()}": value for name, value in settings.items()},
        }
        with ExitStack() as stack:
            yield [
                stack.enter_context(serving(self.url, self.directory, environ=environ, extractor=extractor))
                for _ in range(count)
            ]


@pytest.fixture
def fleet(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Fleet:
    return Fleet(server.url(embedded.APP, database_name), tmp_path)


def test_f01_turns_posted_at_once_by_several_askers_keep_one_order(fleet: Fleet) -> None:
    """F01: 50 parallel posts of 1 to 3 turns to one conversation, appends to 20 others, one client time."""
    extractor = Counted()
    on = {"shared_conversations": "true", "extract_max_messages": "1000"}
    with fleet.serve(1, extractor, **on) as [service], ThreadPoolExecutor(12) as pool:
        clients = {name: person(service, name) for name in ("ana", "bea", "cia")}
        id = conversation(clients["ana"], workspace(clients["ana"], "bea", "cia"))
        others = [str(clients["bea"].post("/conversations", json={}).json()["id"]) for _ in range(20)]

        def post(n: int) -> tuple[str, int, list[tuple[int, str]]]:
            name, where = ("ana", "bea", "cia")[n % 3], id
            if n >= 50:
                name, where = "bea", others[n - 50]
            turns = [{"role": "user", "content": f"{n}:{part}", "created_at": CLOCK} for part in range(n % 3 + 1)]
            answer = clients[name].post(f"/conversations/{where}/messages", json={"messages": turns})
            return name, answer.status_code, [(turn["seq"], turn["content"]) for turn in answer.json()["messages"]]

        posted = list(pool.map(post, range(70)))
        assert {status for _, status, _ in posted} == {201}
        placed = sorted(turn for _, _, turns in posted[:50] for turn in turns)
        assert [seq for seq, _ in placed] == list(range(1, len(placed) + 1))
        for _, _, turns in posted[:50]:
            assert [seq for seq, _ in turns] == list(range(turns[0][0], turns[0][0] + len(turns))), "side by side"
        items: list[dict[str, object]] = []
        cursor: str | None = None
        while True:
            query = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
            page = clients["cia"].get(f"/conversations/{id}/messages", params=query).json()
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert [(item["seq"], item["content"]) for item in items] == placed
        authors = {text.split(":")[0]: name for name, _, turns in posted[:50] for _, text in turns}
        for item in items:
            said_by = authors[str(item["content"]).split(":")[0]]
            assert item["metadata"] == {"author_id": PEOPLE[said_by]}
        service.sweep()
        order = {text: seq for seq, text in placed}
        read = [call for where, call in zip(extractor.calls, extractor.turns, strict=True) if str(where) == id]
        assert len(read) == 3
        assert sorted(turn.text for call in read for turn in call) == sorted(order)
        for call in read:
            assert [turn.seq for turn in call] == sorted(order[turn.text] for turn in call)
        found = service.client("auditor", roles=[Role.AUDITOR]).get("/audit/verify").json()
        assert found["sound"] is True


def test_f01_appending_while_it_is_swept_neither_waits_for_ever_nor_fails(fleet: Fleet) -> None:
    """Appends and commits take the conversation's locks in one order: no deadlock between them."""
    with fleet.serve(1, Counted(), shared_conversations="true") as [service], ThreadPoolExecutor(4) as pool:
        ana, bea = person(service, "ana"), person(service, "bea")
        id = conversation(ana, workspace(ana, "bea"))
        stop = threading.Event()

        def sweep() -> int:
            failed = 0
            while not stop.is_set():
                report = service.sweep()
                failed += report.failed
            return failed

        sweeping = pool.submit(sweep)
        turn = {"messages": [{"role": "user", "content": "Where is berth four?"}]}
        answers = list(
            pool.map(lambda n: (ana, bea)[n % 2].post(f"/conversations/{id}/messages", json=turn), range(60))
        )
        erased = [bea.delete("/memories").status_code for _ in range(5)]
        stop.set()
        assert sweeping.result(WAIT_SECONDS) == 0
        assert {answer.status_code for answer in answers} == {201}
        assert set(erased) == {200}


def test_f03_eight_sweepers_extract_each_of_a_hundred_conversations_once(fleet: Fleet) -> None:
    """F03 (a): even when the lead is taken from whoever holds it, again and again."""
    extractor = Counted()
    with fleet.serve(SWEEPERS, extractor, max_concurrent_writes="2") as services, ThreadPoolExecutor(SWEEPERS) as pool:
        first = services[0]
        people = [first.client(f"person-{n % 25}") for n in range(25)]
        for n in range(IDLE_CONVERSATIONS):
            first.say(people[n % 25], SAID)
        stop = threading.Event()

        def usurp() -> None:
            while not stop.wait(0.02):
                with first.app.database.jobs() as connection:
                    connection.run("probe.run_out_leases")

        usurper = threading.Thread(target=usurp)
        usurper.start()
        until = time.monotonic() + WAIT_SECONDS

        def sweep(service: Service) -> list[SweepReport]:
            reports: list[SweepReport] = []
            while len(extractor.calls) < IDLE_CONVERSATIONS and time.monotonic() < until:
                reports.append(service.sweep())
            return [*reports, service.sweep()]

        swept = list(pool.map(sweep, services))
        reports = [report for found in swept for report in found]
        stop.set()
        usurper.join()
        assert sum(report.conversations for report in reports) == IDLE_CONVERSATIONS
        assert (len(extractor.calls), len(set(extractor.calls))) == (IDLE_CONVERSATIONS, IDLE_CONVERSATIONS)
        assert sum(report.failed + report.stale for report in reports) == 0
        busy = [found for found in swept if any(report.conversations for report in found)]
        assert len(busy) > 1, "the lead really went from one to another"
        for client in people:
            assert len(first.remembered(client)) == 1
            assert len(client.get("/candidates").json()["items"]) == 4
        assert first.client("auditor", roles=[Role.AUDITOR]).get("/audit/verify").json()["sound"] is True


@pytest.mark.parametrize("askers", [1, 2])
def test_f03_a_model_slower_than_the_lease_and_a_worker_that_wakes_late(fleet: Fleet, askers: int) -> None:
    """F03 (b, d): a second worker takes over once the lease has run out; the first one's writes are refused."""
    extractor = Counted()
    with fleet.serve(2, extractor, shared_conversations="true") as [one, two], ThreadPoolExecutor(1) as pool:
        names = ("ana", "bea")[:askers]
        ana = person(one, "ana")
        id = conversation(ana, workspace(ana, "bea"))
        for name in names:
            one.say(person(one, name), SAID, conversation_id=id)
        extractor.slow = 1
        late = pool.submit(one.sweep)
        assert extractor.arrived.wait(WAIT_SECONDS)
        assert two.sweep().led is False, "the first one leads as long as it lives"
        with two.app.database.jobs() as connection:
            connection.run("probe.run_out_leases")
        assert two.sweep().conversations == 0, "in hand until its own lease has run out"
        for name in names:
            run_out(two, name)
        taken = two.sweep()
        assert (taken.conversations, taken.written) == (1, askers)
        extractor.opened.set()
        report = late.result(WAIT_SECONDS)
        assert (report.conversations, report.written, report.stale) == (0, 0, 1)
        for name in names:
            assert len(two.remembered(person(two, name))) == 1
            assert len(person(two, name).get("/candidates").json()["items"]) == 1
        assert two.sweep().conversations == 0


def run_out(service: Service, name: str) -> None:
    """As if the lease time of this person and of their conversations had passed."""
    with service.app.database.write(service.principal(PEOPLE[name])) as connection:
        connection.run("probe.run_out_conversations")
        connection.run("probe.run_out_subjects")
