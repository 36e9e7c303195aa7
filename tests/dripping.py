"""A server on loopback that never finishes an answer: a byte of its headers, or of its body, now and then."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.loopback import serving_bytes

PAUSE_SECONDS = 0.05


@dataclass
class Drip:
    """Where it is, how often it was asked, and what it says before it drips."""

    opening: bytes = b"HTTP/1.1 200 OK\r\nX-Slow: "
    address: str = ""
    asked: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)


IN_HEADERS = b"HTTP/1.1 200 OK\r\nX-Slow: "
IN_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@contextmanager
def dripping(opening: bytes = IN_HEADERS) -> Iterator[Drip]:
    """Drip until the block ends, or until the client goes away."""
    state = Drip(opening=opening)

    class Dripping(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            state.asked += 1
            try:
                self.request.recv(65_536)
                self.request.sendall(state.opening)
                while not state.stopped.wait(PAUSE_SECONDS):
                    self.request.sendall(b" ")
            except OSError:
                return

    with serving_bytes(Dripping) as state.address:
        try:
            yield state
        finally:
            state.stopped.set()
