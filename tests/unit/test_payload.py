"""The body gate: what JSON is let in."""

from __future__ import annotations

import json

import pytest

from ingatan.api.payload import DEPTH_MAX, KEYS_MAX, check_json
from ingatan.errors import BadRequest


def nested(depth: int, *, opening: str, closing: str) -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"score": NaN}',
        b'{"score": -Infinity}',
        b'{"score": 1e999}',
        b'{"a": 1, "a": 2}',
        b"{",
        b"\xff\xfe",
        nested(20_000, opening="[", closing="]"),
        nested(200, opening='{"a":', closing="}"),
        nested(DEPTH_MAX + 1, opening="[", closing="]"),
        json.dumps({str(n): n for n in range(50_000)}).encode(),
        json.dumps([{str(n): n} for n in range(KEYS_MAX + 1)]).encode(),
        b'{"n": ' + b"9" * 5_000 + b"}",
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_refused_without_repeating_it(body: bytes) -> None:
    with pytest.raises(BadRequest) as caught:
        check_json(body)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    "body",
    [
        b'{"score": 1.5}',
        b"[]",
        b"null",
        nested(DEPTH_MAX - 1, opening="[", closing="]"),
        json.dumps({str(n): n for n in range(KEYS_MAX)}).encode(),
        b'{"n": ' + b"9" * 400 + b"}",
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_let_in(body: bytes) -> None:
    check_json(body)
