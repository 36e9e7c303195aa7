"""``ingatan eval``: run the shipped cases and report. Found by the command line through the package's entry point."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    suite: Annotated[list[str] | None, typer.Option("--suite", help="Only this suite; may be repeated.")] = None,
    language: Annotated[list[str] | None, typer.Option("--language", help="Only en, id or vi.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json-file", help="Write the whole report as JSON.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html-file", help="Write the whole report as one page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run must-write, must-not-write, change and recall cases in three languages on a database of their own.

    Extractor, embedder, policy and ranking are those of the environment; no data of yours is touched. Ends with 1 when
    something was remembered that may not be.
    """
    from ingatan.errors import IngatanError  # noqa: PLC0415 - --help stays quick
    from ingatan.languages import CODES  # noqa: PLC0415
    from ingatan_evals.cases import Suite, read  # noqa: PLC0415
    from ingatan_evals.trial import run  # noqa: PLC0415

    try:
        suites = tuple(Suite(name) for name in suite or list(Suite))
    except ValueError:
        raise typer.BadParameter(f"one of {', '.join(Suite)}", param_hint="--suite") from None
    if set(language or ()) - set(CODES):
        raise typer.BadParameter("one of en, id, vi", param_hint="--language")
    for option, path in (("--json-file", json_file), ("--html-file", html_file)):
        _refuse_unwritable(option, path)
    try:
        cases = read(suites, tuple(language or CODES))
        with tempfile.TemporaryDirectory(prefix="ingatan-eval-") as directory:
            report = run(cases, Path(directory), show_progress=sys.stderr.isatty())
    except IngatanError as error:
        typer.secho(f"ingatan: {error}", err=True, fg=typer.colors.RED)
        raise typer.Exit(1) from None
    for path, text in ((json_file, report.as_text), (html_file, report.as_html)):
        if path is not None:
            path.write_text(text(), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps({key: value for key, value in report.as_json().items() if key != "cases"}))
    else:
        shares = ", ".join(f"{row.name} {row.passed} of {row.total}" for row in report.tables["suite"])
        typer.echo(f"{shares}; wrongly remembered: {report.kept_wrongly}.")
    raise typer.Exit(1 if report.kept_wrongly else 0)


def _refuse_unwritable(option: str, path: Path | None) -> None:
    """Say before anything is run that a report could not be written there; nothing is left behind, nothing changed."""
    if path is None:
        return
    new = not path.exists()
    try:
        with path.open("a", encoding="utf-8"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        typer.secho(f"ingatan: {option} {path} cannot be written: {error.strerror}.", err=True, fg=typer.colors.RED)
        raise typer.Exit(2) from None
