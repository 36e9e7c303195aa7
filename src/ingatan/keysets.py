"""Key sets: the public keys that sign tokens, from a file or from an address, kept while their source is away.

Both sources are called with the ``kid`` of the token in hand and return the keys in force. A removed key stops working
with the next good reading; an outage of the source logs nobody out.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ingatan.errors import StartRefused, Unavailable
from ingatan.telemetry import Event, event

FILE_CHECK_SECONDS = 1.0
SET_BYTES_MAX = 262_144
UNKNOWN_KEY_SECONDS_MIN = 10.0
"""How often at most an unknown key identifier leads to a fetch out of turn: forged ones must not drive us."""

KeySource = Callable[[str | None], KeySet]


class KeysUnavailable(Unavailable):
    """No key set was ever read, or the last one is too old: nobody's token can be checked (503)."""

    code = "keys_unavailable"


class KeySetFile:
    """A JSON key set on disk. A change is seen within a second; an unreadable file leaves the last keys in force."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._checked = 0.0
        self._stamp: tuple[int, int] | None = None
        self._keys = self._load()
        if not self._keys.keys:
            raise StartRefused(f"The key set {path} is empty, so that no token could be accepted.")

    def _load(self) -> KeySet:
        try:
            stat = self._path.stat()
            keys = key_set(self._path.read_bytes())
        except (OSError, ValueError) as error:
            raise StartRefused(f"The key set {self._path} cannot be read: {type(error).__name__}.") from None
        self._stamp = (stat.st_mtime_ns, stat.st_size)
        return keys

    def __call__(self, kid: str | None = None) -> KeySet:
        """The keys in force."""
        with self._lock:
            if time.monotonic() - self._checked >= FILE_CHECK_SECONDS:
                self._checked = time.monotonic()
                try:
                    stat = self._path.stat()
                    if (stat.st_mtime_ns, stat.st_size) != self._stamp:
                        self._keys = self._load()
                except (OSError, StartRefused):
                    pass  # an outage of the key source logs nobody out; a removed key goes with the next readable file
            return self._keys


class KeySetUrl:
    """A JSON key set behind an address, fetched again every ``refresh_seconds`` and when a key is not known.

    Regular refreshes happen beside the requests; only a token with an unknown key waits for a fetch. After
    ``stale_seconds`` without a good answer the keys are given up and callers get KeysUnavailable: an attacker who can
    keep the source away must not keep a removed key alive for ever. Redirects are not followed; proxies and credentials
    of the environment are not used.
    """

    def __init__(
        self,
        url: str,
        *,
        refresh_seconds: float,
        stale_seconds: float,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._refresh_seconds, self._stale_seconds, self._timeout = refresh_seconds, stale_seconds, timeout_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._read_at = self._tried_at = -float("inf")

    def __call__(self, kid: str | None = None) -> KeySet:
        """The keys in force. Raises KeysUnavailable."""
        if self._due(kid):
            if self._knows(kid):
                threading.Thread(target=self._refresh, args=(kid,), name="ingatan-keys", daemon=True).start()
            else:
                self._refresh(kid)
        if self._keys is None or self._clock() - self._read_at > self._stale_seconds:
            raise KeysUnavailable("The keys that sign tokens cannot be read now. Try again shortly.")
        return self._keys

    def _due(self, kid: str | None) -> bool:
        now = self._clock()
        if now - self._tried_at < min(UNKNOWN_KEY_SECONDS_MIN, self._refresh_seconds):
            return False
        return not self._knows(kid) or now - self._read_at >= self._refresh_seconds

    def _knows(self, kid: str | None) -> bool:
        return self._keys is not None and (kid is None or any(key.kid == kid for key in self._keys.keys))

    def _refresh(self, kid: str | None) -> None:
        with self._lock:
            if self._due(kid):
                self._read()

    def _read(self) -> None:
        self._tried_at = self._clock()
        try:
            self._keys = key_set(self._fetch())
            self._read_at = self._clock()
        except (OSError, ValueError) as error:
            event(Event.KEYS_UNAVAILABLE, level="warning", error_type=type(error).__name__)

    def _fetch(self) -> bytes:
        import httpx  # noqa: PLC0415 - only services with a key address need it

        try:
            with (
                httpx.Client(timeout=self._timeout, trust_env=False, follow_redirects=False) as client,
                client.stream("GET", self._url, headers={"Accept": "application/json"}) as answer,
            ):
                if answer.status_code != 200:
                    raise ValueError("the key source did not answer 200")
                body = b""
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > SET_BYTES_MAX:
                        raise ValueError("the key set is too large")
                return body
        except httpx.HTTPError as error:
            raise OSError(type(error).__name__) from None


def key_set(data: bytes) -> KeySet:
    """The public keys in a JSON key set; an empty set is a set. Raises ValueError for anything else.

    Symmetric keys are refused: whoever can check such a signature can also make it.
    """
    try:
        parsed: Any = json.loads(data)
        keys = KeySet([]) if parsed == {"keys": []} else KeySet.import_key_set(parsed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, JoseError) as error:
        raise ValueError(type(error).__name__) from None
    if any(key.key_type == "oct" for key in keys.keys):
        raise ValueError("symmetric keys cannot sign tokens here")
    return keys
