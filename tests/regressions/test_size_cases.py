"""Field cases of kind G: one megabyte of anything, and JSON that is too deep, too much or not JSON.

| case | what is shown here |
|------|--------------------|
| G02 | contents at, below and above 1,000,000 bytes, of any letters; long metadata and statements |
| G03 | deep, endless and non-standard JSON on every route and from the model: refused, nothing stored |
"""

from __future__ import annotations

import base64
import json
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan import api
from ingatan.api.payload import BODY_BYTES_MAX, DEPTH_MAX, KEYS_MAX
from ingatan.storage import embedded
from ingatan.types import Role
from tests.model_server import model_server, operation, says
from tests.serving import Service, serving
from tests.tables import Tables

LIMIT = 1_000_000
LIMIT_SAID = "1,000,000 bytes"


def padded(text: str, size: int) -> str:
    """``text`` cut to at most ``size`` bytes and filled up to exactly ``size``."""
    cut = text.encode()[:size].decode(errors="ignore")
    return cut + "x" * (size - len(cut.encode()))


def random_words(size: int) -> str:
    chance = random.Random(7)
    return " ".join(f"{chance.getrandbits(48):x}" for _ in range(size // 10))


KINDS: dict[str, Callable[[int], str]] = {
    "one word": lambda size: padded("harbour " * (size // 8 + 1), size),
    "random words": lambda size: padded(random_words(size + 200_000), size),
    "base64": lambda size: padded(base64.b64encode(random.Random(7).randbytes(size)).decode(), size),
    "CJK": lambda size: padded("港口的费用" * (size // 15 + 1), size),
}


@pytest.mark.parametrize("kind", KINDS)
def test_g02_a_megabyte_is_kept_in_full_and_a_byte_more_is_refused(service: Service, kind: str) -> None:
    ana = service.client()
    id = service.say(ana, "hello")
    address = f"/conversations/{id}/messages"
    for size in (LIMIT - 1, LIMIT):
        text = KINDS[kind](size)
        assert len(text.encode()) == size
        for content in (text, [{"type": "text", "text": text}]):
            sent = ana.post(address, json={"messages": [{"role": "user", "content": content}]})
            assert sent.status_code == 201
            read = ana.get(f"/conversations/{id}/window", params={"last": 1}).json()["messages"][0]
            assert read["content"] == content
    text = KINDS[kind](LIMIT + 1)
    halves = [{"type": "text", "text": text[: len(text) // 2]}, {"type": "text", "text": text[len(text) // 2 :]}]
    for content in (text, [{"type": "text", "text": text}], halves):
        refused = ana.post(address, json={"messages": [{"role": "user", "content": content}]})
        assert refused.status_code == 422
        assert LIMIT_SAID in refused.text
        assert len(refused.content) < 2_000
    assert ana.get(f"/conversations/{id}").json()["last_seq"] == 5
    service.say(ana, "I work at the port of Sabang.", conversation_id=id)
    assert service.sweep().failed == 0
    assert [item["text"] for item in service.remembered(ana)] == ["I work at the port of Sabang"]


def test_g02_a_body_above_the_limit_is_refused_by_what_it_declares(service: Service) -> None:
    """Nothing of the body is sent, and the answer is there."""
    ana = service.client()
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as plain:
        lines = [
            "POST /recall HTTP/1.1",
            f"Host: {host}",
            f"Authorization: {ana.headers['Authorization']}",
            "Content-Type: application/json",
            f"Content-Length: {BODY_BYTES_MAX + 1}",
        ]
        plain.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = ""
        while not answer.endswith("}") and (part := plain.recv(10_000)):
            answer += part.decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert f"{BODY_BYTES_MAX:,} bytes" in answer


def test_g02_long_metadata_is_kept_and_a_long_statement_is_refused_each_time(service: Service) -> None:
    ana = service.client()
    chance = random.Random(3)
    for value in ("x" * 3_000, base64.b64encode(chance.randbytes(3_000)).decode(), "港" * 3_000):
        for key in ("tag", "k" * 3_000):
            made = ana.post("/conversations", json={"metadata": {key: value}})
            assert made.status_code == 201
            assert ana.get(f"/conversations/{made.json()['id']}").json()["metadata"] == {key: value}
            turn = {"role": "user", "content": "hello", "metadata": {key: value}}
            sent = ana.post(f"/conversations/{made.json()['id']}/messages", json={"messages": [turn]})
            assert sent.json()["messages"][0]["metadata"][key] == value
    long = {"text": "I like " + "tea " * 2_500, "type": "preference", "source": {"kind": "self"}}
    assert [ana.post("/candidates", json=long).status_code for _ in range(2)] == [422, 422]
    near = long | {"text": ("I like " + "tea " * 490).strip()}
    codes = {ana.post("/candidates", json=near).json()["decision"] for _ in range(2)}
    assert codes == {"reject"}, "within the door's limit and beyond S1's length: decided, not failed"


DEEP = 20_000
NUMBERS = {
    "NaN": "NaN",
    "infinity": "-Infinity",
    "overflow": "1e999",
    "endless digits": "9" * 5_000,
}


def odd(value: str) -> str:
    return '{"metadata": {"score": %s}}' % value  # noqa: UP031 (braces all around)


ODD: dict[str, str] = {
    "20,000 arrays": odd("[" * DEEP + "]" * DEEP),
    "20,000 arrays, unclosed": "[" * DEEP,
    "200 objects": odd('{"a":' * 200 + "1" + "}" * 200),
    "50,000 keys": odd("{" + ",".join(f'"k{n}":{n}' for n in range(50_000)) + "}"),
    "a key twice": odd('{"a": 1, "a": 2}'),
    "trailing comma": odd("[1,]"),
    "single quotes": "{'metadata': 'canary'}",
    "two documents": '{"query": "canary"} {"query": "canary"}',
    "cut": '{"query": "canary',
    "not UTF-8": '{"query": "canary\\xff"}',
    **{name: odd(value) for name, value in NUMBERS.items()},
}


def bodies() -> list[tuple[str, str]]:
    """Every route that takes a body."""
    return sorted({(method, path) for (method, path), _ in api.actions() if method in {"POST", "PATCH", "PUT"}})


def raw(text: str) -> bytes:
    return text.encode().replace(b"\\xff", b"\xff")


@pytest.mark.parametrize("kind", ODD)
def test_g03_odd_json_is_refused_shortly_on_every_route(service: Service, tables: Tables, kind: str) -> None:
    ana = service.client(roles=list(Role))
    id = service.say(ana, "hello")
    body = {"text": "I use QGIS every week.", "type": "fact", "source": {"kind": "self"}}
    memory = ana.post("/candidates", json=body).raise_for_status().json()["memory_id"]
    before = tables.rows()
    for method, path in bodies():
        address = path.format(id=memory if path.startswith("/memories") else id, subject_id=id)
        heads = [
            [("Content-Type", "application/json")],
            [("Content-Type", "application/vnd.api+json; charset=utf-8")],
            [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
            [("Content-Type", "text/plain"), ("Content-Type", "application/json")],
            [("Content-Type", "text/plain")],
        ]
        for head in heads:
            answer = ana.request(method, address, content=raw(ODD[kind]), headers=httpx.Headers(head))
            assert answer.status_code in {400, 404, 413, 415, 422}, (method, path, head, answer.text[:200])
            assert answer.headers["content-type"] == "application/problem+json"
            assert len(answer.content) < 700
            assert not any(word in answer.text for word in ("canary", "score", "[[", "k49999", "Infinity,", "9999"))
            json.loads(answer.content, parse_constant=pytest.fail)
    assert tables.rows() == before, "nothing is partly stored"
    assert ana.get(f"/conversations/{id}").status_code == 200
    assert ana.get(f"/memories/{memory}").status_code == 200


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = {"a": value}
    return value


KEPT: dict[str, Any] = {
    "deep as may be": nested(DEPTH_MAX - 2),
    "many keys": {f"k{n}": n for n in range(KEYS_MAX - 2)},
    "400 digits": int("7" * 400),
    "numbers": [0, -1, 0.1, 1e-300, 123456789.123456789, 2**63, -(2**70), True, None],
    "words": ["", " ", "NaN", "null", "\\u0000", "Ấ", "😀", "'\"\\", "‮x"],
}


@pytest.mark.parametrize("kind", KEPT)
def test_g03_what_is_accepted_comes_back_equal(service: Service, kind: str) -> None:
    ana = service.client()
    made = ana.post("/conversations", json={"metadata": {"score": KEPT[kind]}})
    assert made.status_code == 201, made.text
    id = made.json()["id"]
    assert made.json()["metadata"] == {"score": KEPT[kind]}
    assert ana.get(f"/conversations/{id}").json()["metadata"] == {"score": KEPT[kind]}
    if kind in {"deep as may be", "many keys"}:
        return  # a turn stands two levels deeper and has keys of its own
    turn = {"role": "user", "content": "hello", "metadata": {"score": KEPT[kind]}}
    ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).raise_for_status()
    [read] = ana.get(f"/conversations/{id}/messages").json()["items"]
    assert read["metadata"]["score"] == KEPT[kind]


ADD = json.dumps({"operations": [operation("add", ("T1", "I live in Takengon."), text="Lives in Takengon")]})
REPLIES: dict[str, str] = {
    "20,000 arrays": '{"operations": %s}' % ("[" * DEEP + "]" * DEEP),
    "20,000 arrays, unclosed": "[" * DEEP,
    "200 objects": ADD.replace('"Lives in Takengon"', '{"a":' * 200 + "1" + "}" * 200),
    "50,000 keys": ADD[:-1] + "," + ",".join(f'"k{n}":{n}' for n in range(50_000)) + "}",
    "a key twice": ADD.replace('"importance"', '"importance": 0.1, "importance"'),
    **{name: ADD.replace("0.7", value) for name, value in NUMBERS.items()},
    "400 digits": ADD.replace("0.7", "7" * 400),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_g03_odd_json_from_the_model_writes_nothing(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, kind: str
) -> None:
    with model_server(says(REPLIES[kind])) as model:
        url = server.url(embedded.APP, database_name)
        with serving(url, tmp_path, environ=model.settings()) as service:
            ana = service.client()
            id = service.say(ana, "I live in Takengon.")
            assert service.sweep().failed == 1
            assert service.remembered(ana) == []
            kept = ana.get(f"/conversations/{id}").json()["metadata"]
            assert "memory_consolidated_through" not in kept
            model.script = [says(ADD)]
            service.sweep()
            assert len(service.remembered(ana)) == 1
