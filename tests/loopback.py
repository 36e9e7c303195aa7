"""Servers on loopback for as long as a block lasts: what the scripted endpoints of the tests stand on."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JOIN_SECONDS = 5.0


class Handler(BaseHTTPRequestHandler):
    """Answers one request, and says nothing on standard error. Subclasses have the methods that they answer."""

    def body(self) -> bytes:
        """What was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(self, status: int, body: bytes, *, kind: str = "application/json", **headers: str) -> None:
        """Answer with ``body``; an underscore in a header's name stands for a hyphen."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that hung up


class _TcpServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def serving_http(handler: type[Handler]) -> Iterator[str]:
    """Answer by ``handler`` on a free port until the block ends; the address, without a path."""
    with _HttpServer(("127.0.0.1", 0), handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def serving_bytes(handler: type[socketserver.BaseRequestHandler]) -> Iterator[str]:
    """The same for who writes the bytes of an answer themselves."""
    with _TcpServer(("127.0.0.1", 0), handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(JOIN_SECONDS)
