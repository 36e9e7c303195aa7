"""Real processes of the command line, for tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

READY_SECONDS = 180.0
INGATAN = str(Path(sys.executable).with_name("ingatan"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(**more: str) -> dict[str, str]:
    """The process's environment without any setting of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("INGATAN_", "ACEH_RAG_"))}
    return kept | more


def run(*arguments: str, directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command on a data directory to its end."""
    command = [INGATAN, *arguments, "--data-dir", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment(**more))


@dataclass
class Serving:
    """A running ``ingatan serve --demo``."""

    process: subprocess.Popen[bytes]
    directory: Path
    address: str
    output: Path

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def token(self, *arguments: str) -> dict[str, str]:
        """Headers with a token from the command."""
        made = run("token", *arguments, directory=self.directory)
        assert made.returncode == 0, made.stderr
        return {"Authorization": f"Bearer {made.stdout.strip()}"}


def start(directory: Path, output: Path, *arguments: str, **more: str) -> Serving:
    port = free_port()
    with output.open("wb") as file:
        process = subprocess.Popen(
            [INGATAN, "serve", *arguments, "--data-dir", str(directory), "--port", str(port)],
            stdout=file,
            stderr=file,
            env=environment(**more),
        )
    return Serving(process, directory, f"http://127.0.0.1:{port}", output)


def wait_ready(serving: Serving) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert serving.process.poll() is None, serving.said()
        try:
            if httpx.get(f"{serving.address}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"not ready in {READY_SECONDS} s: {serving.said()}")


def stop(serving: Serving, with_signal: int = signal.SIGTERM) -> int:
    serving.process.send_signal(with_signal)
    return serving.process.wait(timeout=40)
