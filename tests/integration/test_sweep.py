"""The sweep under failure: crashes between steps, several processes, changes while it thinks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan import abandoned
from ingatan.errors import ExtractionRejected, ExtractionUnavailable
from ingatan.storage import embedded
from ingatan.testing import ScriptedExtractor
from ingatan.types import Role
from tests.serving import Service, serving

ROOT = Path(__file__).parents[2]
STATEMENTS = ("I work at the port of Sabang.", "I prefer short answers.", "I use Python and QGIS.")
IDLE = timedelta(minutes=31)


class Database:
    """A test's own database, for processes that open it themselves."""

    def __init__(self, server: embedded.EmbeddedServer, name: str, directory: Path) -> None:
        self.url = server.url(embedded.APP, name)
        self.owner_url = server.url(embedded.ADMINISTRATOR, name)
        self.directory = directory

    def sweep(self, step: str = "", hold: float = 0) -> subprocess.Popen[str]:
        """Start a process that sweeps half an hour from now and stops dead, or holds, at ``step``."""
        moment = (datetime.now(UTC) + IDLE).isoformat()
        command = [sys.executable, "-m", "tests.integration.sweep_process", self.url, str(self.directory), moment]
        return subprocess.Popen(
            [*command, step, str(hold)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )


@pytest.fixture
def own(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Database:
    return Database(server, database_name, tmp_path)


def texts(items: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(item["text"] for item in items)


def run_out_leases(service: Service) -> None:
    """As if the lease time had passed."""
    owner = service.principal()
    with service.app.database.write(owner) as connection:
        connection.run("probe.run_out_conversations")
        connection.run("probe.run_out_subjects")
    with service.app.database.jobs() as connection:
        connection.run("probe.run_out_leases")


@pytest.mark.parametrize("step", ["claimed", "read", "thought", "committed"])
def test_a_kill_between_any_two_steps_loses_nothing_and_repeats_nothing(own: Database, step: str) -> None:
    with serving(own.url, own.directory) as service:
        ana = service.client()
        for statement in STATEMENTS:
            service.say(ana, statement)
        killed = own.sweep(step)
        killed.communicate(timeout=60)
        assert killed.returncode == -9
        before = len(service.remembered(ana))
        assert before == (1 if step == "committed" else 0)
        run_out_leases(service)
        report = service.sweep()
        assert report.written == len(STATEMENTS) - before
        assert texts(service.remembered(ana)) == sorted(statement.rstrip(".") for statement in STATEMENTS)
        decisions = ana.get("/candidates").json()["items"]
        assert [item["decision"] for item in decisions] == ["accept"] * len(STATEMENTS)
        auditor = service.client("auditor", roles=[Role.AUDITOR])
        assert auditor.get("/audit/verify").json()["sound"] is True
        assert service.sweep().conversations == 0


def test_of_two_processes_one_sweeps_and_none_writes_twice(own: Database) -> None:
    with serving(own.url, own.directory) as service:
        people = [service.client(f"person-{n}") for n in range(6)]
        for person in people:
            service.say(person, STATEMENTS[0])
        holding = own.sweep("read", hold=3)
        assert holding.stdout is not None
        assert holding.stdout.readline().strip() == "holding"
        second = service.sweep()
        assert second.led is False
        assert second.written == 0
        output, _ = holding.communicate(timeout=60)
        assert "led=True conversations=6 written=6" in output
        assert service.sweep().conversations == 0
        for person in people:
            assert len(service.remembered(person)) == 1


def test_a_worker_that_wakes_late_is_fenced_off(own: Database) -> None:
    with serving(own.url, own.directory) as service:
        ana = service.client()
        service.say(ana, STATEMENTS[0])
        late = own.sweep("thought", hold=4)
        assert late.stdout is not None
        assert late.stdout.readline().strip() == "holding"
        run_out_leases(service)
        assert service.sweep().written == 1
        output, _ = late.communicate(timeout=60)
        assert "written=0" in output
        assert len(service.remembered(ana)) == 1
        assert len(ana.get("/candidates").json()["items"]) == 1


def paused_at(step: str, act: list[Any]) -> Any:
    """A pause that runs ``act`` once, when ``step`` is reached."""

    def pause(reached: str) -> None:
        if reached == step and act:
            act.pop()()

    return pause


@pytest.mark.parametrize("step", ["claimed", "read", "thought"])
def test_a_sweep_in_flight_brings_nothing_back_after_an_erasure(own: Database, step: str) -> None:
    act: list[Any] = []
    with serving(own.url, own.directory, pause=paused_at(step, act)) as service:
        ana = service.client()
        service.say(ana, STATEMENTS[0])
        act.append(lambda: ana.delete("/memories").raise_for_status())
        service.sweep()
        assert act == []
        service.sweep(minutes=62)
        assert service.remembered(ana) == []
        service.say(ana, STATEMENTS[0])
        service.sweep(minutes=62)
        assert len(service.remembered(ana)) == 1, "said anew, it may be learned again"


def test_words_said_before_an_erasure_do_not_bring_the_memory_back(service: Service) -> None:
    ana = service.client()
    service.say(ana, STATEMENTS[0])
    service.sweep()
    [memory] = service.remembered(ana)
    service.say(ana, STATEMENTS[0])
    ana.delete(f"/memories/{memory['id']}").raise_for_status()
    service.sweep()
    assert service.remembered(ana) == []
    assert ["erased_before"] in [item["reasons"] for item in ana.get("/candidates").json()["items"]]


def test_a_message_that_arrives_during_extraction_is_not_stranded(own: Database) -> None:
    act: list[Any] = []
    with serving(own.url, own.directory, pause=paused_at("thought", act)) as service:
        ana = service.client()
        id = service.say(ana, STATEMENTS[0])
        act.append(lambda: service.say(ana, STATEMENTS[1], conversation_id=id))
        assert service.sweep().written == 1
        assert service.sweep().written == 1
        assert len(service.remembered(ana)) == 2


def test_a_view_deleted_during_extraction_is_not_learned_from(own: Database) -> None:
    act: list[Any] = []
    with serving(own.url, own.directory, pause=paused_at("thought", act)) as service:
        ana = service.client()
        id = service.say(ana, STATEMENTS[0])
        act.append(lambda: ana.delete(f"/conversations/{id}").raise_for_status())
        assert service.sweep().written == 0
        assert service.remembered(ana) == []


def test_a_failure_leaves_the_span_until_attempts_run_out_and_then_lists_it(own: Database) -> None:
    extractor = ScriptedExtractor(*[ExtractionUnavailable("timeout")] * 2, (), ExtractionRejected("truncated"))
    with serving(own.url, own.directory, extractor=extractor) as service:
        ana, bea = service.client(), service.client("bea")
        id = service.say(ana, STATEMENTS[0])
        for attempt in (1, 2):
            report = service.sweep()
            assert (report.failed, report.abandoned) == (1, 0)
            metadata = ana.get(f"/conversations/{id}").json()["metadata"]
            assert metadata["memory_extraction_failures"] == attempt
            assert "memory_consolidated_through" not in metadata
        service.say(bea, "hello")
        report = service.sweep()
        assert (report.conversations, report.failed, report.abandoned) == (1, 1, 1)
        assert [len(call) for call in extractor.calls] == [1, 1, 1, 1]
        assert service.sweep().conversations == 0
        with service.app.database.jobs() as connection:
            [span] = connection.all("sweep.list_abandoned", conversation_id=None, limit=10)
        assert (str(span.conversation_id), span.from_seq, span.to_seq, span.reason) == (id, 0, 1, "truncated")


def test_an_abandoned_span_can_be_run_again(own: Database) -> None:
    extractor = ScriptedExtractor(*[ExtractionUnavailable("timeout")] * 3)
    with serving(own.url, own.directory, extractor=extractor) as service:
        ana = service.client()
        service.say(ana, STATEMENTS[0])
        for _ in range(3):
            service.sweep()
        app = service.app
        [row] = abandoned.listed(app.database)
        assert abandoned.requeue(app.database, app.audit, row.conversation_id) == 1
        assert abandoned.listed(app.database) == []
        assert abandoned.requeue(app.database, app.audit, row.conversation_id) == 0
        auditor = service.client("auditor", roles=[Role.AUDITOR])
        query = {"entity_id": str(row.conversation_id)}
        actions = [item["action"] for item in auditor.get("/audit", params=query).json()["items"]]
        assert actions[:2] == ["sweep_requeued", "sweep_abandoned"]
        assert auditor.get("/audit/verify").json()["sound"] is True
        assert service.sweep().conversations == 1
        assert len(extractor.calls[-1]) == 1


def test_an_extractors_defect_counts_as_a_failed_attempt(own: Database) -> None:
    with serving(own.url, own.directory, extractor=ScriptedExtractor(ZeroDivisionError("canary"))) as service:
        service.say(service.client(), STATEMENTS[0])
        assert service.sweep().failed == 1


def test_long_transcripts_are_bounded_and_the_newest_words_are_read(own: Database) -> None:
    extractor = ScriptedExtractor()
    with serving(own.url, own.directory, extractor=extractor) as service:
        ana = service.client()
        id = service.say(ana, *[f"Question {n} {'x' * 1_000}" for n in range(60)])
        service.say(ana, "z" * 900_000, "By the way, I moved to Ghent.", conversation_id=id)
        service.sweep()
        [seen] = extractor.calls
        assert seen[-1].text == "By the way, I moved to Ghent."
        assert max(len(turn.text) for turn in seen) == 2_000
        assert sum(len(turn.text) for turn in seen) <= 20_000
        assert [turn.seq for turn in seen] == sorted(turn.seq for turn in seen)


def test_assistant_and_tool_turns_are_never_learned_from(service: Service) -> None:
    ana: httpx.Client = service.client()
    id = ana.post("/conversations", json={}).json()["id"]
    turns = [
        {"role": "assistant", "content": "I work at the port of Sabang."},
        {"role": "tool", "content": "I prefer short answers."},
        {"role": "user", "content": "thanks"},
    ]
    ana.post(f"/conversations/{id}/messages", json={"messages": turns}).raise_for_status()
    report = service.sweep()
    assert (report.conversations, report.written) == (1, 0)
    assert service.remembered(ana) == []
