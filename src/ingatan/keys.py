"""Keys that live outside the database: the master key, what is derived from it, and the development signing key."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import secrets
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc.jwk import OKPKey

from ingatan.errors import StartRefused

MASTER_KEY_BYTES = 32


def write_private(path: Path, content: bytes) -> None:
    """Write ``content`` to a new file that only its owner may read; never half-written. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _read_or_make(path: Path, make: bytes) -> bytes:
    if not path.exists():
        with contextlib.suppress(FileExistsError):  # another process was first; its key counts
            write_private(path, make)
    return path.read_bytes()


def master_key(configured: str, data_directory: Path) -> bytes:
    """Return the 32-byte master key: ``configured`` (base64), else the data directory's, made on first use.

    Raises StartRefused when it is not 32 bytes of base64.
    """
    if configured:
        text, origin = configured.encode(), "INGATAN_KEYS__MASTER_KEY"
    else:
        path = data_directory / "keys" / "master.key"
        text, origin = _read_or_make(path, base64.b64encode(secrets.token_bytes(MASTER_KEY_BYTES))), str(path)
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != MASTER_KEY_BYTES:
        raise StartRefused(f"{origin} must be base64 of {MASTER_KEY_BYTES} bytes.")
    return key


def derive(master: bytes, purpose: str) -> bytes:
    """A 32-byte key for one ``purpose`` (HKDF-SHA256, RFC 5869): knowing one says nothing about another."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"ingatan/{purpose}".encode()).derive(master)


def development_key(data_directory: Path) -> OKPKey:
    """The Ed25519 key that signs development tokens, made on first use, private to its owner."""
    made = json.dumps(OKPKey.generate_key("Ed25519").as_dict(private=True)).encode()
    return OKPKey.import_key(json.loads(_read_or_make(data_directory / "keys" / "development.jwk", made)))
