"""Measure extraction and policy together on labelled utterances: lines of lang, text, expect, type or kind, never.

Usage: ``python bench/utterances.py [--show] FILE...``. Each utterance is a turn of a new person. Prints by language
and pooled: the share kept with the right type, how many of the never-stored classes were kept, and how many of the rest
were kept wrongly. What is kept unverified, and so outside default recall, counts only for the never-stored classes.
``--show`` prints each row that went wrong (not for a half that is set aside).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bench.decided import decided, embedder
from ingatan.memories.decision_context import PolicyContext, Writer
from ingatan.memories.extraction import ExtractionLimits, RulesExtractor
from ingatan.memories.resemblance import Resemblance
from ingatan.memories.trust import carried
from ingatan.types import MemoryType, MessageRole, Operation, Outcome, Trust, Turn, new_id


@dataclass(frozen=True, slots=True)
class Kept:
    """One memory that would be written."""

    type: MemoryType
    text: str
    trust: Trust


@dataclass(slots=True)
class Tally:
    """Counts over some utterances."""

    keep: int = 0
    right: int = 0
    wrong_type: int = 0
    never: int = 0
    never_kept: int = 0
    rest: int = 0
    rest_kept: int = 0
    unverified: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, row: dict[str, Any], held: list[Kept]) -> bool:
        """Count one utterance; False when it went wrong."""
        kept = [(each.type, each.text) for each in held if row.get("never") or each.trust is not Trust.UNVERIFIED]
        self.unverified += len(held) - len(kept)
        if row["expect"] == "keep":
            right = any(kind == row["type"] for kind, _ in kept)
            self.keep += 1
            self.right += right
            self.wrong_type += bool(kept) and not right
            return right
        if row["never"]:
            self.never += 1
            self.never_kept += bool(kept)
        else:
            self.rest += 1
            self.rest_kept += bool(kept)
        if kept:
            self.kinds[row["kind"]] += 1
        return not kept

    def __str__(self) -> str:
        return (
            f"kept with the right type {self.right}/{self.keep} ({self.right / max(1, self.keep):.1%}), wrong type "
            f"{self.wrong_type}; never-stored kept {self.never_kept}/{self.never}; rest wrongly kept "
            f"{self.rest_kept}/{self.rest} ({self.rest_kept / max(1, self.rest):.1%}); beside these, unverified "
            f"{self.unverified}"
        )


@cache
def extractor() -> RulesExtractor:
    """The extractor as the service has it."""
    return RulesExtractor(Resemblance(embedder()))


def kept(text: str) -> list[Kept]:
    """What would be remembered of a new person who says ``text``."""
    subject, now = new_id(), datetime.now(UTC)
    turn = Turn(id=new_id(), seq=1, role=MessageRole.USER, author_id=subject, text=text, said_at=now, received_at=now)
    found = extractor().extract(
        [turn], subject_id=subject, conversation_id=new_id(), offered=[], recent=[], limits=ExtractionLimits()
    )
    context = PolicyContext(turns={turn.id: turn}, writer=Writer(subject_id=subject), now=now)
    result: list[Kept] = []
    for candidate in found:
        decision = decided(candidate, context)
        if decision.outcome is Outcome.ACCEPT and candidate.operation is not Operation.DELETE:
            trust = carried(candidate, approved=False, lineage=None)
            result.append(Kept(candidate.type, decision.text, trust))
    return result


def measure(files: list[Path], *, show: bool = False) -> dict[str, Tally]:
    """One tally a language and one under ``all``."""
    tallies: dict[str, Tally] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found = kept(row["text"])
            tallies.setdefault(row["lang"], Tally()).add(row, found)
            if not tallies.setdefault("all", Tally()).add(row, found) and show:
                print(
                    row["expect"],
                    row.get("type") or row.get("kind"),
                    "|",
                    row["text"],
                    "|",
                    [each.text for each in found],
                )
    return tallies


if __name__ == "__main__":
    names = [Path(name) for name in sys.argv[1:] if name != "--show"]
    for language, tally in measure(names, show="--show" in sys.argv).items():
        print(f"{language:<4} {tally}   {dict(tally.kinds) or ''}")
