"""The OpenAI-compatible adapter against a real endpoint on loopback that fails in every way it can."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingatan.llm import ANSWER_BYTES_MAX, ChatRequest, ModelFailed, ModelFailure, OpenAIChat, Structure
from tests.model_server import (
    ModelServer,
    Step,
    cut,
    drips,
    drops,
    filtered,
    hangs,
    html,
    huge,
    model_server,
    refuses,
    refuses_prompts_over,
    says,
    status,
    without_choices,
    without_structure,
)

KEY = "canary-key-4711"
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def request(seconds: float = 5, user: str = "canary-text") -> ChatRequest:
    return ChatRequest(
        system="rules", user=user, schema_name="answer", schema=SCHEMA, output_tokens=77, seconds=seconds
    )


@pytest.fixture
def endpoint() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


def ask(server: ModelServer, *, structure: Structure = Structure.AUTO, seconds: float = 5) -> str:
    model = OpenAIChat(server.address, "scripted", api_key=KEY, structure=structure)
    try:
        return model.answer(request(seconds))
    finally:
        model.close()


def test_a_finished_answer_is_its_text(endpoint: ModelServer) -> None:
    endpoint.script += [says("fine"), says([{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}])]
    assert ask(endpoint) == ask(endpoint) == "fine"
    first = endpoint.asked[0]
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.body["max_completion_tokens"] == 77
    assert first.body["response_format"]["json_schema"]["strict"] is True
    assert "max_tokens" not in first.body


@pytest.mark.parametrize(
    ("step", "failure"),
    [
        (cut('{"a": 1'), ModelFailure.TRUNCATED),
        (says("", finish="length"), ModelFailure.TRUNCATED),
        (says("{}", finish="length"), ModelFailure.TRUNCATED),
        (refuses(), ModelFailure.REFUSED),
        (filtered(), ModelFailure.FILTERED),
        (says("{}", finish="content_filter"), ModelFailure.FILTERED),
        (status(400, '{"error": {"code": "content_filter"}}'), ModelFailure.FILTERED),
        (says("{}", finish="tool_calls"), ModelFailure.UNFINISHED),
        (says("{}", finish=None), ModelFailure.UNFINISHED),
        (says("  \n"), ModelFailure.EMPTY),
        (says(None), ModelFailure.EMPTY),
        (says([]), ModelFailure.EMPTY),
        (without_choices(), ModelFailure.EMPTY),
        (says({"text": "x"}), ModelFailure.MALFORMED),
        (html(), ModelFailure.MALFORMED),
        (status(200, "[" * 100_000), ModelFailure.MALFORMED),
        (status(200, "[]"), ModelFailure.MALFORMED),
        (status(200, '{"error": {"message": "no"}}'), ModelFailure.MALFORMED),
        (status(200, '{"choices": [7]}'), ModelFailure.MALFORMED),
        (huge(ANSWER_BYTES_MAX), ModelFailure.TOO_LARGE),
        (drops(), ModelFailure.UNREACHABLE),
        (status(302, "", Location="http://127.0.0.1:9/"), ModelFailure.REDIRECTED),
        (status(401), ModelFailure.NOT_AUTHORISED),
        (status(403), ModelFailure.NOT_AUTHORISED),
        (status(404), ModelFailure.NOT_FOUND),
        (status(413), ModelFailure.PROMPT_TOO_LONG),
        (status(429), ModelFailure.RATE_LIMITED),
        (status(500), ModelFailure.SERVER_ERROR),
        (status(503, "<html>"), ModelFailure.SERVER_ERROR),
        (refuses_prompts_over(5, says("x")), ModelFailure.PROMPT_TOO_LONG),
    ],
)
def test_what_is_no_finished_answer_is_seen_as_what_it_is(
    endpoint: ModelServer, step: Step, failure: ModelFailure
) -> None:
    endpoint.script.append(step)
    with pytest.raises(ModelFailed) as caught:
        ask(endpoint)
    assert caught.value.failure is failure
    assert len(endpoint.asked) == 1, "the same request is never sent twice"
    for canary in (KEY, "canary-text", endpoint.address):
        assert canary not in repr(caught.value)


@pytest.mark.parametrize("step", [hangs(3), drips(3)], ids=["silent", "dripping"])
def test_the_time_is_a_total(endpoint: ModelServer, step: Step) -> None:
    endpoint.script.append(step)
    start = time.monotonic()
    with pytest.raises(ModelFailed) as caught:
        ask(endpoint, seconds=0.4)
    assert caught.value.failure is ModelFailure.TIMED_OUT
    assert time.monotonic() - start < 1.5


def test_nobody_there_is_unreachable() -> None:
    model = OpenAIChat("http://127.0.0.1:9/v1", "scripted")
    with pytest.raises(ModelFailed) as caught:
        model.answer(request())
    assert caught.value.failure is ModelFailure.UNREACHABLE
    assert caught.value.unavailable


def test_an_endpoint_without_structured_output_is_asked_without_from_then_on(endpoint: ModelServer) -> None:
    endpoint.always = without_structure(says("{}"))
    model = OpenAIChat(endpoint.address, "scripted", output_limit_field="max_tokens")
    assert [model.answer(request()), model.answer(request())] == ["{}", "{}"]
    assert [asked.native for asked in endpoint.asked] == [True, False, False]
    assert all(asked.body["max_tokens"] == 77 for asked in endpoint.asked)
    model.close()


def test_native_insists_and_prompt_never_asks(endpoint: ModelServer) -> None:
    endpoint.always = without_structure(says("{}"))
    with pytest.raises(ModelFailed) as caught:
        ask(endpoint, structure=Structure.NATIVE)
    assert caught.value.failure is ModelFailure.REQUEST_REFUSED
    assert ask(endpoint, structure=Structure.PROMPT) == "{}"
    assert [asked.native for asked in endpoint.asked] == [True, False]


def test_nothing_is_taken_from_the_environment(endpoint: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-ambient"
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, f"Authorization: {canary}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(Path(__file__)))
    endpoint.script.append(says("fine"))
    model = OpenAIChat(endpoint.address, "scripted")
    assert model.answer(request()) == "fine"
    model.close()
    assert "authorization" not in endpoint.asked[0].headers
    assert canary not in repr(endpoint.asked[0].headers)


def test_a_test_cannot_reach_a_model_beyond_this_machine() -> None:
    for address in ("http://192.0.2.1/v1", "https://api.example.com/v1"):
        with pytest.raises(ModelFailed) as caught:
            OpenAIChat(address, "x").answer(request())
        assert caught.value.failure is ModelFailure.UNREACHABLE
    with pytest.raises(PermissionError):
        __import__("socket").create_connection(("192.0.2.1", 80), timeout=1)
