"""Measure the rules extractor on labelled utterances: lines of lang, text, expect, type or kind, never.

Usage: python bench/utterances.py [--show] FILE...   Prints per language the share of statements kept with the right
type, and of the others what was wrongly kept, by kind. Screening is applied where it is installed.
"""

from __future__ import annotations

import collections
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingatan.memories.statements import Statement, statements
from ingatan.types import Operation


def passes() -> Callable[[Statement], bool]:
    """Whether screening lets a statement through; everything passes where screening is not installed."""
    try:
        from ingatan.screening import screen  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
    except ImportError:
        return lambda statement: True
    return lambda statement: not screen(statement.text)


def main(arguments: list[str]) -> None:
    show = "--show" in arguments
    allowed = passes()
    texts = [Path(name).read_text(encoding="utf-8") for name in arguments if name != "--show"]
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    wrong: collections.Counter[str] = collections.Counter()
    started = time.perf_counter()
    for row in rows:
        kept = [s for s in statements(row["text"]) if s.operation is Operation.ADD and allowed(s)]
        judge(row, kept, totals[row["lang"]], wrong, show=show)
    seconds = time.perf_counter() - started
    for language, counts in sorted(totals.items()):
        print(
            f"{language}: kept with the right type {counts['right']}/{counts['keep']}"
            f" ({counts['right'] / max(counts['keep'], 1):.1%}), wrong type {counts['type']};"
            f" wrongly kept {counts['wrong']}/{counts['drop']} ({counts['wrong'] / max(counts['drop'], 1):.1%});"
            f" of the never-stored {counts['never_kept']}/{counts['never']} left to screening"
        )
    print("wrongly kept by kind:", dict(wrong))
    print(f"{1000 * seconds / max(len(rows), 1):.2f} ms an utterance")


def judge(
    row: dict[str, Any],
    kept: list[Statement],
    counts: collections.Counter[str],
    wrong: collections.Counter[str],
    *,
    show: bool,
) -> None:
    """Count one row; ``show`` prints what went wrong."""
    described = [(s.type.value, s.slot, s.text) for s in kept]
    if row["expect"] == "keep":
        counts["keep"] += 1
        if any(s.type == row["type"] for s in kept):
            counts["right"] += 1
        else:
            counts["type"] += bool(kept)
            if show:
                print("MISSED", row["type"], "|", row["text"], "|", described)
    elif row.get("never"):
        counts["never"] += 1
        counts["never_kept"] += bool(kept)
    else:
        counts["drop"] += 1
        if kept:
            counts["wrong"] += 1
            wrong[row["kind"]] += 1
            if show:
                print("KEPT", row["kind"], "|", row["text"], "|", described)


if __name__ == "__main__":
    main(sys.argv[1:])
