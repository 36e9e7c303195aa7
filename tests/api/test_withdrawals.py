"""Taking sources back one after the other, and what a person says beside them."""

from __future__ import annotations

import pytest

from tests.api.conftest import reviewer
from tests.api.house import House
from tests.api.test_policy import YAML, changed

WORK = ("I work at the port of Sabang.", "I work at the bank of Medan.", "I work at the school of Padang.")


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
@pytest.mark.parametrize("batches", [False, True])
def test_what_they_superseded_is_served_again_in_whichever_order(
    house: House, order: tuple[int, int], batches: bool
) -> None:
    paths = []
    one = house.source()
    for text in WORK:
        if batches:
            batch = house.agent.post("/batches", json={"source_id": one}).raise_for_status().json()["id"]
            house.approve(house.bring(one, text, batch_id=batch).json()["id"])
            paths.append(f"/batches/{batch}/rollback")
        else:
            source = house.source()
            house.approve(house.bring(source, text).json()["id"])
            paths.append(f"/sources/{source}/revoke")
    assert house.recalled("Where do I work?") == [WORK[2]]
    for n in order:
        house.operator.post(paths[n]).raise_for_status()
    assert house.recalled("Where do I work?") == [WORK[0]]
    house.operator.post(paths[0]).raise_for_status()
    assert house.recalled("Where do I work?") == []


def test_others_use_up_no_share_of_the_person_and_have_one_together(house: House) -> None:
    policy = changed(rates={"subject_per_hour": 3})
    house.operator.put("/policy", content=policy, headers=YAML).raise_for_status()
    sources = house.source(), house.source()
    found = [house.bring(sources[n % 2], f"I like boat number {n}.").json()["reasons"] for n in range(4)]
    assert found == [["untrusted_source"]] * 3 + [["rate_limited"]]
    body = {"type": "preference", "source": {"kind": "self"}}
    for n in range(3):
        said = house.ana.post("/candidates", json=body | {"text": f"I prefer style {n}."}).json()
        assert said["decision"] == "accept", said
    over = house.ana.post("/candidates", json=body | {"text": "I prefer style 3."}).json()
    assert over["reasons"] == ["rate_limited"]


def test_what_a_person_says_again_in_an_appeal_is_no_sources(house: House) -> None:
    source, rita = house.source(), reviewer(house.service)
    waiting = house.bring(source, WORK[0]).json()["id"]
    rita.post(f"/review/candidates/{waiting}/reject").raise_for_status()
    house.ana.post(f"/candidates/{waiting}/appeal", json={"text": WORK[0]}).raise_for_status()
    house.operator.post(f"/sources/{source}/revoke").raise_for_status()
    assert house.ana.get("/candidates").json()["items"][0]["state"] == "open"
    house.approve(waiting)
    assert house.recalled("Where do I work?") == [WORK[0]]
