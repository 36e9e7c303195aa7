"""Key sets: the public keys that sign tokens, from a file or from an address, kept while their source is away.

Both sources are called with the ``kid`` of the token in hand and return the keys in force. A removed key stops working
with the next good reading; an outage of the source logs nobody out.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ingatan.certificates import authorities
from ingatan.errors import StartRefused, Unavailable
from ingatan.telemetry import Event, event

FILE_CHECK_SECONDS = 1.0
SET_BYTES_MAX = 262_144
UNKNOWN_KEY_SECONDS_MIN = 10.0
"""How often at most an unknown key identifier leads to a fetch out of turn: forged ones must not drive us."""
WAIT_SECONDS_MAX = 2.0
"""How long at most a caller waits for a fetch."""

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

    At most one fetch runs, in a thread of its own, and ends within ``timeout_seconds`` whatever the source does (the
    look-up of its name apart, whose time is the system's). Who has a known key never waits for it; of those with an
    unknown key, only the one who set it off, and briefly. Without any keys callers wait as briefly. After
    ``stale_seconds`` without a good answer the keys are given up and callers get KeysUnavailable: an attacker who can
    keep the source away must not keep a removed key alive for ever. Redirects are not followed; proxies and
    credentials of the environment are not used.
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
        self._fetched: threading.Event | None = None

    def __call__(self, kid: str | None = None) -> KeySet:
        """The keys in force. Raises KeysUnavailable."""
        with self._lock:
            under_way, mine = self._fetched, False
            if under_way is None and self._due(kid):
                under_way, mine = self._start(), True
            waits = not self._usable() or (mine and not self._knows(kid))
        if waits and under_way is not None:
            under_way.wait(min(WAIT_SECONDS_MAX, self._timeout))
        with self._lock:
            if self._keys is None or not self._usable():
                raise KeysUnavailable("The keys that sign tokens cannot be read now. Try again shortly.")
            return self._keys

    def _usable(self) -> bool:
        return self._keys is not None and self._clock() - self._read_at <= self._stale_seconds

    def _due(self, kid: str | None) -> bool:
        now = self._clock()
        if now - self._tried_at < min(UNKNOWN_KEY_SECONDS_MIN, self._refresh_seconds):
            return False
        return not self._knows(kid) or now - self._read_at >= self._refresh_seconds

    def _knows(self, kid: str | None) -> bool:
        return self._keys is not None and (kid is None or any(key.kid == kid for key in self._keys.keys))

    def _start(self) -> threading.Event:
        """Begin the one fetch; call under the lock. The event is set when it is over, well or badly."""
        self._tried_at = self._clock()
        self._fetched = over = threading.Event()
        try:
            threading.Thread(target=self._read, args=(over,), name="ingatan-keys", daemon=True).start()
        except RuntimeError:  # no thread to be had now: tried again later
            self._fetched = None
            over.set()
        return over

    def _read(self, over: threading.Event) -> None:
        found: KeySet | None = None
        try:
            found = key_set(self._fetch())
        except Exception as error:  # whatever it was, the next fetch must be able to begin
            event(Event.KEYS_UNAVAILABLE, level="warning", error_type=type(error).__name__)
        with self._lock:
            if found is not None:
                self._keys, self._read_at = found, self._clock()
            self._fetched = None
        over.set()

    def _fetch(self) -> bytes:
        """The body of a 200 answer, all of it within the timeout: cancelled then, wherever it stands."""
        return asyncio.run(asyncio.wait_for(self._ask(), self._timeout))

    async def _ask(self) -> bytes:
        async with (
            httpx.AsyncClient(
                timeout=self._timeout, verify=authorities(), trust_env=False, follow_redirects=False
            ) as client,
            client.stream("GET", self._url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code != 200:
                raise ValueError("the key source did not answer 200")
            body = b""
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > SET_BYTES_MAX:
                    raise ValueError("the key set is too large")
            return body


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
