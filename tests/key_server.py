"""A scripted identity provider: the address of its keys, over real HTTP on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from joserfc.jwk import OctKey, OKPKey

from tests.loopback import Handler, serving_http


@dataclass
class KeyServer:
    """What it answers next, after ``delay`` seconds, and how often it was asked."""

    address: str = ""
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    asked: int = 0

    def publish(self, *keys: OKPKey | OctKey) -> None:
        """Answer with these keys from now on."""
        self.body = key_set(*keys)


def key_set(*keys: OKPKey | OctKey) -> bytes:
    """A JSON Web Key Set; a secret key in it is one that should not have been published."""
    return json.dumps({"keys": [key.as_dict(private=isinstance(key, OctKey)) for key in keys]}).encode()


@contextmanager
def key_server(*keys: OKPKey | OctKey) -> Iterator[KeyServer]:
    """Publish ``keys`` until the block ends."""
    state = KeyServer(body=key_set(*keys))

    class Publishing(Handler):
        def do_GET(self) -> None:
            state.asked += 1
            time.sleep(state.delay)
            self.reply(state.status, state.body, **state.headers)

    with serving_http(Publishing) as address:
        state.address = f"{address}/keys"
        yield state
