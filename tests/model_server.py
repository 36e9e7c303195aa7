"""A scripted OpenAI-compatible endpoint on loopback: real HTTP, and every way in which models and gateways fail.

Each request takes the next step of the script, or ``nothing`` when it has run out; every request is recorded.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handler, serving_http

HANG_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        """The rules."""
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        """The data."""
        return str(self.body["messages"][1]["content"])

    @property
    def characters(self) -> int:
        """Size of the whole prompt."""
        return sum(len(message["content"]) for message in self.body["messages"])

    @property
    def native(self) -> bool:
        """Whether JSON was asked for by ``response_format``."""
        return "response_format" in self.body

    def label(self, words: str) -> str:
        """The label of the line that holds ``words``."""
        found = [line for line in self.user.splitlines() if words in line]
        assert len(found) == 1, f"{len(found)} lines hold these words"
        return found[0].split(" ", 1)[0]


Step = Callable[[Handler, Asked], None]


@dataclass
class ModelServer:
    """The endpoint: its ``address`` (with /v1), the ``script`` still to come, what was ``asked``, in order."""

    address: str
    script: list[Step] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    always: Step | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def step(self, asked: Asked) -> Step:
        with self._lock:
            self.asked.append(asked)
            if self.script:
                return self.script.pop(0)
            return self.always or nothing()

    def settings(self, **more: str) -> dict[str, str]:
        """The environment that makes a service use this model."""
        return {
            "INGATAN_LLM__BASE_URL": self.address,
            "INGATAN_LLM__MODEL": "scripted",
            "INGATAN_LLM__API_KEY": "canary-key-4711",
            "INGATAN_MEMORY__EXTRACT_TIMEOUT_SECONDS": "5",
            **more,
        }


@contextmanager
def model_server(*script: Step) -> Iterator[ModelServer]:
    """Serve ``script`` on a free loopback port until the block ends."""
    model = ModelServer("", list(script))

    class Answering(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.body())
            asked = Asked(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, body=body)
            model.step(asked)(self, asked)

    with serving_http(Answering) as address:
        model.address = f"{address}/v1"
        yield model


def completion(content: object, *, finish: object = "stop", **message: object) -> bytes:
    """The body of a chat completion."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return json.dumps({"id": "x", "object": "chat.completion", "model": "scripted", "choices": [choice]}).encode()


def says(content: object, *, finish: object = "stop", **message: object) -> Step:
    """Answer with ``content`` (text, or what a model should not send)."""
    return lambda handler, asked: handler.reply(200, completion(content, finish=finish, **message))


def operation(operation: str = "add", *evidence: tuple[str, str], **fields: object) -> dict[str, object]:
    """An operation in the shape that is asked for; ``evidence`` are turn labels with quotes."""
    cited = [{"turn": turn, "quote": quote} for turn, quote in evidence]
    given = {"memory": None, "type": "fact", "text": None, "importance": 0.7, "recurring": False, **fields}
    return {"operation": operation, **given, "evidence": cited}


def proposes(*operations: dict[str, object]) -> Step:
    """Answer with these operations."""
    return says(json.dumps({"operations": list(operations)}, ensure_ascii=False))


def reacts(react: Callable[[Asked], Step]) -> Step:
    """Answer by what is asked."""
    return lambda handler, asked: react(asked)(handler, asked)


def nothing() -> Step:
    """A well-formed answer that there is nothing to remember."""
    return proposes()


def cut(content: str) -> Step:
    """Stop in the middle for want of output budget."""
    return says(content, finish="length")


def refuses() -> Step:
    """Decline in the field made for it."""
    return says(None, refusal="I will not do that.")


def filtered() -> Step:
    """Be stopped by the provider's filter."""
    return says("", finish="content_filter")


def without_choices() -> Step:
    """A completion with no choice in it."""
    return lambda handler, asked: handler.reply(200, b'{"id": "x", "choices": []}')


def status(code: int, body: str = '{"error": {"message": "no"}}', **headers: str) -> Step:
    """Answer with an HTTP status."""
    return lambda handler, asked: handler.reply(code, body.encode(), **headers)


def html() -> Step:
    """A gateway's page in place of an answer."""
    page = b"<html><body>Sign in</body></html>"
    return lambda handler, asked: handler.reply(200, page, kind="text/html")


def huge(size: int) -> Step:
    """A completion of ``size`` bytes and more."""
    return says("x" * size)


def hangs(seconds: float = HANG_SECONDS) -> Step:
    """Say nothing for ``seconds``."""
    return lambda handler, asked: time.sleep(seconds)


def drips(seconds: float = HANG_SECONDS) -> Step:
    """Send a byte now and then: never silent, never done."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    return step


def drops() -> Step:
    """Hang up in the middle of an answer."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b'{"choices": [')
        handler.wfile.flush()
        handler.connection.close()
        handler.close_connection = True

    return step


def refuses_prompts_over(characters: int, then: Step) -> Step:
    """Answer 400 to a prompt longer than ``characters``, as servers do, and ``then`` to others."""
    said = '{"error": {"code": "context_length_exceeded", "message": "This model\'s maximum context length is small"}}'
    return reacts(lambda asked: status(400, said) if asked.characters > characters else then)


def without_structure(then: Step) -> Step:
    """Answer 400 to ``response_format`` and ``then`` to what comes without."""
    said = '{"error": {"message": "response_format is not supported"}}'
    return reacts(lambda asked: status(400, said) if asked.native else then)
