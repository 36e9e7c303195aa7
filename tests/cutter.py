"""A way to the database that breaks at a chosen statement: a proxy between two sockets in the file system.

The server still executes what it was given, and nobody hears its answer: as when a cable is pulled.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

CHUNK_BYTES = 65_536
ACTING = (b"E", b"Q")
"""Messages that make the server act: Execute and Query (PostgreSQL's protocol, version 3)."""


class Cutter:
    """``url`` leads through the proxy. After ``arm(k)`` the connection that carries the k-th statement is cut."""

    def __init__(self, url: str, directory: Path) -> None:
        parts = urlsplit(url)
        where = parse_qs(parts.query)
        name = f".s.PGSQL.{where['port'][0]}"
        self._target = str(Path(where["host"][0]) / name)
        query = urlencode({"host": str(directory), "port": where["port"][0]}, quote_via=quote)
        self.url = f"postgresql://{parts.username}:{parts.password}@{parts.path}?{query}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / name))
        self._listener.listen(64)
        self._lock = threading.Lock()
        self._left = 0
        self.cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, statement: int) -> None:
        """Cut at this statement from now on, counted from 1: the server has it, and the client hears no answer."""
        with self._lock:
            self._left, self.cut = statement, False

    def disarm(self) -> bool:
        """Whether it was cut; it will not be from now on."""
        with self._lock:
            self._left = 0
            return self.cut

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            gone = threading.Event()
            threading.Thread(target=self._up, args=(client, server, gone), daemon=True).start()
            threading.Thread(target=self._down, args=(client, server, gone), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket, gone: threading.Event) -> None:
        """What the client says, message by message."""
        with contextlib.suppress(OSError):
            waiting, started = b"", False
            while data := client.recv(CHUNK_BYTES):
                waiting += data
                while (size := _size(waiting, started)) and len(waiting) >= size:
                    message, waiting = waiting[:size], waiting[size:]
                    now = started and message[:1] in ACTING and self._counted()
                    started = True
                    if now:
                        gone.set()  # first, or a quick answer would still be heard
                    server.sendall(message)
                    if now:
                        server.shutdown(socket.SHUT_WR)  # what is there is executed, and then the session ends
                        return
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket, gone: threading.Event) -> None:
        """What the server says, until the cut; the client learns of it when the server has ended."""
        with contextlib.suppress(OSError):
            while data := server.recv(CHUNK_BYTES):
                if not gone.is_set():
                    client.sendall(data)
        for end in (client, server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _counted(self) -> bool:
        with self._lock:
            if self._left == 0:
                return False
            self._left -= 1
            self.cut = self._left == 0
            return self.cut


def _size(waiting: bytes, started: bool) -> int:
    """The length of the first message, type byte included where it has one; 0 while that is not known."""
    head = 1 if started else 0
    return head + int.from_bytes(waiting[head : head + 4], "big") if len(waiting) >= head + 4 else 0


@contextlib.contextmanager
def cutting(url: str) -> Iterator[Cutter]:
    """A cutter before the database at ``url``, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="ingatan-cut-") as directory:
        cutter = Cutter(url, Path(directory))
        try:
            yield cutter
        finally:
            cutter.close()
