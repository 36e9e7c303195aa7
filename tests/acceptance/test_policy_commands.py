"""``ingatan policy`` as an operator uses it, on a database of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from ingatan import policies
from ingatan.storage import embedded
from tests.acceptance.processes import INGATAN, environment
from tests.serving import serving


def test_a_document_is_checked_set_shown_and_kept(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    url = server.url(embedded.APP, database_name)
    environ = {"INGATAN_ENVIRONMENT": "development", "INGATAN_DATABASE__URL": url}
    with serving(url, tmp_path) as service:
        service.client().post("/conversations", json={}).raise_for_status()  # the tenant is known from now on

    def policy(*arguments: str) -> tuple[int, str]:
        where = [] if arguments[0] == "check" else ["--data-dir", str(tmp_path)]
        command = [INGATAN, "policy", *arguments, *where]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment(**environ))
        return done.returncode, done.stdout + done.stderr

    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    document: dict[str, Any] = yaml.safe_load(policies.source("governed")) | {"benefit": "Ours."}
    good.write_text(yaml.safe_dump(document), encoding="utf-8")
    bad.write_text(yaml.safe_dump(document | {"profile": "none"}), encoding="utf-8")
    assert policy("check", str(good))[0] == 0
    code, said = policy("check", str(bad))
    assert (code, "profile: Input should be 'assistant' or 'governed'" in said) == (1, True)
    assert policy("check", str(tmp_path / "missing.yaml"))[0] == 1
    code, said = policy("show")
    assert (code, yaml.safe_load(said)["profile"]) == (0, "assistant")
    code, said = policy("show", "--profile", "governed")
    assert (code, yaml.safe_load(said)) == (0, yaml.safe_load(policies.source("governed")))
    code, said = policy("show", "--profile", "strict")
    assert (code, "there are assistant and governed" in said) == (1, True)
    code, said = policy("set", str(good), "--expected-version", "0")
    assert (code, "version 1" in said) == (0, True)
    code, said = policy("set", str(good), "--expected-version", "0")
    assert (code, "version 1 by now" in said) == (1, True)
    code, said = policy("show", "--json")
    assert json.loads(said)["document"]["benefit"] == "Ours."
    code, said = policy("history")
    assert said.strip().endswith("1 versions of its own.")
    code, said = policy("report", "--since", "2026-01-01T00:00:00", "--json")
    assert (code, json.loads(said)["reviewed"]) == (0, 0)
    assert policy("show", "--tenant", "nobody")[0] == 1
    with serving(url, tmp_path) as service:
        assert service.client().get("/policy").json()["document"]["benefit"] == "Ours."
