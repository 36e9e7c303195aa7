"""The hard sets of texts to screen hold their bars. ``held`` was never read by who writes rules: its bars are what was
measured, with a little slack, and far from what is wished (bench/RESULTS.md); they may only get tighter."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.hard_sets import measure, pooled

SETS = Path(__file__).parent / "screening"
BARS = {"seen": (0.03, 0.03), "held": (0.16, 0.17)}
"""By half: of what must be refused, accepted at most; of what must pass, refused at most."""


@pytest.mark.parametrize("half", BARS)
def test_the_bars_hold(half: str) -> None:
    scores = measure(sorted((SETS / half).glob("*.jsonl")))
    accepted, refused = BARS[half]
    assert pooled(scores, expect="refuse").of >= 100
    assert pooled(scores, expect="refuse").share <= accepted
    assert pooled(scores, expect="accept").share <= refused
