"""/metrics: who may read it, what it says, and that nothing of anybody is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ingatan.errors import ExtractionRejected, ExtractionUnavailable, StartRefused
from ingatan.metrics import FAILURE_REASONS_MAX, Metrics
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import load
from ingatan.storage import embedded
from ingatan.telemetry import Event, event
from ingatan.testing import ScriptedExtractor
from ingatan.types import Role
from tests.serving import Service, serving

TOKEN = "a-scraper-token-of-the-test"
CANARY = "canary-7731"


def read(service: Service, role: Role = Role.AUDITOR) -> dict[str, float]:
    """Every sample by its name and labels."""
    text = service.client("operator", roles=[role]).get("/metrics").raise_for_status().text
    return samples(text)


def samples(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


@pytest.fixture
def scraped(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    environ = {"INGATAN_SERVER__METRICS_TOKEN": TOKEN}
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ) as service:
        yield service


@pytest.mark.parametrize("role", list(Role))
def test_operators_read_it_and_nobody_else(service: Service, role: Role) -> None:
    status = service.client("someone", roles=[role]).get("/metrics").status_code
    assert status == (200 if role in (Role.AUDITOR, Role.ADMIN) else 403)


def test_without_a_credential_or_with_another_token_it_is_closed(service: Service, scraped: Service) -> None:
    assert httpx.get(f"{service.address}/metrics").status_code == 401
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, {"X": TOKEN}):
        assert httpx.get(f"{scraped.address}/metrics", headers=headers).status_code == 401
    assert httpx.get(f"{service.address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401


def test_a_scraper_reads_it_by_the_token_and_nothing_else(scraped: Service) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx.get(f"{scraped.address}/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert "ingatan_database_up 1.0" in answer.text
    for path in ("/memories", "/audit", "/conversations"):
        assert httpx.get(f"{scraped.address}{path}", headers=headers).status_code == 401


def test_a_weak_token_is_refused_at_start() -> None:
    with pytest.raises(StartRefused, match="METRICS_TOKEN"):
        refuse_unsafe(load({"INGATAN_ENVIRONMENT": "development", "INGATAN_SERVER__METRICS_TOKEN": "short"}))


def test_it_counts_what_happened(service: Service) -> None:
    ana = service.client()
    service.say(ana, "I work at the port of Sabang.", "My wife works at the port.")
    service.sweep()
    [memory] = service.remembered(ana)
    ana.post("/recall", json={"query": "port"}).raise_for_status()
    ana.patch(f"/memories/{memory['id']}", json={"text": "I work at the port of Belawan."}).raise_for_status()
    ana.delete(f"/memories/{memory['id']}").raise_for_status()
    ana.get(f"/memories/{memory['id']}")
    ana.get(f"/{CANARY}")
    found = read(service)
    assert found["ingatan_sweeps_total{outcome=finished}"] == 1
    assert found["ingatan_swept_conversations_total"] == 1
    assert found["ingatan_memories_written_total"] == 2
    assert found["ingatan_memories_closed_total"] == 1
    assert found["ingatan_memories_erased_total"] == 1
    assert found["ingatan_decisions_total{decision=accept,reason=accepted}"] == 1
    assert found["ingatan_decisions_total{decision=accept,reason=supersedes}"] == 1
    assert found["ingatan_decisions_total{decision=reject,reason=about_another_person}"] == 1
    assert found["ingatan_requests_total{method=POST,route=/recall,status=200}"] == 1
    assert found["ingatan_requests_total{method=GET,route=/memories/{id},status=404}"] == 1
    assert found["ingatan_requests_total{method=GET,route=other,status=404}"] == 1
    assert found["ingatan_request_seconds_count{method=POST,route=/recall}"] == 1
    assert found["ingatan_audit_rows_waiting"] == 1
    assert found["ingatan_vectors_pending{model=testing/words}"] == 0
    assert found["ingatan_embedding_model_serves{model=testing/words}"] == 1
    assert found["ingatan_pool_connections{state=limit}"] == 8
    assert found["ingatan_database_up"] == 1


def test_it_counts_what_failed(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> None:
    failing = ScriptedExtractor(ExtractionRejected("truncated"), ExtractionUnavailable("timeout"))
    environ = {"INGATAN_MEMORY__MAX_EXTRACTION_ATTEMPTS": "2"}
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ=environ, extractor=failing) as service:
        service.say(service.client(), "I work at the port of Sabang.")
        service.sweep()
        service.sweep()
        found = read(service, Role.ADMIN)
    assert found["ingatan_extraction_failures_total{kind=rejected,reason=truncated}"] == 1
    assert found["ingatan_extraction_failures_total{kind=unavailable,reason=timeout}"] == 1
    assert found["ingatan_spans_abandoned_total"] == 1
    assert found["ingatan_spans_set_aside"] == 1


def test_labels_are_closed_sets(service: Service) -> None:
    ana = service.client(CANARY)
    service.say(ana, f"I work at {CANARY}.")
    service.sweep()
    ana.post("/recall", json={"query": CANARY})
    ana.post("/recall", json={"query": CANARY, CANARY: 1})
    ana.request(CANARY, "/memories")
    ana.get(f"/memories/{CANARY}")
    ana.get("/memories", params={CANARY: CANARY})
    text = service.client("operator", roles=[Role.AUDITOR]).get("/metrics").text
    assert CANARY not in text
    assert re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", text) is None
    assert 'method="other"' in text


def test_codes_of_extractors_cannot_grow_without_bound() -> None:
    metrics = Metrics()
    for n in range(3 * FAILURE_REASONS_MAX):
        metrics.observe(Event.MEMORY_EXTRACTION_REJECTED, {"reason": f"reason_{n}"})
    metrics.observe(Event.MEMORY_EXTRACTION_REJECTED, {"reason": "with text of somebody"})
    found = samples(metrics.text().decode())
    counted = [name for name in found if name.startswith("ingatan_extraction_failures_total")]
    assert len(counted) == FAILURE_REASONS_MAX + 1
    assert "somebody" not in "".join(counted)


def test_one_app_counts_until_it_is_closed(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.app.close()
    before = samples(service.app.metrics.text().decode())["ingatan_embedder_failures_total"]
    event(Event.EMBEDDER_FAILED, level="warning", code="embedder_failed", count=1)
    assert samples(service.app.metrics.text().decode())["ingatan_embedder_failures_total"] == before


def test_without_the_database_the_counters_are_still_there(
    server: embedded.EmbeddedServer, database_name: str, service: Service
) -> None:
    service.app.database.close()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert httpx.get(f"{service.address}/metrics", headers=headers).status_code == 401
    found = read(service)
    assert found["ingatan_database_up"] == 0
    assert "ingatan_memories_written_total" in found
