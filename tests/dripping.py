"""A server on loopback that never finishes an answer: a byte of its headers, or of its body, now and then."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            state.asked += 1
            try:
                self.request.recv(65_536)
                self.request.sendall(state.opening)
                while not state.stopped.wait(PAUSE_SECONDS):
                    self.request.sendall(b" ")
            except OSError:
                return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
