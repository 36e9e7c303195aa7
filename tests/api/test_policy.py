"""/policy: the document in force, its versions, two administrators at once, dry runs and their report; alerts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import yaml

from ingatan import policies
from ingatan.types import Role, new_id
from tests.api.conftest import KEPT, TEA, WORK, Under, held, proposed, queued, reviewer
from tests.serving import Service
from tests.tables import Tables

YAML = {"Content-Type": "application/yaml"}


def administrator(service: Service, name: str = "adi") -> httpx.Client:
    return service.client(name, roles=[Role.ADMIN])


def changed(**parts: Any) -> str:
    """The shipped document with other values in its parts."""
    document = yaml.safe_load(policies.source("assistant"))
    for name, values in parts.items():
        document[name] = document[name] | values if isinstance(document[name], dict) else values
    return yaml.safe_dump(document)


def test_a_policy_is_shown_changed_and_kept_by_version(service: Service) -> None:
    ana, adi = service.client(), administrator(service)
    first = ana.get("/policy")
    assert first.headers["etag"] == '"0"'
    assert first.json()["profile"] == "assistant"
    assert (first.json()["mode"], first.json()["version"], first.json()["made_by"]) == ("enforce", 0, None)
    assert ana.put("/policy", content=changed(), headers=YAML).status_code == 403
    text = changed(decisions={"extracted": "review"}, benefit="Ours.")
    made = adi.put("/policy", content=text, headers=YAML | {"If-Match": '"0"'}).raise_for_status().json()
    assert (made["version"], made["document"]["decisions"]["extracted"]) == (1, "review")
    again = adi.put("/policy", content=text, headers=YAML).raise_for_status().json()
    assert (again["version"], again["sha256"]) == (1, made["sha256"])
    as_json = adi.put("/policy", json=made["document"] | {"benefit": "Für alle."}).raise_for_status().json()
    assert (as_json["version"], as_json["document"]["benefit"]) == (2, "Für alle.")
    listed = ana.get("/policy/versions", params={"limit": "1"}).json()
    older = ana.get("/policy/versions", params={"limit": "1", "cursor": listed["next_cursor"]}).json()
    assert [item["version"] for item in (*listed["items"], *older["items"])] == [2, 1]
    assert older["next_cursor"] is None
    assert ana.get("/policy/versions/1").json()["document"]["benefit"] == "Ours."
    assert ana.get("/policy/versions/0").json()["document"] == first.json()["document"]
    assert ana.get("/policy/versions/9").status_code == 404
    assert service.client(tenant="other").get("/policy").json()["version"] == 0
    held(service, ana, WORK)
    [mine] = ana.get("/candidates").json()["items"]
    assert mine["policy_version"] == ana.get("/policy").json()["label"]
    rows = service.client("auditor", roles=[Role.AUDITOR]).get("/audit", params={"entity_type": "policy"}).json()
    details = [row["details"] for row in rows["items"]]
    assert [item["version"] for item in details] == [2, 1]
    assert details[1] == {"version": 1, "sha256": made["sha256"], "profile": "assistant"}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"profile: [", b"profile: governed", b"\xff\xfe", b"a: &a [*a]", b"a: !!python/object:x {}", b"x" * 60_000,
        b"? [a, b]\n: c", b"? {a: b}\n: c", b"a: !!int ''", b"a: !!float ''", b"a: !!bool x", b"a: !!timestamp x",
        b"a: 2026-13-45", b"!!set {a, b}", b"a: 1" + b":59" * 5_000, b"a: 1" + b":59" * 5_000 + b".5", b"a: 1\na: 2",
    ],
)  # fmt: skip
def test_what_is_no_policy_is_refused(service: Service, body: bytes) -> None:
    answer = administrator(service).put("/policy", content=body, headers=YAML)
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_invalid")
    assert service.client().get("/policy").json()["version"] == 0


def test_nul_in_a_document_is_replaced(service: Service) -> None:
    document = service.client().get("/policy").json()["document"] | {"benefit": "a\x00\ud800b"}
    body = json.dumps(document).encode()
    made = administrator(service).put("/policy", content=body, headers={"Content-Type": "application/json"})
    assert made.json()["document"]["benefit"] == "a\ufffd\ufffdb"


def test_of_two_administrators_at_once_one_learns_of_the_other(service: Service) -> None:
    people = [administrator(service, f"admin-{n}") for n in range(4)]

    def change(n: int) -> httpx.Response:
        text = changed(benefit=f"Number {n}.")
        return people[n].put("/policy", content=text, headers=YAML, params={"expected_version": "0"})

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(change, range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]
    assert {answer.json()["code"] for answer in answers if answer.status_code == 412} == {"outdated"}
    assert people[0].get("/policy").json()["version"] == 1
    late = people[0].put("/policy", content=changed(), headers=YAML | {"If-Match": '"0"'})
    assert late.status_code == 412
    assert people[0].put("/policy", content=changed(), headers=YAML | {"If-Match": "x"}).status_code == 422


def test_a_dry_run_is_reviewed_and_reported_and_writes_nothing(under: Under) -> None:
    with under(POLICY__MODE="dry") as dry:
        ana, rita, adi = dry.client(), reviewer(dry), administrator(dry)
        dry.say(ana, WORK)
        dry.say(ana, TEA)
        dry.say(ana, "Please remember that I have diabetes.")
        dry.sweep()
        right, wrong, *_ = (item["id"] for item in queued(rita))
        assert rita.get(f"/review/candidates/{right}").json()["text"] in {KEPT, TEA.rstrip(".")}
        passed_on = proposed(ana, "I prefer coffee after lunch.")["id"]
        approved = rita.post(f"/review/candidates/{right}/approve").raise_for_status().json()
        assert approved["reasons"][-1] == "dry_run"
        assert (approved["decision"], approved["memory_id"]) == ("reject", None)
        rita.post(f"/review/candidates/{wrong}/reject", json={"reason": "not_a_statement"}).raise_for_status()
        rita.post(f"/review/candidates/{passed_on}/approve").raise_for_status()
        assert dry.remembered(ana) == []
        report = adi.get("/policy/report").raise_for_status().json()
        assert report == rita.get("/policy/report").json()
        assert (report["reviewed"], report["waiting"], report["mode"]) == (3, 0, "dry")
        assert (report["precision"], report["recall"]) == (0.5, 0.5)
        assert report["counts"]["accept"] == {"approve": 1, "reject": 1}
        assert report["counts"]["review"] == {"approve": 1, "reject": 0}
        assert report["disagreements"] == [
            {"policy": "accept", "reviewer": "reject", "reason": "accepted", "count": 1},
            {"policy": "review", "reviewer": "approve", "reason": "needs_review", "count": 1},
        ]
        tomorrow = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
        past = adi.get("/policy/report", params={"to": "2026-01-01T00:00:00Z"}).json()
        assert (past["reviewed"], past["precision"]) == (0, None)
        assert adi.get("/policy/report", params={"to": tomorrow}).json()["reviewed"] == 3
        assert ana.get("/policy/report").status_code == 403


def test_a_writer_who_brings_too_much_is_told_when_to_come_back(service: Service) -> None:
    ana, adi = service.client(), administrator(service)
    adi.put("/policy", content=changed(rates={"actor_per_hour": 3}), headers=YAML).raise_for_status()
    body = {"type": "preference", "source": {"kind": "self"}}
    for n in range(3):
        key = {"Idempotency-Key": f"key-{n}"}
        ana.post("/candidates", json=body | {"text": f"I prefer style {n}."}, headers=key).raise_for_status()
    refused = ana.post("/candidates", json=body | {"text": "I prefer style 4."})
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert 3_500 < int(refused.headers["retry-after"]) <= 3_600
    again = ana.post("/candidates", json=body | {"text": "I prefer style 2."}, headers={"Idempotency-Key": "key-2"})
    assert again.status_code in {200, 201}, "the same act again is no new one"
    assert service.client("bea").post("/candidates", json=body | {"text": TEA}).status_code == 201
    assert len(service.remembered(ana)) == 3


def test_a_share_that_is_used_up_is_not_had_again_by_erasing(service: Service) -> None:
    ana, adi = service.client(), administrator(service)
    adi.put("/policy", content=changed(rates={"actor_per_hour": 3}), headers=YAML).raise_for_status()
    ids = [proposed(ana, f"I prefer style {n}.", review=False)["memory_id"] for n in range(2)]
    ana.delete(f"/memories/{ids[0]}").raise_for_status()
    proposed(ana, "I prefer style 2.", review=False)
    ana.delete("/memories").raise_for_status()
    body = {"text": "I prefer style 3.", "type": "preference", "source": {"kind": "self"}}
    refused = ana.post("/candidates", json=body)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert 0 < int(refused.headers["Retry-After"]) <= 3_600
    assert service.remembered(ana) == ana.get("/candidates").json()["items"] == []


def test_what_a_sweep_proposes_beyond_a_subjects_share_is_refused(service: Service) -> None:
    ana, adi = service.client(), administrator(service)
    adi.put("/policy", content=changed(rates={"subject_per_hour": 1}), headers=YAML).raise_for_status()
    service.say(ana, f"{WORK} {TEA}")
    service.sweep(minutes=31)
    reasons = [item["reasons"] for item in ana.get("/candidates").json()["items"]]
    assert sorted(reasons) == [["accepted"], ["rate_limited"]]
    assert len(service.remembered(ana)) == 1


def test_alerts_are_raised_once_a_day(service: Service) -> None:
    ana, adi = service.client(), administrator(service)
    text = changed(rates={"actor_per_hour": 2, "subject_per_hour": 9}, alerts={"changes_per_day": 2})
    adi.put("/policy", content=text, headers=YAML).raise_for_status()
    body = {"type": "preference", "source": {"kind": "self"}}
    assert service.app.watch() == 0
    for n in range(2):
        ana.post("/candidates", json=body | {"text": f"I prefer style {n}."}).raise_for_status()
    assert service.app.watch() == 2
    assert service.app.watch() == 0
    found = adi.get("/alerts").raise_for_status().json()["items"]
    assert {(item["kind"], item["count"]) for item in found} == {("actor_volume", 2), ("churn", 2)}
    assert {item["key"] for item in found} == {str(service.principal().subject_id)}
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    assert auditor.get("/alerts", params={"kind": "churn"}).json()["items"][0]["kind"] == "churn"
    page = auditor.get("/alerts", params={"limit": "1"}).json()
    rest = auditor.get("/alerts", params={"limit": "1", "cursor": page["next_cursor"]}).json()
    assert [item["id"] for item in (*page["items"], *rest["items"])] == [item["id"] for item in found]
    rows = auditor.get("/audit", params={"entity_type": "alert"}).json()["items"]
    assert [row["action"] for row in rows] == ["alert_raised"] * 2
    assert 'ingatan_alerts_total{kind="churn"} 1.0' in auditor.get("/metrics").text
    assert ana.get("/alerts").status_code == 403
    assert service.app.watch(datetime.now(UTC) + timedelta(hours=20)) in {0, 1}, "another day may have begun"


def test_repeated_contradiction_and_a_source_about_many_are_noticed(service: Service, tables: Tables) -> None:
    ana, adi = service.client(), administrator(service)
    bounds = {"contradictions_per_day": 1, "subjects_per_source_per_day": 3}
    adi.put("/policy", content=changed(alerts=bounds), headers=YAML).raise_for_status()
    ana.post("/candidates", json={"type": "fact", "source": {"kind": "self"}, "text": WORK}).raise_for_status()
    service.say(ana, "I work at the airport of Sabang.")
    service.sweep()
    assert any("conflict" in item["reasons"] for item in ana.get("/candidates").json()["items"])
    source = new_id()
    for _ in range(3):
        tables.run(
            "insert into candidates (tenant_id, id, subject_id, writer_id, type, decision, reasons, policy_version, "
            "source_kind, source_id) values (%s, %s, %s, %s, 'fact', 'quarantine', '{untrusted_source}', '1', "
            "'external', %s)",
            service.principal().tenant_id, new_id(), new_id(), new_id(), source,
        )  # fmt: skip
    service.app.watch()
    found = {(item["kind"], item["key"]) for item in adi.get("/alerts").json()["items"]}
    assert found == {("contradictions", str(service.principal().subject_id)), ("source_spread", str(source))}
