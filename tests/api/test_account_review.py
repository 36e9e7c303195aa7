"""What waits for an account: its reviewer sees what was said, authority is asked anew, no conversation is shown."""

from __future__ import annotations

import pytest

from tests.api.conftest import reviewer
from tests.api.test_accounts import SAID, Office, office, recalled
from tests.api.test_policy import YAML, administrator, changed

__all__ = ["office"]
QUOTE = "we prefer answers in Spanish"


def cited(office: Office) -> tuple[str, str]:
    """What the boss said in a conversation, waiting for the account: the conversation's id and the candidate's."""
    conversation = office.service.say(office.boss, f"Please note that {QUOTE}, at least in the office.")
    [turn] = office.boss.get(f"/conversations/{conversation}/messages").json()["items"]
    source = {"kind": "turn", "conversation_id": conversation, "message_ids": [turn["id"]]}
    answer = office.say(office.boss, SAID, source=source, quote=QUOTE, review=True).raise_for_status().json()
    assert answer["decision"] == "review"
    return conversation, answer["id"]


def test_its_reviewer_sees_the_quote_in_its_context(office: Office) -> None:
    conversation, id = cited(office)
    rita = reviewer(office.service)
    item = rita.get(f"/review/candidates/{id}").raise_for_status().json()
    assert (item["source_readable"], item["text"]) == (True, SAID)
    [quote] = item["quotes"]
    assert (quote["before"], quote["quote"], quote["after"]) == (
        "Please note that ",
        QUOTE,
        ", at least in the office.",
    )
    office.boss.delete(f"/conversations/{conversation}").raise_for_status()
    item = rita.get(f"/review/candidates/{id}").json()
    assert (item["source_readable"], item["text"], item["quotes"]) == (False, None, [])


def test_its_members_learn_of_no_conversation(office: Office) -> None:
    conversation, id = cited(office)
    memory = reviewer(office.service).post(f"/review/candidates/{id}/approve").raise_for_status().json()["memory_id"]
    assert recalled(office.member) == [SAID]
    shown = [
        office.member.get("/memories", params={"account_id": office.account}).text,
        office.member.get(f"/memories/{memory}").text,
        office.member.get(f"/memories/{memory}/versions").text,
        office.member.post("/recall", json={"query": "Which language?"}).text,
        office.member.post("/recall", json={"query": "Which language?", "ranking": "s2"}).text,
    ]
    assert all(SAID in text for text in shown)
    assert not any(conversation in text or "at least" in text for text in shown)


def test_its_administrators_see_what_waits_and_take_it_back(office: Office) -> None:
    _, id = cited(office)
    about = {"account_id": office.account}
    other = office.service.client("deputy")
    office.put("deputy", "admin").raise_for_status()
    for client in (office.boss, other):
        [shown] = client.get("/candidates", params=about).raise_for_status().json()["items"]
        assert (shown["id"], shown["state"], shown["text"]) == (id, "open", SAID)
        assert (shown["conversation_id"], shown["message_ids"]) == (None, []), "somebody else's conversation"
        assert client.get("/candidates").json()["items"] == []
    acts = [("GET", "/candidates"), ("POST", f"/candidates/{id}/appeal"), ("POST", f"/candidates/{id}/withdraw")]
    for client, status in ((office.member, 403), (office.outside, 404), (office.operator, 404)):
        for method, path in acts:
            assert client.request(method, path, params=about).status_code == status
    assert office.boss.post(f"/candidates/{id}/withdraw").status_code == 404, "it is not about the boss"
    assert other.post(f"/candidates/{id}/appeal", params=about, json={"note": "We agreed on it."}).status_code == 200
    assert reviewer(office.service).get(f"/review/candidates/{id}").json()["appeal_note"] == "We agreed on it."
    assert other.post(f"/candidates/{id}/withdraw", params=about).json()["state"] == "withdrawn"
    for act in ("withdraw", "appeal"):
        again = office.boss.post(f"/candidates/{id}/{act}", params=about)
        assert again.status_code == 409
    [shown] = office.boss.get("/candidates", params=about).json()["items"]
    assert (shown["state"], shown["text"], shown["reasons"]) == ("withdrawn", None, ["withdrawn"])
    assert reviewer(office.service).post(f"/review/candidates/{id}/approve").status_code == 409


@pytest.mark.parametrize("lost", [False, True])
def test_a_correction_that_waited_needs_the_authority_still(office: Office, lost: bool) -> None:
    memory = office.say(office.boss).raise_for_status().json()["memory_id"]
    policy = changed(decisions={"stated": "review"})
    administrator(office.service).put("/policy", content=policy, headers=YAML).raise_for_status()
    text = "We prefer answers in Portuguese."
    waits = office.boss.patch(f"/memories/{memory}", json={"text": text})
    assert (waits.status_code, waits.json()["decision"], waits.json()["reasons"]) == (202, "review", ["needs_review"])
    assert recalled(office.member) == [SAID]
    rita = reviewer(office.service)
    [waiting] = rita.get("/review/candidates").json()["items"]
    if lost:
        office.put("boss", "member").raise_for_status()
    done = rita.post(f"/review/candidates/{waiting['id']}/approve").raise_for_status().json()
    assert done["decision"] == ("reject" if lost else "accept")
    assert recalled(office.member) == [SAID if lost else text]
