"""Never again: said in chat, asked for with an erasure, or set for an attribute; holds until it is lifted."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ingatan.types import Role
from tests.serving import Service

SELF: dict[str, Any] = {"type": "fact", "source": {"kind": "self"}}
WORK = {
    "en": "I work at the port of Sabang.",
    "id": "Saya bekerja di pelabuhan Sabang.",
    "vi": "Tôi làm việc ở cảng Đà Nẵng.",
}
ELSEWHERE = {
    "en": "I work at the airport now.",
    "id": "Sekarang saya bekerja di bandara.",
    "vi": "Bây giờ tôi làm việc ở sân bay.",
}


def reasons(client: httpx.Client) -> set[str]:
    items = client.get("/candidates").raise_for_status().json()["items"]
    return {reason for item in items for reason in item["reasons"]}


@pytest.mark.parametrize(
    ("language", "wish"),
    [
        ("en", "Never remember where I work."),
        ("en", "Please don't ever save my workplace again."),
        ("en", "Forget my job and never remember it again."),
        ("en", "Forget where I work, for good."),
        ("id", "Jangan pernah ingat di mana saya bekerja."),
        ("id", "Tolong jangan pernah simpan tempat kerja saya lagi"),
        ("id", "Lupakan pekerjaan saya dan jangan pernah diingat lagi."),
        ("vi", "Đừng bao giờ nhớ chỗ tôi làm việc."),
        ("vi", "Quên công việc của tôi, vĩnh viễn."),
        ("vi", "Đừng bao giờ nhớ nơi tôi làm việc nữa."),
        ("vi", "Hãy quên nơi tôi làm việc và đừng bao giờ ghi nhớ lại."),
    ],
)
def test_a_whole_attribute_in_chat(service: Service, language: str, wish: str) -> None:
    ana = service.client()
    service.say(ana, WORK[language])
    service.sweep()
    assert len(service.remembered(ana)) == 1
    service.say(ana, wish)
    service.sweep()
    assert service.remembered(ana) == []
    assert len(service.remembered(ana, "deleted")) == 1, "closed; erasing is another act"
    service.say(ana, ELSEWHERE[language])
    service.sweep()
    assert service.remembered(ana) == []
    assert "never_again" in reasons(ana)
    refused = ana.post("/candidates", json=SELF | {"text": WORK[language]}).json()
    assert (refused["decision"], refused["reasons"]) == ("reject", ["never_again"])
    wishes = ana.get("/consent").json()["never_again"]
    assert [wish["slot"] for wish in wishes] == ["workplace"]


@pytest.mark.parametrize(
    "wish",
    ["Never remember anything about me again.", "Jangan pernah ingat apa pun tentang saya lagi.",
     "Đừng bao giờ nhớ bất cứ điều gì về tôi nữa."],
)  # fmt: skip
def test_everything_withdraws_consent(service: Service, wish: str) -> None:
    ana = service.client()
    service.say(ana, WORK["en"])
    service.sweep()
    service.say(ana, wish)
    service.sweep()
    assert service.remembered(ana) == []
    assert ana.get("/consent").json()["consent"] == "withdrawn"
    service.say(ana, "I prefer short answers.")
    service.sweep()
    assert service.remembered(ana) == []


@pytest.mark.parametrize(
    "text",
    [
        "I live in Medan and work at Pelindo.", "I prefer short answers because I work at Pelindo.",
        "Pelindo is where I work.", "I'm an analyst at Pelindo.", "My job is at Pelindo.", "Kantor saya Pelindo.",
        "Saya karyawan Pelindo.", "Công ty tôi là Pelindo.", "Tôi là nhân viên của Pelindo.",
    ],
)  # fmt: skip
def test_an_attribute_is_known_by_whatever_words_it_comes_in(service: Service, text: str) -> None:
    ana = service.client()
    ana.post("/consent/never-again", json={"slot": "workplace"}).raise_for_status()
    for kind in ("fact", "preference"):
        refused = ana.post("/candidates", json=SELF | {"text": text, "type": kind}).json()
        assert refused["decision"] == "reject"
    tea = ana.post("/candidates", json=SELF | {"text": "I like tea.", "type": "fact"}).json()["memory_id"]
    assert ana.patch(f"/memories/{tea}", json={"text": text}).status_code == 422


def test_more_words_around_what_is_never_to_be_remembered(service: Service) -> None:
    ana = service.client()
    text = "I work at Pelindo in Belawan."
    id = ana.post("/candidates", json=SELF | {"text": text}).raise_for_status().json()["memory_id"]
    ana.delete(f"/memories/{id}", params={"never_again": "true"}).raise_for_status()
    for again in ("I work at Pelindo in Belawan since 2020.", "My employer is Pelindo in Belawan."):
        assert ana.post("/candidates", json=SELF | {"text": again}).json()["reasons"] == ["never_again"]
    assert ana.post("/candidates", json=SELF | {"text": "I use Excel in Belawan."}).json()["decision"] == "accept"


def test_other_things_are_still_learned(service: Service) -> None:
    ana = service.client()
    service.say(ana, "Never remember where I work.")
    service.say(ana, "I prefer short answers.")
    service.sweep()
    assert [item["type"] for item in service.remembered(ana)] == ["preference"]


def test_a_wish_is_of_its_person_alone(service: Service) -> None:
    ana, bob = service.client("ana"), service.client("bob")
    ana.post("/consent/never-again", json={"slot": "workplace"}).raise_for_status()
    assert bob.post("/candidates", json=SELF | {"text": WORK["en"]}).json()["decision"] == "accept"
    assert bob.get("/consent").json()["never_again"] == []
    wish = ana.get("/consent").json()["never_again"][0]["id"]
    assert bob.delete(f"/consent/never-again/{wish}").status_code == 404


def test_lifted_it_may_be_learned_again(service: Service) -> None:
    ana = service.client()
    wish = ana.post("/consent/never-again", json={"slot": "workplace"}).raise_for_status().json()["id"]
    assert ana.post("/candidates", json=SELF | {"text": WORK["en"]}).json()["decision"] == "reject"
    assert ana.delete(f"/consent/never-again/{wish}").json()["never_again"] == []
    assert ana.post("/candidates", json=SELF | {"text": WORK["en"]}).json()["decision"] == "accept"


@pytest.mark.parametrize("again", ["I work at the port of Sabang.", "I am working at the Sabang port."])
def test_one_memory_erased_for_good(service: Service, again: str) -> None:
    """The same words, or the same value of the attribute; another value is another thing."""
    ana = service.client()
    id = ana.post("/candidates", json=SELF | {"text": WORK["en"]}).raise_for_status().json()["memory_id"]
    ana.delete(f"/memories/{id}", params={"never_again": "true"}).raise_for_status()
    service.say(ana, again)
    service.sweep()
    assert service.remembered(ana) == []
    service.say(ana, "I work at the airport now.")
    service.sweep()
    assert len(service.remembered(ana)) == 1


def test_without_the_wish_it_may_be_learned_anew(service: Service) -> None:
    ana = service.client()
    id = ana.post("/candidates", json=SELF | {"text": WORK["en"]}).raise_for_status().json()["memory_id"]
    ana.delete(f"/memories/{id}").raise_for_status()
    assert ana.post("/candidates", json=SELF | {"text": WORK["en"]}).json()["decision"] == "accept"


def test_erasing_everything_keeps_the_wishes_and_withdrawn_consent(service: Service) -> None:
    ana = service.client()
    ana.post("/consent/never-again", json={"slot": "residence"}).raise_for_status()
    ana.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
    ana.delete("/memories").raise_for_status()
    said = ana.get("/consent").json()
    assert said["consent"] == "withdrawn"
    assert [wish["slot"] for wish in said["never_again"]] == ["residence"]


def test_a_correction_meets_the_wish_too(service: Service) -> None:
    ana = service.client()
    id = ana.post("/candidates", json=SELF | {"text": "I use QGIS every week."}).json()["memory_id"]
    ana.post("/consent/never-again", json={"slot": "workplace"}).raise_for_status()
    refused = ana.patch(f"/memories/{id}", json={"text": WORK["en"]})
    assert refused.status_code == 422
    assert refused.json()["reasons"] == ["never_again"]


@pytest.mark.parametrize("body", [{}, {"slot": "shoe size"}, {"slot": None}, {"slot": "name", "text": "x"}])
def test_only_known_attributes_can_be_named(service: Service, body: dict[str, Any]) -> None:
    assert service.client().post("/consent/never-again", json=body).status_code == 422


def test_the_audit_names_wishes_without_words(service: Service) -> None:
    ana = service.client()
    service.say(ana, "Never remember that I work at the port of Sabang.")
    service.sweep()
    auditor = service.client("auditor", roles=(Role.AUDITOR,))
    rows = auditor.get("/audit", params={"entity_type": "subject"}).json()["items"]
    assert "memory_suppressed" in {row["action"] for row in rows}
    assert "Sabang" not in str(rows)


def test_the_audit_names_what_an_erasure_suppressed(service: Service) -> None:
    ana = service.client()
    tea, port = (
        ana.post("/candidates", json=SELF | {"text": text}).raise_for_status().json()["memory_id"]
        for text in ("I like green tea.", "I work at the port of Sabang.")
    )
    ana.delete(f"/memories/{tea}").raise_for_status()
    ana.delete(f"/memories/{port}", params={"never_again": "true"}).raise_for_status()
    auditor = service.client("auditor", roles=(Role.AUDITOR,))
    rows = auditor.get("/audit", params={"entity_type": "subject"}).json()["items"]
    suppressed = [row for row in rows if row["action"] == "memory_suppressed"]
    assert [row["details"] for row in suppressed] == [{"memory_id": port}]
    assert {row["entity_id"] for row in suppressed} == {str(service.principal().subject_id)}
