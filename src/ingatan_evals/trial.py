"""A trial: the settings of the environment on an embedded database that is thrown away."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from ingatan import __version__, settings, telemetry
from ingatan.app import App
from ingatan.memories.model_extraction import ModelExtractor
from ingatan_evals.cases import Case
from ingatan_evals.report import Report
from ingatan_evals.runner import Runner

GROUPS = frozenset({"memory", "policy", "recall", "llm", "embedding"})
"""What a trial takes from the environment. Database, keys, identity and data directory are always its own."""


def run(cases: list[Case], directory: Path, *, show_progress: bool) -> Report:
    """Run ``cases`` on an App in ``directory``. Raises StartRefused for settings that do not start."""
    own = {
        "environment": "development",
        "memory": {"enabled": "true"},
        "server": {"data_directory": str(directory / "data"), "log_level": "error"},
    }
    telemetry.configure("error")
    app = App.start(settings.load(groups=GROUPS, **own))  # type: ignore[arg-type]
    try:
        with Progress(console=Console(stderr=True), disable=not show_progress) as progress:
            task = progress.add_task("cases", total=len(cases))
            results = Runner(app).run(cases, after_each=lambda result: progress.advance(task))
        return Report(results=results, made_with=made_with(app))
    finally:
        app.close()


def made_with(app: App) -> dict[str, str]:
    """What the figures depend on."""
    return {
        "version": __version__,
        "extractor": type(app.extractor).__name__,
        "model": app.extractor.model.name if isinstance(app.extractor, ModelExtractor) else "none",
        "embedder": app.projections.current.embedder.name,
        "policy": f"{app.settings.policy.profile}, {app.settings.policy.mode}",
        "ranking": app.settings.recall.ranking,
    }
