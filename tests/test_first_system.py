"""The table of the first system's sentences: each is shown by tests that are collected, or says what it waits for."""

from __future__ import annotations

import re
import subprocess
import sys

from ingatan.settings import MemorySettings
from tests.naming import ROOT, exists

PAGE = (ROOT / "docs" / "first-system.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
HEADINGS = (
    "Memory types", "What it stores", "What it never stores", "When it writes", "Who gets memory", "How answers use it",
    "User control", "What a tester sees", "Administrators", "Configuration", "Schema", "Organisation",
    "Retrieval order", "Lifecycle", "Retention", "Security", "Integration",
)  # fmt: skip


def rows() -> list[tuple[str, str]]:
    """Every line of the tables: what it says, and what shows it."""
    cells = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|") and line != "|---|---|"]
    assert all(len(line) == 2 for line in cells)
    found = [(said.strip(), shown.strip()) for said, shown in cells]
    return [line for line in found if line != ("what it says", "shown by")]


def test_every_part_of_the_document_has_its_table() -> None:
    assert tuple(re.findall(r"^## (.*)$", PAGE, re.MULTILINE)) == HEADINGS
    assert len(rows()) > 70


def test_every_line_names_a_test_or_what_it_waits_for() -> None:
    for said, shown in rows():
        waits = re.search(r"\*not yet\*[:,] \w", shown)
        assert NAMED.search(shown) or waits, said
        assert shown.count("`tests/") == len(NAMED.findall(shown)), said


def test_every_setting_of_the_first_document_has_its_line() -> None:
    missing = [name for name in MemorySettings.model_fields if f"`{name.upper()}`" not in PAGE]
    assert missing == []


def test_every_named_test_is_collected() -> None:
    named = sorted(set(NAMED.findall(PAGE)))
    assert [name for name in named if not exists(name)] == []
    files = sorted({name.partition("::")[0] for name in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    collected = {line.partition("[")[0] for line in listed.stdout.splitlines() if "::" in line}
    assert set(named) - collected == set()
