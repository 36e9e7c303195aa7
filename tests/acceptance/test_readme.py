"""The README is followed to the letter: its commands run, its outputs are what comes out, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.processes import INGATAN, Serving, environment, start, stop, wait_ready

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CURL = ROOT / "tests" / "acceptance" / "curl.py"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("readme")
    serving = start(directory / "data", directory / "output", "--demo")
    wait_ready(serving)
    yield serving
    stop(serving)


def commands() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def outputs() -> list[str]:
    return re.findall(r"```text\n(.*?)```", README, re.DOTALL)


def test_the_tour_runs_and_says_what_the_readme_says(demo: Serving) -> None:
    """The commands in one shell; only address, data directory and where the programs lie differ."""
    script = "\n".join(["set -e", *commands()])
    script = script.replace("http://127.0.0.1:8765", demo.address)
    script = re.sub(r"\.venv/bin/ingatan ([a-z ]+)", rf"{INGATAN} \1 --data-dir {demo.directory} ", script)
    script = script.replace(".venv/bin/python", str(Path(INGATAN).with_name("python")))
    script = re.sub(r"\bcurl\b", f"{Path(INGATAN).with_name('python')} {CURL}", script)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120, env=environment())
    assert done.returncode == 0, done.stderr
    said = done.stdout
    prompt, refused, sound = outputs()[0], outputs()[1], outputs()[2]
    for line in prompt.splitlines():
        words = re.sub(r"\d{4}-\d{2}-\d{2}", "", line).replace('"', "").split(") ")[-1]
        assert words.strip() in said.replace('\\"', ""), line
    assert refused.strip().replace(" ", "") in said.replace(" ", "")
    assert re.search(r"The chain is sound: \d+ rows\.", said)
    assert re.fullmatch(r"The chain is sound: \d+ rows\.", sound.strip())
    assert '"removed"' in said


def test_every_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_two_commands_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) <= targets
    assert {"run", "test", "setup", "test-browser", "check", "fix", "bench"} <= targets


def test_decisions_are_numbered_without_gap() -> None:
    names = sorted(page.name for page in (ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
