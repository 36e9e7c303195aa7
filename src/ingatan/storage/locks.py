"""A lock between processes that the operating system releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

POLL_SECONDS = 0.05


class Lock:
    """An advisory lock on a file (0600). Not inherited by programs that are started meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self, *, exclusive: bool, wait_seconds: float = 0) -> bool:
        """Take it, exclusively or beside other holders; False if others keep it longer than ``wait_seconds``."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(file)
                    return False
                time.sleep(POLL_SECONDS)
            else:
                self._file = file
                return True

    def release(self) -> None:
        """Let go; nothing happens if it is not held."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
