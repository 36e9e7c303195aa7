"""What screening one candidate costs: python -m bench.screening.

Over the turns of bench/conversations.jsonl in three languages, each four times, with an order number, a version and a
commit behind it, so that the detectors of values have work. Printed: median and 95th percentile of ``screen`` on one
text, the dearest detectors, and texts of 100,000 characters.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections import Counter
from pathlib import Path

from ingatan.screening import screen
from ingatan.screening.catalogue import CATALOGUE
from ingatan.screening.view import View

TURNS = Path(__file__).with_name("conversations.jsonl")
ADDED = (
    "",
    " My order number is 1234567890123456.",
    " We use version 3.12.4 since 2024-05-01.",
    " Commit 3f2a9c1e7b5d.",
)
ROUNDS = 3
DEAREST = 12


def texts() -> list[tuple[str, str]]:
    """(language, text) of every turn, each with one of ADDED behind it."""
    found: list[tuple[str, str]] = []
    for line in TURNS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for turn in row["turns"]:
            text = turn if isinstance(turn, str) else turn.get("content", turn.get("text", ""))
            if text:
                found += [(row["language"], text + more) for more in ADDED]
    return found


def main() -> None:
    """Print the figures."""
    given = texts()
    for language, text in given[:100]:
        screen([text], language=language)
    taken: list[float] = []
    by_detector = Counter[str]()
    for _ in range(ROUNDS):
        for language, text in given:
            started = time.perf_counter()
            screen([text], language=language)
            taken.append(time.perf_counter() - started)
    for language, text in given:
        view = View(raw=text, language=language)
        started = time.perf_counter()
        _ = (view.labels, view.mapped, view.numbers, view.shown)
        by_detector["(views and word lists)"] += round((time.perf_counter() - started) * 1e9)
        started = time.perf_counter()
        _ = view.readings
        by_detector["(decoded readings)"] += round((time.perf_counter() - started) * 1e9)
        for detector in CATALOGUE:
            started = time.perf_counter()
            detector.finds(view)
            by_detector[detector.name] += round((time.perf_counter() - started) * 1e9)
    taken.sort()
    print(f"{platform.machine()}, Python {platform.python_version()}; {len(given)} texts, {ROUNDS} rounds")
    late = taken[int(len(taken) * 0.95)]
    print(f"median {statistics.median(taken) * 1e3:.2f} ms, 95th percentile {late * 1e3:.2f} ms")
    for name, nanoseconds in by_detector.most_common(DEAREST):
        print(f"{name}: {nanoseconds / len(given) / 1e6:.3f} ms on average")
    for piece in ("I work at the port with lists. ", "my password ", "1171 0345 0790 0002 ", "i g n o r e "):
        largest = (piece * (100_000 // len(piece) + 1))[:100_000]
        started = time.perf_counter()
        screen([largest], language="en")
        print(f"100,000 characters of {piece!r}: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
