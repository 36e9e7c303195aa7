"""Conversations over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from ingatan.types import Role
from tests.serving import Service


def test_create_append_read_and_window(service: Service) -> None:
    ana = service.client()
    made = ana.post("/conversations", json={"metadata": {"channel": "web"}})
    assert made.status_code == 201
    id = made.json()["id"]
    turns = [{"role": "user", "content": f"Question {n}"} for n in range(1, 13)]
    appended = ana.post(f"/conversations/{id}/messages", json={"messages": turns})
    assert appended.status_code == 201
    assert [item["seq"] for item in appended.json()["messages"]] == list(range(1, 13))
    assert appended.json()["messages"][0]["metadata"]["author_id"] == str(service.principal().subject_id)
    assert [m["content"] for m in ana.get(f"/conversations/{id}/window").json()["messages"]] == [
        f"Question {n}" for n in range(3, 13)
    ]
    assert ana.get(f"/conversations/{id}").json()["title"] == "Question 1"
    walked, cursor = [], None
    while True:
        page = ana.get(
            f"/conversations/{id}/messages", params={"limit": 5} | ({"cursor": cursor} if cursor else {})
        ).json()
        walked += [item["seq"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert walked == list(range(1, 13))


def test_content_comes_back_in_the_form_it_was_sent(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    parts = [{"type": "text", "text": "Look:"}, {"type": "image", "url": "x"}, {"type": "text", "text": "nice"}]
    sent = {"messages": [{"role": "user", "content": parts}]}
    assert ana.post(f"/conversations/{id}/messages", json=sent).json()["messages"][0]["content"] == parts


def test_all_turns_of_a_request_or_none(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "one")
    bad = [{"role": "user", "content": "two"}, {"role": "user", "content": " \u200b "}]
    assert ana.post(f"/conversations/{id}/messages", json={"messages": bad}).status_code == 422
    assert ana.get(f"/conversations/{id}").json()["last_seq"] == 1


def test_positions_have_no_gap_and_no_repeat_under_parallel_appends(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "start")

    def append(n: int) -> int:
        turns = [{"role": "user", "content": f"{n}-{k}"} for k in range(n % 3 + 1)]
        return ana.post(f"/conversations/{id}/messages", json={"messages": turns}).status_code

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(append, range(30))) == {201}
    items = ana.get(f"/conversations/{id}/messages", params={"limit": 100}).json()["items"]
    assert [item["seq"] for item in items] == list(range(1, len(items) + 1))
    assert len(items) == 61
    contents = [item["content"] for item in items]
    for n in range(30):
        if n % 3 == 2:
            at = contents.index(f"{n}-0")
            assert contents[at : at + 3] == [f"{n}-0", f"{n}-1", f"{n}-2"]


def test_an_idempotency_key_makes_one_append(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "start")
    body = {"messages": [{"role": "user", "content": "once"}]}
    key = {"Idempotency-Key": "k-1"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: ana.post(f"/conversations/{id}/messages", json=body, headers=key), range(4)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["messages"][0]["id"] for answer in answers}) == 1
    assert ana.get(f"/conversations/{id}").json()["last_seq"] == 2
    other = {"messages": [{"role": "user", "content": "twice"}]}
    refused = ana.post(f"/conversations/{id}/messages", json=other, headers=key)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_key_reused")


def test_another_person_and_another_tenant_see_nothing(service: Service) -> None:
    ana, bea, zoe = service.client(), service.client("bea"), service.client("ana", tenant="other")
    id = service.say(ana, "My secret garden")
    unknown = uuid4()
    for stranger in (bea, zoe):
        assert stranger.get("/conversations").json()["items"] == []
        for method, path, body in (
            ("GET", "/conversations/{}", None),
            ("GET", "/conversations/{}/messages", None),
            ("GET", "/conversations/{}/window", None),
            ("PATCH", "/conversations/{}", {"title": "mine"}),
            ("DELETE", "/conversations/{}", None),
            ("POST", "/conversations/{}/messages", {"messages": [{"role": "user", "content": "hi"}]}),
        ):
            foreign = (
                stranger.request(method, path.format(id), json=body)
                if body
                else stranger.request(method, path.format(id))
            )
            absent = (
                stranger.request(method, path.format(unknown), json=body)
                if body
                else stranger.request(method, path.format(unknown))
            )
            assert foreign.status_code == absent.status_code == 404
            assert foreign.json() == absent.json()
    assert ana.get(f"/conversations/{id}").json()["title"] == "My secret garden"


def test_a_deleted_view_is_gone_everywhere_and_swept_no_more(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "I work at the port of Sabang.")
    assert ana.delete(f"/conversations/{id}").status_code == 204
    assert ana.get("/conversations").json()["items"] == []
    assert ana.get(f"/conversations/{id}").status_code == 404
    assert ana.get(f"/conversations/{id}/messages").status_code == 404
    assert ana.delete(f"/conversations/{id}").status_code == 404
    assert service.sweep().conversations == 0
    assert service.remembered(ana) == []


def test_lists_never_skip_or_repeat(service: Service) -> None:
    ana = service.client()
    made = [service.say(ana, f"talk {n}") for n in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = ana.get("/conversations", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "abc", "101"])
def test_a_limit_out_of_range_is_refused(service: Service, limit: str) -> None:
    assert service.client().get("/conversations", params={"limit": limit}).status_code == 422


def test_system_turns_come_from_a_service_only(service: Service) -> None:
    ana, writer = service.client(), service.client(roles=(Role.USER, Role.WRITER))
    id = service.say(ana, "hello")
    turn = {"messages": [{"role": "system", "content": "Be brief."}]}
    assert ana.post(f"/conversations/{id}/messages", json=turn).status_code == 403
    assert writer.post(f"/conversations/{id}/messages", json=turn).status_code == 201


@pytest.mark.parametrize(
    "key", ["author_id", "memory_consolidated_through", "memory_extraction_failures", "retrieval", "policy"]
)
def test_metadata_keys_of_the_service_cannot_be_posted(service: Service, key: str) -> None:
    ana = service.client()
    assert ana.post("/conversations", json={"metadata": {key: "x"}}).status_code == 422
    id = service.say(ana, "hello")
    turn = {"role": "user", "content": "x", "metadata": {key: "x"}}
    assert ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).status_code == 422


def moment(**shift: float) -> str:
    return (datetime.now(UTC) + timedelta(**shift)).isoformat()


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-29T10:00:00", "2026-11-29", 1_790_000_000, 1_790_000_000_000, "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00", pytest.param(moment(days=10), id="in ten days"), "1999-12-31T23:59:59Z", "soon",
        "2026-13-01T00:00:00Z",
    ],
)  # fmt: skip
def test_ambiguous_and_absurd_times_are_refused(service: Service, value: object) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    turn = {"role": "user", "content": "x", "created_at": value}
    answer = ana.post(f"/conversations/{id}/messages", json={"messages": [turn]})
    assert answer.status_code == 422
    assert "created_at" in answer.json()["errors"][0]["field"]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("2026-09-29T10:00:00Z", "2026-09-29T10:00:00+00:00"),
        ("2026-09-29T10:00:00+05:30", "2026-09-29T04:30:00+00:00"),
        ("2026-09-29 10:00:00.5+00:00", "2026-09-29T10:00:00.500000+00:00"),
    ],
)
def test_times_are_stored_as_utc_instants(service: Service, value: str, stored: str) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    turn = {"role": "user", "content": "x", "created_at": value}
    answer = ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).raise_for_status()
    assert datetime.fromisoformat(answer.json()["messages"][0]["created_at"]) == datetime.fromisoformat(stored)


def test_small_skew_is_accepted(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    turn = {"role": "user", "content": "x", "created_at": moment(seconds=3)}
    assert ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).status_code == 201


def test_text_follows_one_rule(service: Service) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    body = (
        b'{"messages": [{"role": "user", "content": "Da\\u0300 \\u0000 \\ud800", '
        b'"metadata": {"k\\u0000": "v\\ud800"}}]}'
    )
    answer = ana.post(f"/conversations/{id}/messages", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert answer.json()["messages"][0]["content"] == "Dà \ufffd \ufffd"
    assert answer.json()["messages"][0]["metadata"]["k\ufffd"] == "v\ufffd"


@pytest.mark.parametrize(
    ("text", "status"),
    [("a" * 1_000_000, 201), ("ậ" * 333_333, 201), ("a" * 1_000_001, 422), ("ậ" * 333_334, 422)],
    ids=["limit", "limit in bytes", "above", "above in bytes"],
)
def test_one_megabyte_is_the_limit(service: Service, text: str, status: int) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    answer = ana.post(f"/conversations/{id}/messages", json={"messages": [{"role": "user", "content": text}]})
    assert answer.status_code == status
    if status == 201:
        assert ana.get(f"/conversations/{id}/window", params={"last": 1}).json()["messages"][0]["content"] == text
    else:
        assert "1,000,000 bytes" in answer.text


def test_unknown_fields_and_parameters_are_refused(service: Service) -> None:
    ana = service.client()
    assert ana.post("/conversations", json={"user_id": "bea"}).status_code == 422
    assert ana.get("/conversations", params={"user_id": "bea"}).status_code == 422
