"""The key set behind an address, over real HTTP: rotation, outage, unknown keys, bad answers."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from ingatan.errors import Unauthenticated
from ingatan.identity import JwtResolver, TrustedIssuer
from ingatan.keysets import SET_BYTES_MAX, KeySetUrl, KeysUnavailable
from tests.key_server import KeyServer, key_server

NOW = 1_790_000_000
WAIT_SECONDS = 30.0


def key(kid: str) -> OKPKey:
    return OKPKey.generate_key("Ed25519", {"kid": kid})


@pytest.fixture
def source() -> Iterator[KeyServer]:
    with key_server() as serving:
        yield serving


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def resolver(source: KeyServer, clock: Clock, **change: float) -> JwtResolver:
    times = {"refresh_seconds": 300.0, "stale_seconds": 3_600.0, "timeout_seconds": 1.0} | change
    keys = KeySetUrl(source.address, clock=clock, **times)
    return JwtResolver([TrustedIssuer("i", "a", ("Ed25519",), keys)], clock=lambda: NOW)


def bearer(signer: OKPKey) -> list[str]:
    claims = {"iss": "i", "aud": "a", "sub": "ana", "exp": NOW + 60}
    return ["Bearer " + jwt.encode({"alg": "Ed25519", "kid": signer.kid}, claims, signer, algorithms=["Ed25519"])]


def refreshed(source: KeyServer, times: int) -> None:
    """Wait until the source was asked so often: regular refreshes happen beside the requests."""
    deadline = time.monotonic() + WAIT_SECONDS
    while source.asked < times and time.monotonic() < deadline:
        time.sleep(0.005)
    assert source.asked == times


def stops_working(known: JwtResolver, removed: OKPKey) -> None:
    """Wait until a removed key opens nothing: what was fetched beside the requests is taken a moment later."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            known.resolve(bearer(removed))
        except Unauthenticated:
            return
        time.sleep(0.005)
    raise AssertionError("a removed key still works")


def test_keys_are_fetched_once_and_kept(source: KeyServer) -> None:
    first = key("k1")
    source.publish(first)
    known = resolver(source, Clock())
    for _ in range(3):
        assert known.resolve(bearer(first)).verified
    assert source.asked == 1


def test_a_rotated_key_is_seen_at_once_and_a_removed_one_stops_working(source: KeyServer) -> None:
    first, second, clock = key("k1"), key("k2"), Clock()
    source.publish(first)
    known = resolver(source, clock)
    assert known.resolve(bearer(first)).verified
    clock.now += 11
    source.publish(second)
    assert known.resolve(bearer(second)).verified, "an unknown key is worth a look before the next refresh"
    with pytest.raises(Unauthenticated):
        known.resolve(bearer(first))


def test_a_removed_key_stops_working_with_the_next_refresh(source: KeyServer) -> None:
    first, second, clock = key("k1"), key("k2"), Clock()
    source.publish(first, second)
    known = resolver(source, clock)
    assert known.resolve(bearer(first)).verified
    source.publish(second)
    clock.now += 301
    known.resolve(bearer(second))
    refreshed(source, 2)
    stops_working(known, first)


def test_forged_key_identifiers_do_not_drive_the_source(source: KeyServer) -> None:
    first, clock = key("k1"), Clock()
    source.publish(first)
    known = resolver(source, clock)
    known.resolve(bearer(first))
    for n in range(20):
        with pytest.raises(Unauthenticated):
            known.resolve(bearer(key(f"forged-{n}")))
    assert source.asked == 1


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (500, b"{}", {}),
        (302, b"", {"Location": "http://127.0.0.1:1/other"}),
        (200, b"<html>", {}),
        (200, b'{"keys": 5}', {}),
        (200, b"[" * 100_000, {}),
        (200, b" " * (SET_BYTES_MAX + 1), {}),
    ],
)
def test_an_outage_logs_nobody_out(source: KeyServer, status: int, body: bytes, headers: dict[str, str]) -> None:
    first, clock = key("k1"), Clock()
    source.publish(first)
    known = resolver(source, clock)
    assert known.resolve(bearer(first)).verified
    source.status, source.body, source.headers = status, body, headers
    clock.now += 301
    assert known.resolve(bearer(first)).verified
    refreshed(source, 2)
    assert known.resolve(bearer(first)).verified


def test_keys_too_old_are_given_up_and_come_back(source: KeyServer) -> None:
    first, clock = key("k1"), Clock()
    source.publish(first)
    known = resolver(source, clock)
    known.resolve(bearer(first))
    source.status = 503
    clock.now += 3_601
    with pytest.raises(KeysUnavailable):
        known.resolve(bearer(first))
    source.status = 200
    clock.now += 11
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            assert known.resolve(bearer(first)).verified
            return
        except KeysUnavailable:
            time.sleep(0.02)
    pytest.fail("the keys did not come back")


def test_without_any_key_set_the_answer_is_503_and_not_401(source: KeyServer) -> None:
    source.status = 500
    with pytest.raises(KeysUnavailable):
        resolver(source, Clock()).resolve(bearer(key("k1")))


def test_a_slow_source_delays_no_known_caller(source: KeyServer) -> None:
    first, clock = key("k1"), Clock()
    source.publish(first)
    known = resolver(source, clock)
    known.resolve(bearer(first))
    source.delay = 2.0
    clock.now += 301
    began = time.monotonic()
    assert known.resolve(bearer(first)).verified
    assert time.monotonic() - began < 1.5
    refreshed(source, 2)


def test_symmetric_keys_in_a_key_set_are_refused(source: KeyServer) -> None:
    source.publish(OctKey.generate_key(256, {"kid": "k1"}))
    with pytest.raises(KeysUnavailable):
        resolver(source, Clock()).resolve(bearer(key("k1")))
