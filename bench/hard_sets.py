"""Measure the gate on the hard screening sets: what must be refused in slang, without marks, mixed; what must pass.

Usage: ``python -m bench.hard_sets [--rows] FILE...``; lines of text, language, expect (``accept`` or ``refuse``)
and class (``tests/acceptance/screening/README.md``). Each text is proposed at ``POST /candidates`` by a new person
about themself, profile ``assistant``. Prints how many went wrong by class and by language, and what refused the
legitimate ones. ``--rows`` prints each of them: not for the half that is set aside.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.gate import proposed
from ingatan.languages.detect import language_of
from ingatan.screening import screen
from ingatan.types import Decision, Outcome, Reason


@dataclass(slots=True)
class Score:
    """Counts over some texts: ``wrong`` were accepted though they must be refused, or the other way about."""

    of: int = 0
    wrong: int = 0
    rows: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)

    def add(self, *, wrong: bool, row: str, found: Iterable[str]) -> None:
        """Count one text and, where it went wrong, the reason and the detectors."""
        self.of += 1
        self.wrong += wrong
        if wrong:
            self.rows.append(row)
            self.found.update(found)

    @property
    def share(self) -> float:
        """Of all texts those that went wrong."""
        return self.wrong / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.wrong}/{self.of} ({self.share:.1%})"


Scores = Mapping[tuple[str, str, str], Score]
"""By expectation, class and language."""


def measure(files: Iterable[Path]) -> Scores:
    """What went wrong in ``files``."""
    scores: dict[tuple[str, str, str], Score] = defaultdict(Score)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            decision, kind = proposed(row["text"])
            accepted = decision.outcome is Outcome.ACCEPT
            scores[row["expect"], row["class"], row["language"]].add(
                wrong=accepted != (row["expect"] == "accept"),
                row=_shown(row, decision, kind.value),
                found=_found(row["text"], decision),
            )
    return scores


def _found(text: str, decision: Decision) -> list[str]:
    """What refuses a text: its detectors, or the reason where no detector does."""
    detectors = [finding.detector for finding in screen([text], language=language_of(text))]
    return (
        detectors
        if detectors and Reason.NOT_A_STATEMENT not in decision.reasons
        else [reason.value for reason in decision.reasons]
    )


def _shown(row: Mapping[str, str], decision: Decision, kind: str) -> str:
    reasons = ",".join(reason.value for reason in decision.reasons)
    return f"{row['expect']} {row['class']} {row['language']} [{kind}: {reasons}] {row['text']}"


def pooled(scores: Scores, *, expect: str, kind: str = "", language: str = "") -> Score:
    """The sum over what is not named."""
    total = Score()
    for (wanted, of_class, spoken), score in scores.items():
        if wanted == expect and kind in ("", of_class) and language in ("", spoken):
            total.of += score.of
            total.wrong += score.wrong
            total.rows += score.rows
            total.found += score.found
    return total


def report(scores: Scores) -> None:
    """Print the figures: refused ones that were accepted, then legitimate ones that were refused."""
    for expect, said in (("refuse", "accepted though never to be stored"), ("accept", "refused though legitimate")):
        print(f"{said}: {pooled(scores, expect=expect)}")
        for language in sorted({key[2] for key in scores}):
            print(f"  {language:<20} {pooled(scores, expect=expect, language=language)}")
        for kind in sorted({key[1] for key in scores if key[0] == expect}):
            score = pooled(scores, expect=expect, kind=kind)
            found = dict(score.found.most_common()) if expect == "accept" and score.wrong else ""
            print(f"    {kind:<20} {score} {found}".rstrip())


if __name__ == "__main__":
    measured = measure(Path(name) for name in sys.argv[1:] if name != "--rows")
    report(measured)
    if "--rows" in sys.argv:
        for expect in ("refuse", "accept"):
            print(*pooled(measured, expect=expect).rows, sep="\n")
