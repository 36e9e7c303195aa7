"""Field cases of kind H: times without an offset, from the future, and days that are longer or shorter than others.

| case | what is shown here |
|------|--------------------|
| H01 | every form of time at every door: one instant in UTC, or 422 that names it; the future gains nothing |
| H03 | "today" is never turned into a date; idle time and lifetimes are real time across changes of the clock |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from ingatan.memories.extraction import RulesExtractor
from ingatan.types import Role
from tests.serving import Service
from tests.tables import Tables

WORK = "I work at the port of Sabang."
SELF: dict[str, Any] = {"type": "fact", "source": {"kind": "self"}}
REFUSED: list[object] = [
    "2026-11-29T10:00:00", "2026-11-29 10:00:00", "2026-11-29", "20261129", "2026-1129", "2026-W48", "2026-W48-7",
    "10:00:00+00:00", "-07:00", "2026-11-29T10:00:00 UTC", "2026-11-29T10:00:00+05:30[Asia/Kolkata]", "now",
    "yesterday", "", " ", 1_764_400_000, 1_764_400_000_000, 1_764_400_000.5, True, "1764400000",
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "0000-00-00T00:00:00Z", "2026-02-30T10:00:00Z",
    "2026-11-29T25:00:00Z", "2026-11-29T10:00:00+99:00", "2026-11-29T10:00:00Z\u0000", ["2026-11-29T10:00:00Z"],
]  # fmt: skip
NOON = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
SAME = [
    "2026-11-01T12:00:00Z",
    "2026-11-01T17:30:00+05:30",
    "2026-11-01 12:00:00.000000+00:00",
    "2026-11-01T07:00:00-0500",
]


@pytest.fixture
def ana(service: Service) -> httpx.Client:
    return service.client()


Send = Callable[[object], httpx.Response]


def doors(service: Service, ana: httpx.Client) -> dict[str, tuple[str, Send]]:
    """Every door that takes a time: the field's name, and how to send one."""
    id = service.say(ana, "hello")
    memory = ana.post("/candidates", json=SELF | {"text": "I use QGIS every week."}).json()["memory_id"]
    auditor = service.client("auditor", roles=[Role.AUDITOR])

    def turn(value: object) -> httpx.Response:
        said = {"role": "user", "content": "hello", "created_at": value}
        return ana.post(f"/conversations/{id}/messages", json={"messages": [said]})

    def asked(name: str) -> Send:
        return lambda value: auditor.get("/audit", params={name: str(value)})

    return {
        "turn": ("messages.0.created_at", turn),
        "as of": ("as_of", lambda value: ana.post("/recall", json={"query": "port", "as_of": value})),
        "lifetime": ("expires_at", lambda value: ana.patch(f"/memories/{memory}", json={"expires_at": value})),
        "proposal": (
            "expires_at",
            lambda value: ana.post("/candidates", json=SELF | {"text": WORK, "expires_at": value}),
        ),
        "audit from": ("from", asked("from")),
        "audit to": ("to", asked("to")),
    }


@pytest.mark.parametrize("door", ["turn", "as of", "lifetime", "proposal", "audit from", "audit to"])
def test_h01_ambiguous_and_absurd_times_are_refused_by_name(
    service: Service, ana: httpx.Client, tables: Tables, door: str
) -> None:
    field, send = doors(service, ana)[door]
    before = tables.rows()
    for value in REFUSED:
        answer = send(value)
        assert answer.status_code == 422, value
        if "errors" in answer.json():
            assert [item["field"] for item in answer.json()["errors"]] == [field], value
        else:
            assert field in answer.text, value
    beyond = 1 if door in {"lifetime", "proposal"} else -1
    wrong = datetime.now(UTC) - beyond * timedelta(days=10)  # a lifetime in the past, anything else in the future
    assert send(wrong.isoformat()).status_code == 422
    assert tables.rows() == before


@pytest.mark.parametrize("door", ["turn", "as of", "audit from", "audit to"])
def test_h01_every_form_of_an_instant_is_that_instant(service: Service, ana: httpx.Client, door: str) -> None:
    _, send = doors(service, ana)[door]
    for value in SAME:
        answer = send(value)
        assert answer.is_success, value
        if door == "turn":
            [turn] = answer.json()["messages"]
            assert turn["created_at"].endswith("+00:00")
            assert datetime.fromisoformat(turn["created_at"]) == NOON
        if door == "as of":
            assert answer.json()["memories"] == []


def test_h01_a_memory_from_the_future_gains_nothing(service: Service, ana: httpx.Client, tables: Tables) -> None:
    """A clock that is ahead, and rows that an older release or an import left far ahead or behind."""
    ahead = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    turn = {"role": "user", "content": WORK, "created_at": ahead}
    id = service.say(ana, "hello")
    ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).raise_for_status()
    service.sweep()
    for tool in ("QGIS", "Python"):
        ana.post("/candidates", json=SELF | {"text": f"I use {tool} every week."}).raise_for_status()
    assert len(service.remembered(ana)) == 3
    for moment in ("now() + interval '3 seconds'", "now() + interval '10 years'", "'9999-12-31 23:59:59+00'", "now()"):
        tables.run(
            f"update memories set effective_at = {moment}, confirmed_at = {moment}, recorded_at = {moment}"
            " where text like '%QGIS%'"
        )
        for formula in ("s1", "s2"):
            answer = ana.post("/recall", json={"query": "zzz", "ranking": formula})
            assert answer.status_code == 200
            scores = {item["text"]: item["score"] for item in answer.json()["memories"]}
            assert len(scores) == 3, "never an empty answer because of a time"
            assert all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values())
            ahead_of, beside = scores["I use QGIS every week."], scores["I use Python every week."]
            assert ahead_of == pytest.approx(beside, abs=0.1)
            assert ahead_of - beside < 0.05
    tables.run("update memories set confirmed_at = '0001-01-02', effective_at = '0001-01-02' where text like '%QGIS%'")
    assert len(ana.post("/recall", json={"query": "zzz"}).json()["memories"]) == 3


BOGOTA = datetime(2026, 6, 16, 2, 20, tzinfo=UTC).astimezone(ZoneInfo("America/Bogota"))
TOLD = [
    "Remind me that I see the dentist today.",
    "I start at the port of Sabang tomorrow.",
    "Hari ini saya mulai bekerja di pelabuhan.",
    "Ngày mai tôi bắt đầu làm việc ở cảng.",
]


@pytest.mark.parametrize("text", TOLD)
def test_h03_a_relative_day_is_never_made_a_date(service: Service, ana: httpx.Client, text: str) -> None:
    """What is kept of it is kept word for word with the instant it was said; no date is made of UTC's day."""
    turn = {"role": "user", "content": text, "created_at": BOGOTA.isoformat()}
    id = service.say(ana, "hello")
    said = ana.post(f"/conversations/{id}/messages", json={"messages": [turn]}).raise_for_status().json()["messages"]
    assert datetime.fromisoformat(said[0]["created_at"]) == BOGOTA
    service.sweep()
    for item in service.remembered(ana):
        assert item["text"].rstrip(".") in text
        assert not any(digits in item["text"] for digits in ("2026", "06", "15", "16"))
    prompt = ana.post("/recall", json={"query": "today"}).json()["prompt"]
    assert "2026-06-16" not in prompt or service.remembered(ana)


def test_h03_idle_time_is_real_time_whatever_the_clock_says(service: Service, ana: httpx.Client) -> None:
    """Half an hour is half an hour on the day the clock goes back, and a sweep that is started twice sweeps once."""
    assert isinstance(service.app.extractor, RulesExtractor)
    service.say(ana, WORK)
    now = datetime.now(UTC)
    new_york = ZoneInfo("America/New_York")
    before = (now + timedelta(minutes=29)).astimezone(new_york)
    after = (now + timedelta(minutes=31)).astimezone(new_york)
    assert service.app.sweeper.sweep(before).conversations == 0
    assert service.app.sweeper.sweep(after).conversations == 1
    assert service.app.sweeper.sweep(after).conversations == 0
    assert len(service.remembered(ana)) == 1


@pytest.mark.parametrize("change", [datetime(2027, 3, 14, 7, tzinfo=UTC), datetime(2027, 11, 7, 6, tzinfo=UTC)])
def test_h03_a_lifetime_is_the_instant_that_was_given(service: Service, ana: httpx.Client, change: datetime) -> None:
    """Thirty days across a change of the clock, given in the local time of before and of after it."""
    made = ana.post("/candidates", json=SELF | {"text": WORK}).json()["memory_id"]
    ends = change + timedelta(days=15)
    zone = ZoneInfo("America/New_York")
    for given in (ends.astimezone(zone), ends.astimezone((change - timedelta(days=15)).astimezone(zone).tzinfo), ends):
        ana.patch(f"/memories/{made}", json={"expires_at": given.isoformat()}).raise_for_status()
        assert datetime.fromisoformat(ana.get(f"/memories/{made}").json()["expires_at"]) == ends
