"""A scoped and an unscoped sweeper on one database (S1): each with its own marker and lock, side by side."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from ingatan.sweep_report import SweepReport
from ingatan.types import Candidate, Turn
from tests.api.test_workspaces import PEOPLE, person
from tests.serving import Service, serving

ANA = UUID(PEOPLE["ana"])
SAID = ("I work at the port of Sabang.", "I prefer short answers.", "I use Python and QGIS.", "I live in Banda Aceh.")
WAIT_SECONDS = 20.0


class Gate(RulesExtractor):
    """The rules, behind a gate: ``arrived`` is set when an extraction waits, which goes on once ``opened`` is set."""

    def __init__(self, *, opened: bool = True) -> None:
        super().__init__()
        self.arrived = threading.Event()
        self.opened = threading.Event()
        self.askers: list[UUID] = []
        if opened:
            self.opened.set()

    def extract(self, turns: Sequence[Turn], **asked: Any) -> tuple[Candidate, ...]:
        """What the rules find, once the gate is open."""
        self.askers.append(asked["subject_id"])
        self.arrived.set()
        assert self.opened.wait(WAIT_SECONDS)
        return super().extract(turns, **asked)


class Lanes:
    """Two services of one database: ``scoped`` by an allowlist of Ana alone, and ``unscoped``."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory

    @contextmanager
    def serve(self, scoped: Gate, unscoped: Gate) -> Iterator[tuple[Service, Service]]:
        only_ana = {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": json.dumps([PEOPLE["ana"]])}
        with ExitStack() as stack:
            first = stack.enter_context(serving(self.url, self.directory, environ=only_ana, extractor=scoped))
            yield first, stack.enter_context(serving(self.url, self.directory, extractor=unscoped))


@pytest.fixture
def lanes(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Lanes:
    return Lanes(server.url(embedded.APP, database_name), tmp_path)


def said(service: Service) -> tuple[str, str]:
    """Ana and Bea each say four things; their conversations."""
    return tuple(service.say(person(service, name), *SAID) for name in ("ana", "bea"))  # type: ignore[return-value]


@pytest.mark.parametrize("slow", ["scoped", "unscoped"])
def test_neither_delays_the_other(lanes: Lanes, slow: str) -> None:
    gates = {name: Gate(opened=name != slow) for name in ("scoped", "unscoped")}
    with lanes.serve(gates["scoped"], gates["unscoped"]) as (scoped, unscoped), ThreadPoolExecutor(1) as pool:
        said(scoped)
        services = {"scoped": scoped, "unscoped": unscoped}
        waiting = pool.submit(services.pop(slow).sweep)
        assert gates[slow].arrived.wait(WAIT_SECONDS)
        [quick] = services.values()
        report = quick.sweep()
        assert report.led
        assert report.conversations == (1 if quick is scoped else 2), "Ana is in hand in the other lane only"
        assert not waiting.done()
        gates[slow].opened.set()
        late = waiting.result(WAIT_SECONDS)
        assert late.conversations == (2 if quick is scoped else 1)
        assert (late.stale, late.failed) == (0, 0)
        for service in (scoped, unscoped):
            assert len(service.remembered(person(service, "ana"))) == 3, "the cap of one conversation holds for both"
        assert len(unscoped.remembered(person(unscoped, "bea"))) == 3


def test_both_at_once_write_everything_once(lanes: Lanes) -> None:
    with lanes.serve(Gate(), Gate()) as (scoped, unscoped), ThreadPoolExecutor(2) as pool:
        ids = [scoped.say(person(scoped, "ana"), said) for said in SAID] + list(said(scoped))
        reports: list[SweepReport] = list(pool.map(lambda service: service.sweep(), (scoped, unscoped) * 3))
        later = [service.sweep() for service in (scoped, unscoped)]
        assert sum(report.failed + report.abandoned for report in [*reports, *later]) == 0
        ana, bea = person(unscoped, "ana"), person(unscoped, "bea")
        assert len({item["text"] for item in unscoped.remembered(ana)}) == len(unscoped.remembered(ana)) == 4
        assert len(unscoped.remembered(bea)) == 3
        for id in ids[:-1]:
            metadata = ana.get(f"/conversations/{id}").json()["metadata"]
            assert metadata.keys() == {
                "memory_consolidated_through",
                "memory_extraction_failures",
                "memory_scoped_consolidated_through",
                "memory_scoped_extraction_failures",
            }
        unlisted = bea.get(f"/conversations/{ids[-1]}").json()["metadata"]
        assert unlisted.keys() == {"memory_consolidated_through", "memory_extraction_failures"}


def test_each_lane_has_its_own_marker(lanes: Lanes) -> None:
    with lanes.serve(Gate(), Gate()) as (scoped, unscoped):
        said(scoped)
        assert unscoped.sweep().conversations == 2
        assert scoped.sweep().conversations == 1, "what the unscoped one marked is not marked for the scoped one"
        assert scoped.sweep().conversations == unscoped.sweep().conversations == 0


def test_bounds_of_a_sweep_are_kept(lanes: Lanes) -> None:
    environ = {
        "INGATAN_MEMORY__SWEEP_BATCH_SIZE": "2",
        "INGATAN_MEMORY__IDLE_MINUTES": "10",
        "INGATAN_MEMORY__LOOKBACK_HOURS": "1",
    }
    with serving(lanes.url, lanes.directory, environ=environ, extractor=Gate()) as service:
        for name in ("ana", "bea", "cia"):
            service.say(person(service, name), SAID[0])
        assert service.sweep(minutes=9).conversations == 0
        assert [service.sweep(minutes=11).conversations for _ in range(3)] == [2, 1, 0]
        service.say(person(service, "ana"), SAID[1])
        assert service.sweep(minutes=61).conversations == 0, "not active lately"
        assert service.app.sweeper.sweep(datetime.now(UTC) + timedelta(minutes=59)).conversations == 1


def test_concurrent_extractions_are_one_a_person(lanes: Lanes) -> None:
    environ = {"INGATAN_MEMORY__MAX_CONCURRENT_WRITES": "4"}
    gate = Gate(opened=False)
    with (
        serving(lanes.url, lanes.directory, environ=environ, extractor=gate) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        for text in SAID:
            service.say(person(service, "ana"), text)
        for name in ("bea", "cia"):
            service.say(person(service, name), SAID[0])
        sweeping = pool.submit(service.sweep)
        assert gate.arrived.wait(WAIT_SECONDS)
        until = datetime.now(UTC) + timedelta(seconds=WAIT_SECONDS)
        while len(gate.askers) < 3 and datetime.now(UTC) < until:
            threading.Event().wait(0.01)
        threading.Event().wait(0.2)
        assert sorted(gate.askers) == sorted(UUID(PEOPLE[name]) for name in ("ana", "bea", "cia"))
        gate.opened.set()
        report = sweeping.result(WAIT_SECONDS)
        assert (report.conversations, report.written, report.failed) == (6, 6, 0)
        assert gate.askers.count(ANA) == 4


def test_stopping_finishes_what_is_in_hand_and_begins_nothing_more(lanes: Lanes) -> None:
    environ = {"INGATAN_MEMORY__MAX_CONCURRENT_WRITES": "2"}
    gate = Gate(opened=False)
    with (
        serving(lanes.url, lanes.directory, environ=environ, extractor=gate) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        for name in PEOPLE:
            service.say(person(service, name), SAID[0])
        sweeping = pool.submit(service.sweep)
        assert gate.arrived.wait(WAIT_SECONDS)
        service.app.sweeper.stop()
        gate.opened.set()
        report = sweeping.result(WAIT_SECONDS)
        assert 1 <= report.conversations <= 2
        assert report.written == report.conversations
        assert report.failed == 0
    with serving(lanes.url, lanes.directory, extractor=Gate()) as service:
        assert service.sweep().conversations == 4 - report.conversations, "the lead was given back, nothing is held"
