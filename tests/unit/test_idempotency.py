"""What is kept of an idempotency key and of the body that came with it."""

from __future__ import annotations

import hashlib
import json

from ingatan.idempotency import KEY_CHARS_MAX, key_for

BODY = {"text": "My NIK is 3171234567890123.", "type": "fact"}


def test_a_key_binds_its_body_and_neither_can_be_read_from_it() -> None:
    one, again = key_for("POST /x", "my key", BODY), key_for("POST /x", "my key", dict(reversed(BODY.items())))
    assert one is not None
    assert one == again
    assert one != key_for("POST /x", "my key", BODY | {"type": "preference"})
    assert one != key_for("POST /y", "my key", BODY)
    other = key_for("POST /x", "my other key", BODY)
    assert other is not None
    assert other.body_sha256 != one.body_sha256, "the same body under another key tells nothing"
    guessed = json.dumps(BODY, sort_keys=True, separators=(",", ":")).encode()
    assert one.body_sha256 != hashlib.sha256(guessed).digest()
    assert "my key" not in one.value


def test_no_key_is_none_and_a_long_one_is_cut() -> None:
    assert key_for("POST /x", None, BODY) is None
    assert key_for("POST /x", "k" * KEY_CHARS_MAX, BODY) == key_for("POST /x", "k" * (KEY_CHARS_MAX + 1), BODY)
