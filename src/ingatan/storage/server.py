"""PostgreSQL's programs as child processes, and the settings we run the server with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ingatan.errors import StartRefused
from ingatan.storage.binaries import Account

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
LAUNCHER = Path(__file__).with_name("launcher.py")
INITDB_SECONDS = 120.0
PATIENCE = ((signal.SIGINT, 1.0), (signal.SIGQUIT, 0.5), (signal.SIGKILL, 0.5))
"""How the server is asked to end, and the share of the caller's patience: fast shutdown, immediate, kill."""


def configuration(socket: Path, port: int) -> dict[str, str]:
    """The settings. Small, durable, and with nothing in the log that a statement carried: errors and their texts,
    details and contexts quote values, so only what concerns the server itself is written (level ``log`` and above).
    """
    return {
        "listen_addresses": "",
        "unix_socket_directories": str(socket),
        "unix_socket_permissions": "0700",
        "port": str(port),
        "max_connections": "60",
        "shared_buffers": "32MB",
        "work_mem": "8MB",
        "maintenance_work_mem": "48MB",
        "max_wal_size": "512MB",
        "max_wal_senders": "2",
        "io_method": "sync",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "autovacuum_max_workers": "2",
        "fsync": "on",
        "full_page_writes": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_statement": "none",
        "log_min_duration_statement": "-1",
        "log_min_duration_sample": "-1",
        "log_duration": "off",
        "log_error_verbosity": "terse",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_checkpoints": "off",
        "log_connections": "",
        "log_disconnections": "off",
        "log_lock_waits": "off",
        "log_temp_files": "-1",
        "log_autovacuum_min_duration": "-1",
    }


def run_to_end(whom: Account, cluster: Path, initdb: Path, password: Path) -> None:
    """Initialise ``cluster``, an empty directory of ``whom``'s; StartRefused with what initdb says if it cannot."""
    arguments = [
        "-D", "{data}", "--username=postgres", "--auth=scram-sha-256", "--pwfile=/dev/stdin", "--encoding=UTF8",
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as output, password.open("rb") as secret:
        try:
            done = subprocess.run(
                _command(whom, cluster, initdb, arguments),
                stdin=secret,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=ENVIRONMENT,
                cwd="/",
                timeout=INITDB_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StartRefused(f"initdb took more than {INITDB_SECONDS:.0f} s in {cluster}.") from None
        if done.returncode != 0:
            output.seek(0)
            words = output.read().decode(errors="replace").strip().splitlines()[-3:]
            raise StartRefused(f"The database could not be created in {cluster}: {' '.join(words)}")


class Child:
    """The server as a child of one thread that lives as long as it does.

    The kernel's parent-death signal follows the thread that made the child, hence a thread of its own.
    """

    def __init__(self, whom: Account, cluster: Path, program: Path, settings: dict[str, str], log: Path) -> None:
        arguments = ["-D", "{data}"]
        for name, value in settings.items():
            arguments += ["-c", f"{name}={value}"]
        self._command = _command(whom, cluster, program, arguments)
        self._log = log
        self._made = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._keep, name="embedded-postgres", daemon=True)
        self._thread.start()
        self._made.wait()
        if self._failure is not None:
            raise StartRefused(f"The database server cannot be run: {self._failure.strerror}.")

    @property
    def process_id(self) -> int | None:
        """Of the server."""
        return self._process.pid if self._process else None

    @property
    def ended(self) -> bool:
        """Whether the server is gone."""
        return not self._thread.is_alive()

    def stop(self, seconds: float) -> None:
        """End the server and wait for it, for ``seconds`` kindly and then harder."""
        for number, share in PATIENCE:
            if self._process is None or self.ended:
                return
            self._process.send_signal(number)
            self._thread.join(seconds * share)

    def _keep(self) -> None:
        try:
            file = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    env=ENVIRONMENT,
                    cwd="/",
                    start_new_session=True,
                )
            finally:
                os.close(file)
        except OSError as error:
            self._failure = error
        finally:
            self._made.set()
        if self._process is not None:
            self._process.wait()


def _command(whom: Account, cluster: Path, program: Path, arguments: list[str]) -> list[str]:
    user, group = (whom.user_id, whom.group_id) if whom.drop else (-1, -1)
    who = [str(os.getpid()), str(user), str(group)]
    return [sys.executable, "-I", "-S", str(LAUNCHER), *who, str(cluster), str(program), *arguments]
