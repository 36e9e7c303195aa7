"""What an appeal may not carry in, and what stays of it afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.api.conftest import Under, proposed, queued, reviewer
from tests.api.test_policy import YAML, administrator, changed
from tests.serving import Service
from tests.tables import Tables

TEA = "I prefer green tea in the morning."
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


def test_what_was_written_to_the_reviewer_goes_with_the_text(governed: Service, tables: Tables) -> None:
    ana, rita = governed.client(), reviewer(governed)
    ids = [proposed(ana, f"{TEA[:-1]} number {n}.")["id"] for n in range(4)]
    for id in ids:
        ana.post(f"/candidates/{id}/appeal", json={"note": f"{MARK} says so."}).raise_for_status()
    assert rita.get(f"/review/candidates/{ids[0]}").json()["appeal_note"] == f"{MARK} says so."
    ana.post(f"/candidates/{ids[0]}/withdraw").raise_for_status()
    rita.post(f"/review/candidates/{ids[1]}/reject").raise_for_status()
    rita.post(f"/review/candidates/{ids[2]}/approve").raise_for_status()
    governed.app.tidy(datetime.now(UTC) + timedelta(days=31))
    assert sorted(tables.run("select state from candidates")) == [
        ("expired",), ("settled",), ("settled",), ("withdrawn",),
    ]  # fmt: skip
    assert tables.about([MARK]) == {}
    assert queued(rita) == []
    with pytest.raises(Exception, match="appeal_note_only_while_open"):
        tables.run("update candidates set appeal_note = 'more'")
