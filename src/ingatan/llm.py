"""Chat models: a port for one request with one typed answer, and the adapter for OpenAI-compatible endpoints.

A call ends in the text of a finished answer or in ModelFailed with what happened; it never repeats itself. Its time is
a total, its answer bounded, and neither key nor text reaches an error, a log or another host.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import httpx

from ingatan.certificates import authorities
from ingatan.errors import IngatanError

ANSWER_BYTES_MAX = 1_000_000
FINISHED = frozenset({"stop", "end_turn", "eos"})
CUT = frozenset({"length", "max_tokens", "model_length"})
_TOO_LONG = (
    "context_length", "context length", "context size", "context window", "maximum context", "too many tokens",
    "prompt is too long", "input is too long", "exceed_context", "reduce the length",
)  # fmt: skip
"""How servers say in a 400 that the prompt does not fit."""


class ModelFailure(StrEnum):
    """What became of a request that gave no finished answer; the codes that logs and the abandoned list show."""

    TRUNCATED = "truncated"
    EMPTY = "empty"
    REFUSED = "refused"
    FILTERED = "filtered"
    UNFINISHED = "unfinished"
    MALFORMED = "malformed_response"
    TOO_LARGE = "response_too_large"
    PROMPT_TOO_LONG = "prompt_too_long"
    REQUEST_REFUSED = "request_refused"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    REDIRECTED = "redirected"
    NOT_AUTHORISED = "not_authorised"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"


UNAVAILABLE = frozenset(
    {
        ModelFailure.TIMED_OUT, ModelFailure.UNREACHABLE, ModelFailure.REDIRECTED, ModelFailure.NOT_AUTHORISED,
        ModelFailure.NOT_FOUND, ModelFailure.RATE_LIMITED, ModelFailure.SERVER_ERROR,
    }
)  # fmt: skip
"""The model did not answer at all; with the others it did, and the answer cannot be used."""


class ModelFailed(IngatanError):
    """A request to a model gave no finished answer; ``failure`` says why. The same request may or may not do better."""

    code = "model_failed"

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(f"The model gave no usable answer ({failure.value}). Check INGATAN_LLM__* or try again later.")
        self.failure = failure

    @property
    def unavailable(self) -> bool:
        """Whether the model did not answer, rather than answered with something that is no use."""
        return self.failure in UNAVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question to a model. ``schema`` is the JSON schema of the answer, ``schema_name`` its name (letters, _).

    ``seconds`` is the time for everything: connecting, waiting, reading.
    """

    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    output_tokens: int
    seconds: float


class ChatModel(Protocol):
    """A chat model. Thread-safe. ``name`` is what it is called at its endpoint."""

    @property
    def name(self) -> str: ...

    def answer(self, request: ChatRequest) -> str:
        """The text of a finished answer, not blank, at most ANSWER_BYTES_MAX. Raises ModelFailed."""
        ...


class Structure(StrEnum):
    """How the schema is asked for: by ``response_format``, by the prompt alone, or the first as far as it is taken."""

    AUTO = "auto"
    NATIVE = "native"
    PROMPT = "prompt"


class OpenAIChat:
    """A model behind ``{base_url}/chat/completions``. Takes nothing from the environment, follows no redirect."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "",
        structure: Structure = Structure.AUTO,
        output_limit_field: str = "max_completion_tokens",
    ) -> None:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self.name = model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._client = httpx.Client(trust_env=False, follow_redirects=False, headers=headers, verify=authorities())
        self._structure = structure
        self._output_limit_field = output_limit_field

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def answer(self, request: ChatRequest) -> str:
        """See ``ChatModel``. With AUTO, an endpoint that declines ``response_format`` is then asked without."""
        ends_at = time.monotonic() + request.seconds
        if self._structure is not Structure.PROMPT:
            try:
                return self._ask(request, ends_at, native=True)
            except ModelFailed as failed:
                if self._structure is Structure.NATIVE or failed.failure is not ModelFailure.REQUEST_REFUSED:
                    raise
            text = self._ask(request, ends_at, native=False)
            self._structure = Structure.PROMPT
            return text
        return self._ask(request, ends_at, native=False)

    def _ask(self, request: ChatRequest, ends_at: float, *, native: bool) -> str:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.user},
            ],
            self._output_limit_field: request.output_tokens,
        }
        if native:
            described = {"name": request.schema_name, "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return _text(self._exchange(body, ends_at))

    def _exchange(self, body: Mapping[str, Any], ends_at: float) -> bytes:
        """The body of a 2xx answer. It is fetched in a thread of its own, because the time of HTTP clients is a time
        between bytes and ours is a total; a thread that is left behind ends with its next byte or silence."""
        outcome: list[bytes | ModelFailure] = []

        def fetch() -> None:
            outcome.append(self._fetch(body, ends_at))

        thread = threading.Thread(target=fetch, name="ingatan-model", daemon=True)
        thread.start()
        thread.join(max(ends_at - time.monotonic(), 0))
        result = outcome[0] if outcome else ModelFailure.TIMED_OUT
        if isinstance(result, ModelFailure):
            raise ModelFailed(result)
        return result

    def _fetch(self, body: Mapping[str, Any], ends_at: float) -> bytes | ModelFailure:
        left = ends_at - time.monotonic()
        if left <= 0:
            return ModelFailure.TIMED_OUT
        try:
            with self._client.stream("POST", self._url, json=body, timeout=left) as response:
                data = bytearray()
                for chunk in response.iter_raw():
                    data += chunk
                    if len(data) > ANSWER_BYTES_MAX:
                        return ModelFailure.TOO_LARGE
                    if time.monotonic() >= ends_at:
                        return ModelFailure.TIMED_OUT
                return bytes(data) if response.is_success else _declined(response.status_code, bytes(data))
        except httpx.TimeoutException:
            return ModelFailure.TIMED_OUT
        except Exception:  # whatever it was, its words must not end in the trace of a thread
            return ModelFailure.UNREACHABLE


def _declined(status: int, body: bytes) -> ModelFailure:
    """What a status outside 2xx means; of the body only known phrases are looked for."""
    if 300 <= status < 400:
        return ModelFailure.REDIRECTED
    if status in {401, 403}:
        return ModelFailure.NOT_AUTHORISED
    if status in {404, 405}:
        return ModelFailure.NOT_FOUND
    if status == 429:
        return ModelFailure.RATE_LIMITED
    if status == 408:
        return ModelFailure.TIMED_OUT
    if status >= 500 or status < 400:
        return ModelFailure.SERVER_ERROR
    said = body[:20_000].decode("utf-8", "replace").casefold()
    if status == 413 or any(phrase in said for phrase in _TOO_LONG):
        return ModelFailure.PROMPT_TOO_LONG
    return ModelFailure.FILTERED if "content_filter" in said else ModelFailure.REQUEST_REFUSED


def _text(body: bytes) -> str:
    """The text of the first choice of a chat completion, if that is finished."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ModelFailed(ModelFailure.MALFORMED) from None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list):
        raise ModelFailed(ModelFailure.MALFORMED)
    if not choices:
        raise ModelFailed(ModelFailure.EMPTY)
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise ModelFailed(ModelFailure.MALFORMED)
    ended = choices[0].get("finish_reason")
    if ended == "content_filter":
        raise ModelFailed(ModelFailure.FILTERED)
    if message.get("refusal"):
        raise ModelFailed(ModelFailure.REFUSED)
    if not isinstance(ended, str) or ended not in FINISHED:
        raise ModelFailed(ModelFailure.TRUNCATED if ended in CUT else ModelFailure.UNFINISHED)
    text = _content(message.get("content"))
    if not text.strip():
        raise ModelFailed(ModelFailure.EMPTY)
    return text


def _content(content: object) -> str:
    """The text of a message: a string, a list of text parts, or nothing."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise ModelFailed(ModelFailure.MALFORMED)
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))
