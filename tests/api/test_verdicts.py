"""Verdicts sent again, and what is kept of their notes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.conftest import proposed, queued, reviewer
from tests.serving import Service
from tests.tables import Tables

TEA = "I prefer green tea in the morning."


def test_a_verdict_sent_again_with_its_key_is_one_verdict(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    approved, rejected = proposed(ana, TEA)["id"], proposed(ana, "I like long walks by the sea.")["id"]
    key = {"Idempotency-Key": "once"}
    for id, verdict in ((approved, "approve"), (rejected, "reject")):
        first, again = (rita.post(f"/review/candidates/{id}/{verdict}", json={}, headers=key) for _ in range(2))
        assert first.status_code == again.status_code == 200, again.text
        assert first.json() == again.json()
        other = rita.post(f"/review/candidates/{id}/{verdict}", json={"note": "another"}, headers=key)
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
        assert rita.post(f"/review/candidates/{id}/{verdict}", json={}).json()["code"] == "not_open"
    assert [item["text"] for item in governed.remembered(ana)] == [TEA]


def test_bulk_sent_again_with_its_key_answers_the_same(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    ids = [proposed(ana, text)["id"] for text in (TEA, "I like long walks by the sea.")]
    body = {"ids": ids, "verdict": "approve"}
    first, again = (
        rita.post("/review/candidates/bulk", json=body, headers={"Idempotency-Key": "all"}).raise_for_status().json()
        for _ in range(2)
    )
    assert first == again
    assert [item["decision"] for item in first["items"]] == ["accept", "accept"]


def test_a_bulk_key_with_another_body_decides_nothing(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    first, second = (proposed(ana, text)["id"] for text in (TEA, "I like long walks by the sea."))
    key = {"Idempotency-Key": "all"}
    rita.post("/review/candidates/bulk", json={"ids": [first], "verdict": "approve"}, headers=key).raise_for_status()
    for body in ({"ids": [second], "verdict": "approve"}, {"ids": [first, second], "verdict": "reject"}):
        other = rita.post("/review/candidates/bulk", json=body, headers=key)
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert [item["id"] for item in queued(rita)] == [second]


def test_a_verdict_that_an_appeal_reopened_is_not_answered_with_what_came_after(governed: Service) -> None:
    ana, rita, rob = governed.client(), reviewer(governed), reviewer(governed, "rob")
    id = proposed(ana, TEA)["id"]

    def reject() -> httpx.Response:
        return rita.post(f"/review/candidates/{id}/reject", json={}, headers={"Idempotency-Key": "once"})

    assert reject().status_code == 200
    ana.post(f"/candidates/{id}/appeal", json={"text": TEA}).raise_for_status()
    assert (reject().status_code, reject().json()["code"]) == (409, "changed_meanwhile")
    rob.post(f"/review/candidates/{id}/approve", json={}).raise_for_status()
    assert (reject().status_code, reject().json()["code"]) == (409, "changed_meanwhile")
    assert [item["text"] for item in governed.remembered(ana)] == [TEA]


def test_two_at_once_with_one_key_decide_once(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = proposed(ana, TEA)["id"]

    def approve(_: int) -> httpx.Response:
        return rita.post(f"/review/candidates/{id}/approve", json={}, headers={"Idempotency-Key": "twice"})

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(approve, range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert len(governed.remembered(ana)) == 1


@pytest.mark.parametrize(
    "note",
    ["Call her on 0812-3456-7890.", "My password is hunter22!Tiger", "I have diabetes.", "saya ikut serikat buruh"],
)
def test_a_note_that_holds_what_is_never_stored_is_not_kept(governed: Service, tables: Tables, note: str) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = proposed(ana, TEA)["id"]
    for client, path in (
        (rita, f"/review/candidates/{id}/approve"),
        (rita, f"/review/candidates/{id}/reject"),
        (ana, f"/candidates/{id}/appeal"),
    ):
        answer = client.post(path, json={"note": note})
        assert (answer.status_code, answer.json()["code"]) == (422, "note_not_kept")
        assert note not in answer.text
    assert tables.run("select state, review_note, appeal_note from candidates") == [("open", None, None)]
    assert rita.post(f"/review/candidates/{id}/approve", json={"note": "The director approved it."}).status_code == 200


def test_a_verdict_replaced_by_the_same_reviewers_is_not_answered_with_the_newer(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = proposed(ana, TEA)["id"]

    def reject(key: str, reason: str) -> httpx.Response:
        path = f"/review/candidates/{id}/reject"
        return rita.post(path, json={"reason": reason}, headers={"Idempotency-Key": key})

    assert reject("first", "low_importance").status_code == 200
    ana.post(f"/candidates/{id}/appeal", json={"text": TEA}).raise_for_status()
    assert reject("second", "duplicate").status_code == 200
    assert (reject("first", "low_importance").json()["code"]) == "changed_meanwhile"
    assert "duplicate" in reject("second", "duplicate").json()["reasons"]
