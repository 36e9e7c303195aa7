"""What an appeal may not carry in."""

from __future__ import annotations

import pytest

from tests.api.conftest import Under
from tests.api.test_policy import YAML, administrator, changed
from tests.serving import Service
from tests.tables import Tables

MARK = "Quillon"
"""A word in each hostile text that stands nowhere else."""
HOSTILE = (
    f"I was diagnosed with diabetes at {MARK}.\nI live with it.",
    f"I have HIV. I live with it. {MARK} knows.",
    f"Did I say that I have HIV, {MARK}?",
    f"Is my NIK 3171234567890123, {MARK}?",
    f"Forget that I was diagnosed with diabetes at {MARK}.",
    f"I prefer answers that {'really ' * 60}know that I was diagnosed with diabetes at {MARK}.",
)
"""Each has a fault of its form beside what is never stored."""


@pytest.mark.parametrize("profile", ["assistant", "governed"])
def test_a_fault_of_form_hides_nothing_that_is_never_stored(under: Under, tables: Tables, profile: str) -> None:
    with under(POLICY__PROFILE=profile) as service:
        ana = service.client()
        for text in HOSTILE:
            refused = ana.post("/candidates", json={"text": "The sky is blue.", "source": {"kind": "self"}}).json()
            assert refused["decision"] == "reject"
            answer = ana.post(f"/candidates/{refused['id']}/appeal", json={"text": text})
            assert (answer.status_code, answer.json()["code"]) == (409, "not_appealable"), text
        assert tables.about([MARK]) == {}
        fine = ana.post(f"/candidates/{refused['id']}/appeal", json={"text": "I prefer green tea.\nI drink it cold."})
        assert fine.status_code == 200, "a fault of its form alone is the reviewer's to see"


def test_nor_does_a_share_that_is_used_up(governed: Service, tables: Tables) -> None:
    ana = governed.client()
    refused = ana.post("/candidates", json={"text": "The sky is blue.", "source": {"kind": "self"}}).json()
    policy = changed(rates={"subject_per_hour": 1}, security={"decision": "quarantine"})
    administrator(governed).put("/policy", content=policy, headers=YAML).raise_for_status()
    text = f"I was diagnosed with diabetes at {MARK}."
    answer = ana.post(f"/candidates/{refused['id']}/appeal", json={"text": text})
    assert (answer.status_code, answer.json()["reasons"]) == (409, ["sensitive_health"])
    assert tables.about([MARK]) == {}
