"""Which extractor is in force, what may not start, and what ``doctor`` says about the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingatan import diagnosis, settings
from ingatan.diagnosis import Finding
from ingatan.memories.extraction import RulesExtractor
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.storage import embedded
from tests.model_server import Step, cut, html, model_server, nothing, status, without_structure
from tests.serving import Service, serving


def extraction(url: str, directory: Path, **environ: str) -> Finding:
    chosen = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_DATABASE__URL": url,
        "INGATAN_SERVER__DATA_DIRECTORY": str(directory),
        **environ,
    }
    [found] = [each for each in diagnosis.examine(settings.load(chosen)) if each.what == "extraction"]
    return found


def test_without_a_model_the_rules_are_in_force(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, service: Service
) -> None:
    assert isinstance(service.app.extractor, RulesExtractor)
    found = extraction(server.url(embedded.APP, database_name), tmp_path)
    assert found.sound
    assert found.detail.startswith("rules")


@pytest.mark.parametrize(
    ("step", "sound", "words"),
    [
        (nothing(), True, "other-model"),
        (cut("{"), True, "answers"),
        (without_structure(nothing()), True, "answers"),
        (status(401), False, "not_authorised"),
        (status(500), False, "server_error"),
        (html(), False, "malformed_response"),
    ],
)
def test_doctor_says_whether_the_model_answers(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, step: Step, sound: bool, words: str
) -> None:
    with model_server() as model:
        model.always = step
        url = server.url(embedded.APP, database_name)
        environ = model.settings(INGATAN_MEMORY__EXTRACT_MODEL="other-model")
        found = extraction(url, tmp_path, **environ)
        assert (found.sound, words in found.detail) == (sound, True)
        assert "canary-key" not in found.detail
        assert all(asked.body["model"] == "other-model" for asked in model.asked)
        with serving(url, tmp_path, environ=environ) as running:
            assert isinstance(running.app.extractor, ModelExtractor)
