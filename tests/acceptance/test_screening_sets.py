"""The hard screening sets through the policy, as a person proposes a text about themself (see screening/README.md).

Of ``held`` only totals are looked at. Bars stand a little above what was measured; bench/RESULTS.md has the figures.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.hard_sets import measure, pooled

SETS = Path(__file__).parent / "screening"
SIZES = {"seen": {"refuse": 876, "accept": 1024}, "held": {"refuse": 886, "accept": 1071}}
BARS = {("seen", "refuse"): 0.03, ("seen", "accept"): 0.045, ("held", "refuse"): 0.08, ("held", "accept"): 0.12}
"""At most this share of a half goes wrong."""
NEVER_MAX = {"seen": 8, "held": 12}
NEVER = ("children", "crime", "ethnicity", "health", "politics", "religion", "sexual_life", "union", "credential")


@pytest.mark.parametrize("half", ["seen", "held"])
def test_few_texts_of_a_half_go_wrong(half: str) -> None:
    scores = measure(sorted((SETS / half).glob("*.jsonl")))
    for expect, texts in SIZES[half].items():
        total = pooled(scores, expect=expect)
        assert total.of == texts
        assert total.share <= BARS[half, expect], str(total)
    assert sum(pooled(scores, expect="refuse", kind=kind).wrong for kind in NEVER) <= NEVER_MAX[half]
