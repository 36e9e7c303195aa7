"""The processes of one data directory: found by what they work in, not by a process id somebody wrote down."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ingatan.errors import StartRefused

PATIENCE = ((signal.SIGINT, 5.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 2.0))
"""How an orphan is asked to end, and how many seconds each time: fast shutdown, immediate shutdown, kill."""
POLL_SECONDS = 0.02


def working_in(directory: Path) -> list[int]:
    """The ids of processes whose working directory is ``directory``; empty where /proc is not kept (not Linux)."""
    try:
        wanted = directory.stat()
    except FileNotFoundError:
        return []
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            place = (entry / "cwd").stat()
        except OSError:
            continue  # gone, or another user's, hence not ours
        if (place.st_dev, place.st_ino) == (wanted.st_dev, wanted.st_ino):
            found.append(int(entry.name))
    return found


def evict(directory: Path) -> None:
    """End what a killed owner left running in ``directory``, and remove a process id file that nobody stands behind.

    Only for who holds the owner's lock. A process that merely reuses the written id is not touched.
    """
    for number, seconds in PATIENCE:
        deadline = time.monotonic() + seconds
        told: set[int] = set()
        while (running := _servers(directory)) and time.monotonic() < deadline:
            for process in set(running) - told:
                told.add(process)
                _send(process, number)
            time.sleep(POLL_SECONDS)
        if not running:
            if Path("/proc/self/cwd").exists():
                (directory / "postmaster.pid").unlink(missing_ok=True)
            return
    raise StartRefused(f"A database server in {directory} does not end. End it (see postmaster.pid there), then retry.")


def _servers(directory: Path) -> list[int]:
    """Those of ``working_in`` that are PostgreSQL, not somebody's shell that stands there."""
    found = []
    for process in working_in(directory):
        try:
            if Path(os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")).name == "postgres":
                found.append(process)
        except OSError:
            continue
    return found


def _send(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except (ProcessLookupError, PermissionError):
        return
