"""The body gate: size, depth, keys and numbers of every JSON body are checked before any route sees it.

An ASGI layer: the body is read once, bounded, and handed on as it came. What is refused here was never parsed further
and nothing of it is repeated in the answer.
"""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ingatan.api.problems import problem
from ingatan.errors import BadRequest, IngatanError, TooLarge

BODY_BYTES_MAX = 8_000_000
DEPTH_MAX = 32
KEYS_MAX = 1_000
TOO_LARGE = f"The request body is larger than {BODY_BYTES_MAX:,} bytes. Send less at once."


class BodyGate:
    """Wraps an ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self._head(scope, receive, send)
            return
        if scope["type"] != "http" or scope["method"] in {"GET", "OPTIONS"}:
            await self._app(scope, receive, send)
            return
        headers = {name: value for name, value in scope["headers"]}
        try:
            declared = headers.get(b"content-length", b"0")
            if not declared.isdigit() or int(declared) > BODY_BYTES_MAX:
                raise TooLarge(TOO_LARGE)
            body = await _whole(receive)
            if body is None:
                return  # the client went away in the middle: what it meant to send is not known
            if body and scope["method"] == "DELETE":
                raise BadRequest("DELETE takes no body. Give its filter in the address.", code="unknown_filter")
            kinds = [value.lower() for name, value in scope["headers"] if name == b"content-type"]
            if body and any(b"json" in kind for kind in kinds or [b"application/json"]):  # one of several is enough
                check_json(body)
        except IngatanError as error:
            await problem(error.status, error.code, str(error))(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as to GET, whose route the meter then sees; the server leaves the body out by the method it read."""
        inner = {**scope, "method": "GET"}
        try:
            await self._app(inner, receive, send)
        finally:
            if "route" in inner:
                scope["route"] = inner["route"]


async def _whole(receive: Receive) -> bytes | None:
    """The whole body, or None when the client disconnected before its end."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES_MAX:
            raise TooLarge(TOO_LARGE)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def check_json(body: bytes) -> None:
    """Raise BadRequest unless ``body`` is JSON within DEPTH_MAX and KEYS_MAX, with finite numbers and unique keys."""
    try:
        value = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadRequest(f"The JSON is nested deeper than {DEPTH_MAX} levels.", code="json_too_deep") from None
    except ValueError:
        raise BadRequest("The body is not JSON that can be read (RFC 8259).", code="json_invalid") from None
    _walk(value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise BadRequest("A key stands twice in one JSON object.", code="json_invalid")
    return result


def _refuse_constant(name: str) -> None:
    raise BadRequest("NaN and Infinity are not numbers in JSON.", code="json_invalid")


def _walk(value: object) -> None:
    keys = 0
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        following: list[object] = []
        for item in level:
            if isinstance(item, dict):
                keys += len(item)
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise BadRequest("A number is too large for JSON here.", code="json_invalid")
        if keys > KEYS_MAX:
            raise BadRequest(f"The JSON has more than {KEYS_MAX} keys.", code="json_too_many_keys")
        if not following:
            return
        level = following
    raise BadRequest(f"The JSON is nested deeper than {DEPTH_MAX} levels.", code="json_too_deep")
