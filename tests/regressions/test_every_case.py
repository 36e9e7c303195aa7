"""Every field case has a test that bears its name: ``test_<case>_...`` somewhere under tests/."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
CASES = (
    "a01", "a03", "a05", "a06", "a08", "a10", "a11",
    "b02", "b04", "b05",
    "c01", "c03",
    "d01", "d02", "d04",
    "e01", "e03", "e05", "e06",
    "f01", "f03", "f04",
    "g02", "g03", "g04", "g05",
    "h01", "h03",
    "i01", "j01", "k01", "k04",
    "l01", "l02", "l03", "l05", "l06",
)  # fmt: skip
NAMED = re.compile(r"^def test_([a-z]\d\d)_", re.MULTILINE)


def test_every_case_has_a_test_of_its_name() -> None:
    named = {case for file in TESTS.rglob("test_*.py") for case in NAMED.findall(file.read_text(encoding="utf-8"))}
    assert [case for case in CASES if case not in named] == []
