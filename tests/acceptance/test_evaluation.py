"""The evaluation: every shipped case runs, the report says what happened, and a wrong memory is not overlooked."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ingatan import settings
from ingatan.app import App
from ingatan.errors import StartRefused
from ingatan.storage import embedded
from ingatan_evals.cases import Case, Suite, _case, read
from ingatan_evals.report import Report
from ingatan_evals.runner import Runner
from tests.acceptance.processes import INGATAN, environment


@pytest.fixture
def app(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> App:
    chosen = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_DATABASE__URL": server.url(embedded.APP, database_name),
        "INGATAN_SERVER__DATA_DIRECTORY": str(tmp_path),
    }
    return App.start(settings.load(chosen))


def case(**fields: object) -> Case:
    base = {"id": "x", "suite": "must_not_write", "language": "en", "kind": "k", "steps": []}
    return Case.model_validate(base | fields)


PREFERS = {"do": "say", "turns": ["I prefer short answers."]}


def test_the_suites_are_in_three_languages_and_large_enough() -> None:
    counted = Counter((each.suite, each.language) for each in read())
    for suite in (Suite.MUST_WRITE, Suite.MUST_NOT_WRITE):
        for language in ("en", "id", "vi"):
            assert counted[suite, language] >= 40, (suite, language)
    assert {each.language for each in read((Suite.RECALL,))} == {"en", "id", "vi"}
    assert {each.language for each in read((Suite.CHANGE,))} == {"en", "id", "vi"}


def test_what_is_remembered_and_may_not_be_is_counted(app: App) -> None:
    try:
        wrong = case(steps=[PREFERS], expect={"memories": []})
        right = case(id="y", suite="must_write", steps=[PREFERS], expect={"memories": [{"has": ["short"]}]})
        other = case(id="z", suite="must_write", steps=[PREFERS], expect={"memories": [{"has": ["long"]}]})
        report = Report(results=Runner(app).run([wrong, right, other]), made_with={"<b>": "&"})
    finally:
        app.close()
    assert report.kept_wrongly == 1
    assert [result.passed for result in report.results] == [False, True, False]
    assert report.results[2].faults == ("missing: ('long',)", "remembered and not expected")
    page = report.as_html()
    assert "&lt;b&gt;" in page
    assert "<script" not in page
    assert json.loads(report.as_text())["passed"] == 1


def test_a_recall_of_somebody_elses_memory_fails_its_case(app: App) -> None:
    mine = {"do": "state", "text": "I work at the airport.", "type": "fact"}
    ask = {"do": "ask", "query": "airport", "not_recalled": [{"has": ["airport"]}]}
    try:
        results = Runner(app).run(
            [
                case(suite="recall", steps=[mine, ask]),
                case(id="y", suite="recall", steps=[mine | {"by": "other"}, ask | {"nothing": True}]),
            ]
        )
    finally:
        app.close()
    assert [result.passed for result in results] == [False, True]


@pytest.mark.parametrize(
    "line", ["{", "{}", '{"id": "x", "suite": "none", "language": "en", "kind": "k", "steps": []}', "[]"]
)
def test_a_malformed_line_is_named(line: str) -> None:
    with pytest.raises(StartRefused, match=r"a\.jsonl, line 3"):
        _case("a.jsonl", 3, line)


def test_the_command_leaves_your_database_alone_and_writes_both_reports(tmp_path: Path) -> None:
    environ = environment() | {"INGATAN_DATABASE__URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = subprocess.run(
        [INGATAN, "eval", "--suite", "recall", "--language", "en", "--json-file", "r.json", "--html-file", "r.html"],
        capture_output=True, text=True, timeout=120, env=environ, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("recall ")
    assert done.stdout.rstrip().endswith("wrongly remembered: 0.")
    whole = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert whole["total"] == len(read((Suite.RECALL,), ("en",)))
    assert "<h1>Evaluation</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--suite", "none"], ["--language", "fr"]])
def test_unknown_names_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [INGATAN, "eval", *arguments], capture_output=True, text=True, timeout=60, env=environment(), cwd=tmp_path
    )
    assert done.returncode == 2
    assert "one of" in done.stderr
