"""Commands beside a demo in the same directory, and names that nobody has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ingatan import settings
from ingatan.storage import embedded
from ingatan.storage.migrate import current_version
from tests.acceptance.processes import INGATAN, environment


def ingatan(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [INGATAN, *arguments], capture_output=True, text=True, timeout=120, env=environment() | more, cwd=cwd
    )


def test_a_demos_settings_do_not_colour_a_command_that_is_told_otherwise(tmp_path: Path) -> None:
    remembered = {"environment": "development", "memory": {"enabled": "true", "idle_minutes": "2"}}
    (tmp_path / ".ingatan").mkdir(mode=0o700)
    (tmp_path / ".ingatan" / "service.json").write_text(json.dumps(remembered), encoding="utf-8")
    told = ingatan("doctor", cwd=tmp_path)
    assert "idle 2 minutes" in told.stdout, told.stdout + told.stderr
    otherwise = ingatan("doctor", cwd=tmp_path, INGATAN_ENVIRONMENT="development", INGATAN_MEMORY__ENABLED="true")
    assert "idle 30 minutes" in otherwise.stdout, otherwise.stdout + otherwise.stderr


@pytest.mark.parametrize("command", [("audit", "verify"), ("erase", "--subject", "ana")])
def test_a_misspelt_tenant_is_no_success(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = ingatan(*command, "--tenant", "nosuch", cwd=tmp_path, INGATAN_ENVIRONMENT="development")
    assert done.returncode == 1
    assert "There is no tenant 'nosuch' here" in done.stderr


def test_a_command_that_looks_does_not_migrate(
    server: embedded.EmbeddedServer, fresh: Callable[..., str], tmp_path: Path
) -> None:
    name = fresh("template1")
    done = ingatan(
        "doctor",
        cwd=tmp_path,
        INGATAN_ENVIRONMENT="development",
        INGATAN_DATABASE__URL=server.url(embedded.APP, name),
        INGATAN_DATABASE__ADMIN_URL=server.url(embedded.OWNER, name),
    )
    assert "Run 'ingatan migrate'" in done.stdout + done.stderr
    assert current_version(server.url(embedded.OWNER, name)) is None


def test_given_sees_either_prefix_and_no_blank() -> None:
    assert settings.given("ENVIRONMENT", {"INGATAN_ENVIRONMENT": "production"})
    assert settings.given("ENVIRONMENT", {"ACEH_RAG_ENVIRONMENT": "production"})
    assert not settings.given("ENVIRONMENT", {"INGATAN_ENVIRONMENT": " "})
