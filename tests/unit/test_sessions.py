"""Sessions and the one-time link, by the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from ingatan.console.sessions import LIFETIME_SECONDS, LINK_SECONDS, Sessions, SignInLink
from ingatan.console.view import due
from ingatan.types import new_id

NOW = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that is set."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_read_back_until_it_runs_out() -> None:
    clock = Clock()
    sessions = Sessions(b"k" * 32, clock=clock)
    session = sessions.begin(new_id(), "vi")
    cookie = sessions.seal(session)
    clock.now += LIFETIME_SECONDS - 1
    assert sessions.open(cookie) == session
    clock.now += 1
    assert sessions.open(cookie) is None


def test_what_was_changed_or_signed_by_another_key_is_no_session() -> None:
    sessions = Sessions(b"k" * 32)
    cookie = sessions.seal(sessions.begin(new_id(), "en"))
    head, body, mac = cookie.split(".")
    for bad in (None, "", "x", "..", f"{head}.{body}.", f"{head}.{body[:-2]}AA.{mac}", cookie * 20):
        assert sessions.open(bad) is None
    assert Sessions(b"j" * 32).open(cookie) is None
    assert sessions.open(cookie) is not None


def test_a_link_signs_in_once_and_not_after_its_time() -> None:
    clock = Clock()
    link = SignInLink(clock=clock)
    assert not link.take("")
    assert not link.take(link.value[:-1])
    assert link.take(link.value)
    assert not link.take(link.value)
    late = SignInLink(clock=clock)
    clock.now += LINK_SECONDS
    assert not late.take(late.value)
    assert SignInLink().value != SignInLink().value


@pytest.mark.parametrize(
    ("ends_in", "next_in", "due_in"),
    [(None, 60, None), (None, None, None), (90, None, 90), (30, 60, 60), (60, 60, 60), (61, 60, 360), (700, 60, 960)],
)
def test_what_was_said_is_due_at_the_first_sweep_after_its_conversation_ended(
    ends_in: int | None, next_in: int | None, due_in: int | None
) -> None:
    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW + timedelta(seconds=seconds)

    assert due(at(ends_in), at(next_in), 300) == at(due_in)
