"""Agreement: how the policy's own decisions compare with what reviewers said of the same candidates (S3). Pure.

What the policy refused kept no text, so no reviewer saw it unless its person appealed: recall is of what was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ingatan.memories.decisions import Judgement
from ingatan.types import Outcome, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """``count`` candidates that the policy decided on for ``reasons`` and a reviewer judged."""

    outcome: Outcome
    judgement: Judgement
    reasons: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Counts by outcome and judgement. Precision and recall are of ``accept`` as a forecast of an approval."""

    counts: dict[str, dict[str, int]]
    disagreements: tuple[tuple[str, str, str, int], ...]
    reviewed: int
    precision: float | None
    recall: float | None

    def as_json(self) -> dict[str, Any]:
        """The report as it is answered; a share of nothing is null."""
        return {
            "reviewed": self.reviewed,
            "counts": self.counts,
            "precision": self.precision,
            "recall": self.recall,
            "disagreements": [
                {"policy": policy, "reviewer": reviewer, "reason": reason, "count": count}
                for policy, reviewer, reason, count in self.disagreements
            ],
        }


def agreement(compared: Iterable[Compared]) -> Agreement:
    """What ``compared`` comes to. They disagree on accepted ones rejected, and any others approved."""
    rows = list(compared)
    counts = {outcome.value: dict.fromkeys((judgement.value for judgement in Judgement), 0) for outcome in Outcome}
    differing: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        counts[row.outcome.value][row.judgement.value] += row.count
        if (row.outcome is Outcome.ACCEPT) != (row.judgement is Judgement.APPROVE):
            for reason in row.reasons:
                if reason != Reason.DRY_RUN:
                    differing[row.outcome.value, row.judgement.value, reason] += row.count
    approve, reject = Judgement.APPROVE.value, Judgement.REJECT.value
    hits = counts[Outcome.ACCEPT.value][approve]
    forecast = hits + counts[Outcome.ACCEPT.value][reject]
    wanted = sum(counts[outcome.value][approve] for outcome in Outcome)
    ordered = sorted(differing.items(), key=lambda item: (-item[1], item[0]))
    return Agreement(
        counts=counts,
        disagreements=tuple((*key, count) for key, count in ordered),
        reviewed=sum(row.count for row in rows),
        precision=hits / forecast if forecast else None,
        recall=hits / wanted if wanted else None,
    )
