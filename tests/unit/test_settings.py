"""Settings: names, prefixes, refusals."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from ingatan.errors import StartRefused
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import load, memory_allowed, variable_names

SUBJECT = "0b6f5a52-6c1e-4d0e-9a57-3f1d6b0a0001"
SAFE = {
    "INGATAN_MEMORY__ENABLED": "true",
    "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "true",
    "INGATAN_SECURITY__ISSUER": "https://id.example",
    "INGATAN_SECURITY__AUDIENCE": "ingatan",
    "INGATAN_SECURITY__JWKS_FILE": "keys.json",
}


def test_defaults_are_those_of_the_first_document() -> None:
    memory = load({}).memory
    assert (memory.enabled, memory.write_enabled, memory.read_enabled) == (False, True, True)
    assert (memory.idle_minutes, memory.sweep_interval_seconds, memory.sweep_batch_size) == (30, 300, 20)
    assert (memory.lookback_hours, memory.max_concurrent_writes, memory.max_extraction_attempts) == (168, 1, 3)
    assert (memory.extract_max_messages, memory.extract_max_chars_per_message) == (20, 2000)
    assert (memory.max_new_per_conversation, memory.max_chars_per_memory, memory.max_active_per_user) == (3, 300, 30)
    assert (memory.recall_top_k, memory.recall_max_chars) == (5, 1500)
    assert (memory.weight_relevance, memory.weight_recency, memory.weight_importance) == (1.0, 0.3, 0.5)
    assert (memory.recency_half_life_days, memory.subject_allowlist) == (30, ())


@pytest.mark.parametrize("prefix", ["INGATAN_", "ACEH_RAG_"])
def test_both_prefixes_are_read(prefix: str) -> None:
    assert load({f"{prefix}MEMORY__IDLE_MINUTES": "2"}).memory.idle_minutes == 2


def test_prefixes_that_differ_are_refused_and_equal_ones_are_not() -> None:
    both = {"INGATAN_MEMORY__IDLE_MINUTES": "2", "ACEH_RAG_MEMORY__IDLE_MINUTES": "2"}
    assert load(both).memory.idle_minutes == 2
    with pytest.raises(StartRefused, match="both set and differ"):
        load(both | {"ACEH_RAG_MEMORY__IDLE_MINUTES": "3"})


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(StartRefused, match="INGATAN_MEMORY__IDLE_MINUTES"):
        load({"INGATAN_MEMORY__IDLE_MINUTE": "2"})


def test_other_names_under_the_legacy_prefix_belong_to_others() -> None:
    assert load({"ACEH_RAG_CORPUS__PATH": "x"}).memory.enabled is False


def test_an_error_names_the_variable_and_never_its_value() -> None:
    with pytest.raises(StartRefused, match="INGATAN_MEMORY__IDLE_MINUTES") as caught:
        load({"INGATAN_MEMORY__IDLE_MINUTES": "canary-7781"})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("value", ["[1]", '["0B6F5A52-6C1E-4D0E-9A57-3F1D6B0A0001"]', "x", '{"a": 1}'])
def test_the_allowlist_takes_canonical_uuids_only(value: str) -> None:
    with pytest.raises(StartRefused):
        load({"INGATAN_MEMORY__SUBJECT_ALLOWLIST": value})


def template() -> dict[str, str]:
    lines = (Path(__file__).parents[2] / "deploy" / "production.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_production_template_starts_once_its_empty_values_are_given() -> None:
    given = {
        "INGATAN_SECURITY__ISSUER": "https://id.example",
        "INGATAN_SECURITY__AUDIENCE": "ingatan",
        "INGATAN_SECURITY__JWKS_URL": "https://id.example/keys",
    }
    assert {name for name, value in template().items() if not value} == given.keys()
    with pytest.raises(StartRefused, match="JWKS_URL"):
        refuse_unsafe(load(template()))
    settings = load(template() | given)
    refuse_unsafe(settings)
    assert (settings.memory.enabled, settings.memory.write_enabled, settings.memory.read_enabled) == (True, True, True)
    assert settings.memory.require_verified_principal


def test_safe_production_settings_start() -> None:
    refuse_unsafe(load(SAFE))


MODEL = {
    "INGATAN_LLM__BASE_URL": "https://models.example/v1",
    "INGATAN_LLM__MODEL": "some-model",
    "INGATAN_LLM__API_KEY": "canary",
}


@pytest.mark.parametrize(
    "change",
    [
        MODEL,
        MODEL | {"INGATAN_LLM__MODEL": "", "INGATAN_MEMORY__EXTRACT_MODEL": "other"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://127.0.0.1:8000/v1", "INGATAN_LLM__LOOPBACK_ONLY": "true"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://[::1]:8000/v1"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://localhost/v1/"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://models.example/v1", "INGATAN_ENVIRONMENT": "development"},
    ],
)
def test_a_model_that_is_named_whole_and_asked_in_private_starts(change: dict[str, str]) -> None:
    refuse_unsafe(load(SAFE | change))


@pytest.mark.parametrize(
    "url",
    ["models.example/v1", "ftp://models.example", "https://", "https://canary@models.example/v1",
     "https://models.example/v1?key=canary", "https://models.example/v1#canary", "https://models.example:x/v1",
     "https://[models.example/v1"],
)  # fmt: skip
def test_the_models_address_is_a_plain_url(url: str) -> None:
    with pytest.raises(StartRefused) as caught:
        load({"INGATAN_LLM__BASE_URL": url})
    assert "INGATAN_LLM__BASE_URL" in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "false"},
        {"INGATAN_SECURITY__REQUIRE_AUTH": "false"},
        {
            "INGATAN_ENVIRONMENT": "development",
            "INGATAN_SECURITY__REQUIRE_AUTH": "false",
            "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "false",
        },
        {"INGATAN_SECURITY__ISSUER": ""},
        {"INGATAN_SECURITY__AUDIENCE": ""},
        {"INGATAN_SECURITY__JWKS_URL": "https://id.example/keys"},  # beside the file
        {"INGATAN_SECURITY__RESOLVER": "headers"},
        {"INGATAN_SECURITY__RESOLVER": "none"},
        {"INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "false", "INGATAN_SECURITY__RESOLVER": "headers"},
        {
            "INGATAN_SECURITY__RESOLVER": "headers",
            "INGATAN_MEMORY__SUBJECT_ALLOWLIST": f'["{SUBJECT}"]',  # narrows only; never lifts the verified principal
        },
        {"INGATAN_MEMORY__EXTRACT_MODEL": "some-model"},
        {"INGATAN_LLM__MODEL": "some-model"},
        {"INGATAN_LLM__BASE_URL": "https://models.example/v1"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://models.example/v1"},
        MODEL | {"INGATAN_LLM__BASE_URL": "http://models.example/v1", "INGATAN_LLM__API_KEY": ""},
        MODEL | {"INGATAN_LLM__LOOPBACK_ONLY": "true"},
        {"INGATAN_EMBEDDING__BASE_URL": "https://models.example/v1"},
        {"INGATAN_EMBEDDING__DIMENSIONS": "384"},
        {"INGATAN_EMBEDDING__PREVIOUS_MODEL": "the-old-one"},
        {
            "INGATAN_EMBEDDING__BASE_URL": "models.example/v1",
            "INGATAN_EMBEDDING__MODEL": "some-model",
            "INGATAN_EMBEDDING__DIMENSIONS": "384",
        },
        {"INGATAN_SERVER__METRICS_TOKEN": "too-short"},
    ],
)
def test_unsafe_settings_do_not_start(change: dict[str, str]) -> None:
    with pytest.raises(StartRefused):
        refuse_unsafe(load(SAFE | change))


@pytest.mark.parametrize(
    "url", ["http://id.example/keys", "ftp://id.example/keys", "https://", "keys.json", "http://127.0.0.1.evil/k"]
)
def test_a_key_address_that_can_be_tampered_with_is_refused(url: str) -> None:
    without_file = {name: value for name, value in SAFE.items() if not name.endswith("JWKS_FILE")}
    refuse_unsafe(load(without_file | {"INGATAN_SECURITY__JWKS_URL": "http://127.0.0.1:8080/keys"}))
    with pytest.raises(StartRefused):
        refuse_unsafe(load(without_file | {"INGATAN_SECURITY__JWKS_URL": url}))


def test_forgeable_headers_start_in_production_with_an_allowlist_only() -> None:
    headers = {
        "INGATAN_SECURITY__RESOLVER": "headers",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_MEMORY__SUBJECT_ALLOWLIST": f'["{SUBJECT}"]',
    }
    refuse_unsafe(load(headers))
    with pytest.raises(StartRefused, match="SUBJECT_ALLOWLIST"):
        refuse_unsafe(load(headers | {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": "[]"}))
    refuse_unsafe(load(headers | {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": "[]", "INGATAN_ENVIRONMENT": "development"}))


def test_an_allowlist_lets_unverified_callers_in_production_start() -> None:
    refuse_unsafe(
        load(
            SAFE
            | {
                "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "false",
                "INGATAN_MEMORY__SUBJECT_ALLOWLIST": f'["{SUBJECT}"]',
            }
        )
    )


def test_who_has_memory() -> None:
    subject, other = UUID(SUBJECT), UUID(int=5)
    on = load({"INGATAN_MEMORY__ENABLED": "true"})
    assert memory_allowed(on, subject_id=subject, verified=False, shared_sentinel=False)
    assert not memory_allowed(on, subject_id=subject, verified=True, shared_sentinel=True)
    assert not memory_allowed(load({}), subject_id=subject, verified=True, shared_sentinel=False)
    verified = load(SAFE)
    assert memory_allowed(verified, subject_id=subject, verified=True, shared_sentinel=False)
    assert not memory_allowed(verified, subject_id=subject, verified=False, shared_sentinel=False)
    listed = load(SAFE | {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": f'["{SUBJECT}"]'})
    assert memory_allowed(listed, subject_id=subject, verified=True, shared_sentinel=False)
    assert not memory_allowed(listed, subject_id=other, verified=True, shared_sentinel=False)
    assert not memory_allowed(listed, subject_id=subject, verified=False, shared_sentinel=False)


def test_every_variable_name_is_unique() -> None:
    assert len(set(variable_names())) == len(variable_names()) > 35
