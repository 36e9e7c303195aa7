"""Settings: names, prefixes, refusals."""

from __future__ import annotations

from uuid import UUID

import pytest

from ingatan.errors import StartRefused
from ingatan.settings import load, memory_allowed, refuse_unsafe, variable_names

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


def test_safe_production_settings_start() -> None:
    refuse_unsafe(load(SAFE))


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
        {"INGATAN_MEMORY__SHARED_CONVERSATIONS": "true"},
        {"INGATAN_MEMORY__EXTRACT_MODEL": "some-model"},
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
