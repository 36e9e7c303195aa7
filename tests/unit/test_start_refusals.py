"""Every refusal to start: the service starts once the one fault is taken out of the same settings.

A refusal in ``safeguards`` that no case reaches fails the tests. Those of ``storage/checks`` are in
``tests/integration/test_start_checks.py``.
"""

from __future__ import annotations

import ast
import traceback
from pathlib import Path

import pytest

from ingatan import safeguards
from ingatan.errors import StartRefused
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import LEGACY_PREFIX, PREFIX, load

SUBJECT = "0b6f5a52-6c1e-4d0e-9a57-3f1d6b0a0001"
ALLOWLIST = {"MEMORY__SUBJECT_ALLOWLIST": f'["{SUBJECT}"]'}
SAFE = {
    "MEMORY__ENABLED": "true",
    "MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "true",
    "SECURITY__ISSUER": "https://id.example",
    "SECURITY__AUDIENCE": "ingatan",
    "SECURITY__JWKS_FILE": "keys.json",
}
UNVERIFIED = SAFE | {"MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "false"}
AT_HOME = UNVERIFIED | {"ENVIRONMENT": "development"}
MODEL = {"LLM__BASE_URL": "https://models.example/v1", "LLM__MODEL": "some-model", "LLM__API_KEY": "canary"}
VECTORS = {
    "EMBEDDING__BASE_URL": "https://models.example/v1",
    "EMBEDDING__MODEL": "some-model",
    "EMBEDDING__DIMENSIONS": "384",
}
LEFT = {name.replace("__", "__PREVIOUS_"): value for name, value in VECTORS.items()}

CASES: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    "verified principals, and nobody has to sign in": (SAFE, {"SECURITY__REQUIRE_AUTH": "false"}),
    "verified principals, and headers are believed": (SAFE | ALLOWLIST, {"SECURITY__RESOLVER": "headers"}),
    "memory for unverified callers in production": (UNVERIFIED | ALLOWLIST, {"MEMORY__SUBJECT_ALLOWLIST": None}),
    "memory for callers who need not sign in": (AT_HOME, {"SECURITY__REQUIRE_AUTH": "false"}),
    "nobody is known and everybody must be": (
        AT_HOME | ALLOWLIST | {"SECURITY__RESOLVER": "none", "SECURITY__REQUIRE_AUTH": "false"},
        {"SECURITY__REQUIRE_AUTH": "true"},
    ),
    "headers in production without an allowlist": (
        {"SECURITY__RESOLVER": "headers"} | ALLOWLIST,
        {"MEMORY__SUBJECT_ALLOWLIST": None},
    ),
    "two key sets": (SAFE, {"SECURITY__JWKS_URL": "https://id.example/keys"}),
    "keys that can be changed on their way": (
        {name: value for name, value in SAFE.items() if name != "SECURITY__JWKS_FILE"}
        | {"SECURITY__JWKS_URL": "https://id.example/keys"},
        {"SECURITY__JWKS_URL": "http://id.example/keys"},
    ),
    "no issuer": (SAFE, {"SECURITY__ISSUER": None}),
    "no audience": (SAFE, {"SECURITY__AUDIENCE": None}),
    "no key set": (SAFE, {"SECURITY__JWKS_FILE": None}),
    "a key set without an issuer in development": (AT_HOME, {"SECURITY__ISSUER": None}),
    "a model and no endpoint": (SAFE | MODEL, {"LLM__BASE_URL": None}),
    "a model for extraction and no endpoint": (SAFE, {"MEMORY__EXTRACT_MODEL": "some-model"}),
    "an endpoint and no model": (SAFE | MODEL, {"LLM__MODEL": None}),
    "a model beyond this machine": (SAFE | MODEL, {"LLM__LOOPBACK_ONLY": "true"}),
    "a model's key in the clear": (SAFE | MODEL, {"LLM__BASE_URL": "http://models.example/v1"}),
    "vectors of no model": (SAFE | VECTORS, {"EMBEDDING__MODEL": None}),
    "vectors of no length": (SAFE | VECTORS, {"EMBEDDING__DIMENSIONS": None}),
    "vectors from nowhere": (SAFE | VECTORS, {"EMBEDDING__BASE_URL": None}),
    "vectors from what is no address": (SAFE | VECTORS, {"EMBEDDING__BASE_URL": "models.example/v1"}),
    "vectors in the clear": (SAFE | VECTORS, {"EMBEDDING__BASE_URL": "http://models.example/v1"}),
    "half a model that is left": (SAFE | VECTORS | LEFT, {"EMBEDDING__PREVIOUS_MODEL": None}),
    "a weak token for the scraper": (
        SAFE | {"SERVER__METRICS_TOKEN": "a-token-for-the-scraper"},
        {"SERVER__METRICS_TOKEN": "short"},
    ),
}
"""What is at fault -> settings that start, and the one change with which they do not."""


def given(named: dict[str, str], fault: dict[str, str | None], prefix: str = PREFIX) -> dict[str, str]:
    """The environment of ``named`` with the fault in it; None takes a variable away."""
    changed = named | fault
    return {f"{prefix}{name}": value for name, value in changed.items() if value is not None}


@pytest.mark.parametrize("prefix", [PREFIX, LEGACY_PREFIX])
@pytest.mark.parametrize("case", CASES)
def test_without_its_one_fault_it_starts(case: str, prefix: str) -> None:
    good, fault = CASES[case]
    assert len(fault) == 1
    refuse_unsafe(load(given(good, {}, prefix)))
    with pytest.raises(StartRefused) as caught:
        refuse_unsafe(load(given(good, fault, prefix)))
    told = str(caught.value)
    assert "INGATAN_" in told, "which setting to change"
    assert "canary" not in told


def test_every_refusal_of_the_safeguards_has_a_case() -> None:
    source = Path(safeguards.__file__)
    raises = {
        node.lineno
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and "StartRefused" in ast.dump(node)
    }
    reached: set[int] = set()
    for good, fault in CASES.values():
        try:
            refuse_unsafe(load(given(good, fault)))
        except StartRefused as error:
            frames = traceback.extract_tb(error.__traceback__)
            reached |= {frame.lineno or 0 for frame in frames if Path(frame.filename) == source}
    assert raises - reached == set(), "lines of safeguards.py that refuse and that no case reaches"
