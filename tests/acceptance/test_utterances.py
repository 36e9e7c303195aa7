"""Utterances that were set aside before the rules were written, through extraction and policy as the service has them.

Only totals are looked at. ``fitted/`` is what rules and models were made with; ``held/`` was kept apart (see 0009).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.utterances import Tally, measure

HELD = sorted((Path(__file__).parent / "utterances" / "held").glob("*.jsonl"))


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    return measure(HELD)


def test_enough_was_set_aside_in_each_language(tallies: dict[str, Tally]) -> None:
    assert set(tallies) == {"en", "id", "vi", "all"}
    for tally in tallies.values():
        assert tally.keep >= 40
        assert tally.never + tally.rest >= 40


def test_most_of_what_should_be_kept_is_kept_with_the_right_type(tallies: dict[str, Tally]) -> None:
    assert tallies["all"].right / tallies["all"].keep >= 0.85


def test_what_is_never_stored_is_not_kept(tallies: dict[str, Tally]) -> None:
    assert tallies["all"].never_kept == 0


def test_little_of_the_rest_is_kept(tallies: dict[str, Tally]) -> None:
    assert tallies["all"].rest_kept / tallies["all"].rest <= 0.02
