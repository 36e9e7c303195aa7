"""Every setting is changed by a test that sees the behaviour change. A new setting without such a test fails here."""

from __future__ import annotations

import pytest

from ingatan.settings import Settings, variable_names
from tests.naming import ROOT, exists

MEMORY = "tests/api/test_settings_behaviour.py"
IDENTITY = "tests/api/test_settings_identity.py"
PARTS = "tests/api/test_settings_parts.py"
SWITCHES = "tests/api/test_switches.py"
POOLER = "tests/pooler/test_pooler.py"
LANES = "tests/integration/test_lanes.py"
TOLD = "tests/api/test_told_events.py"

SHOWN = {
    "ENVIRONMENT": f"{IDENTITY}::test_the_production_template_serves_verified_callers_only",
    "MEMORY__ENABLED": f"{MEMORY}::test_the_sweeper_in_the_process",
    "MEMORY__WRITE_ENABLED": f"{SWITCHES}::test_with_writing_off_what_there_is_is_recalled",
    "MEMORY__READ_ENABLED": f"{SWITCHES}::test_shadow_mode_writes_and_shows_and_no_answer_uses_it",
    "MEMORY__IDLE_MINUTES": f"{LANES}::test_bounds_of_a_sweep_are_kept",
    "MEMORY__SWEEP_INTERVAL_SECONDS": f"{MEMORY}::test_the_sweeper_in_the_process",
    "MEMORY__SWEEP_BATCH_SIZE": f"{LANES}::test_bounds_of_a_sweep_are_kept",
    "MEMORY__LOOKBACK_HOURS": f"{LANES}::test_bounds_of_a_sweep_are_kept",
    "MEMORY__MAX_CONCURRENT_WRITES": f"{LANES}::test_concurrent_extractions_are_one_a_person",
    "MEMORY__EXTRACT_MODEL": f"{MEMORY}::test_the_model_for_extraction_may_be_another_one",
    "MEMORY__EXTRACT_TIMEOUT_SECONDS": f"{MEMORY}::test_an_extraction_that_takes_too_long_writes_nothing",
    "MEMORY__MAX_EXTRACTION_ATTEMPTS": f"{MEMORY}::test_after_so_many_failures_a_conversation_is_set_aside",
    "MEMORY__EXTRACT_MAX_MESSAGES": f"{MEMORY}::test_the_transcript_has_a_budget",
    "MEMORY__EXTRACT_MAX_CHARS_PER_MESSAGE": f"{MEMORY}::test_the_transcript_has_a_budget",
    "MEMORY__MAX_NEW_PER_CONVERSATION": f"{MEMORY}::test_new_memories_of_one_conversation_are_capped",
    "MEMORY__MAX_CHARS_PER_MEMORY": f"{MEMORY}::test_the_length_of_a_memory_is_capped",
    "MEMORY__MAX_ACTIVE_PER_USER": f"{MEMORY}::test_above_the_cap_of_active_memories_only_changes_are_taken",
    "MEMORY__RECALL_TOP_K": f"{MEMORY}::test_recall_carries_so_many_memories",
    "MEMORY__RECALL_MAX_CHARS": f"{MEMORY}::test_recall_carries_so_many_characters",
    "MEMORY__WEIGHT_RELEVANCE": f"{MEMORY}::test_ranking_follows_its_weights",
    "MEMORY__WEIGHT_RECENCY": f"{MEMORY}::test_recency_counts_by_its_weight_and_halves_by_its_half_life",
    "MEMORY__WEIGHT_IMPORTANCE": f"{MEMORY}::test_ranking_follows_its_weights",
    "MEMORY__RECENCY_HALF_LIFE_DAYS": f"{MEMORY}::test_recency_counts_by_its_weight_and_halves_by_its_half_life",
    "MEMORY__SHARED_CONVERSATIONS": "tests/api/test_sharing.py::test_on_every_asker_learns_from_their_own_turns_only",
    "MEMORY__REQUIRE_VERIFIED_PRINCIPAL": f"{MEMORY}::test_only_verified_askers_and_only_where_tokens_are_checked",
    "MEMORY__SUBJECT_ALLOWLIST": f"{SWITCHES}::test_an_unlisted_subject_sees_nothing_and_erases_nothing",
    "SECURITY__REQUIRE_AUTH": f"{SWITCHES}::test_callers_without_identity_have_no_memory",
    "SECURITY__RESOLVER": "tests/api/test_resolvers.py::test_the_gateways_headers_say_who_calls",
    "SECURITY__JWKS_FILE": f"{IDENTITY}::test_the_key_file_is_read_again_when_it_changes",
    "SECURITY__JWKS_URL": f"{IDENTITY}::test_keys_behind_an_address_are_fetched_again",
    "SECURITY__JWKS_REFRESH_SECONDS": f"{IDENTITY}::test_keys_behind_an_address_are_fetched_again",
    "SECURITY__JWKS_STALE_SECONDS": f"{IDENTITY}::test_keys_too_old_are_given_up_in_an_outage",
    "SECURITY__JWKS_TIMEOUT_SECONDS": f"{IDENTITY}::test_a_slow_key_address_is_waited_for_so_long",
    "SECURITY__ISSUER": f"{IDENTITY}::test_tokens_are_believed_of_one_issuer_for_one_audience",
    "SECURITY__AUDIENCE": f"{IDENTITY}::test_tokens_are_believed_of_one_issuer_for_one_audience",
    "SECURITY__ALGORITHMS": f"{IDENTITY}::test_only_the_listed_algorithms_count",
    "SECURITY__LEEWAY_SECONDS": f"{IDENTITY}::test_leeway_covers_clocks_that_disagree",
    "SECURITY__TENANT_CLAIM": f"{IDENTITY}::test_claims_of_other_names_say_tenant_and_roles",
    "SECURITY__ROLES_CLAIM": f"{IDENTITY}::test_claims_of_other_names_say_tenant_and_roles",
    "SECURITY__SUBJECT_HEADER": f"{IDENTITY}::test_a_gateway_may_write_other_headers",
    "SECURITY__TENANT_HEADER": f"{IDENTITY}::test_a_gateway_may_write_other_headers",
    "SECURITY__ROLES_HEADER": f"{IDENTITY}::test_a_gateway_may_write_other_headers",
    "DATABASE__URL": "tests/integration/test_start_checks.py::test_an_empty_database_is_refused",
    "DATABASE__ADMIN_URL": f"{PARTS}::test_the_owners_address_builds_the_schema",
    "DATABASE__POOL_SIZE": f"{PARTS}::test_a_full_pool_is_waited_for_so_long",
    "DATABASE__TIMEOUT_SECONDS": f"{PARTS}::test_a_full_pool_is_waited_for_so_long",
    "DATABASE__PREPARED_STATEMENTS": f"{POOLER}::test_prepared_statements_are_given_up_where_they_get_lost",
    "KEYS__MASTER_KEY": f"{PARTS}::test_what_one_master_key_signed_another_does_not_know",
    "POLICY__PROFILE": f"{TOLD}::test_under_governed_it_waits_unless_it_was_asked_to_be_remembered",
    "POLICY__MODE": "tests/api/test_service.py::test_in_dry_mode_decisions_are_recorded_and_nothing_is_written",
    "RECALL__RANKING": f"{PARTS}::test_the_ranking_of_questions_that_name_none",
    "LLM__BASE_URL": f"{PARTS}::test_a_model_is_asked_by_its_name_with_its_key",
    "LLM__MODEL": f"{PARTS}::test_a_model_is_asked_by_its_name_with_its_key",
    "LLM__API_KEY": f"{PARTS}::test_a_model_is_asked_by_its_name_with_its_key",
    "LLM__STRUCTURED_OUTPUT": f"{PARTS}::test_a_model_is_asked_in_the_form_its_endpoint_knows",
    "LLM__MAX_OUTPUT_TOKENS": f"{PARTS}::test_a_model_is_asked_in_the_form_its_endpoint_knows",
    "LLM__OUTPUT_LIMIT_FIELD": f"{PARTS}::test_a_model_is_asked_in_the_form_its_endpoint_knows",
    "LLM__LOOPBACK_ONLY": "tests/unit/test_start_refusals.py::test_without_its_one_fault_it_starts",
    "EMBEDDING__BASE_URL": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__MODEL": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__API_KEY": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__DIMENSIONS": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__SEND_DIMENSIONS": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__QUERY_PREFIX": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__PASSAGE_PREFIX": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__TIMEOUT_SECONDS": f"{PARTS}::test_a_slow_embedding_endpoint_is_waited_for_so_long",
    "EMBEDDING__QUERY_TIMEOUT_SECONDS": f"{PARTS}::test_a_slow_embedding_endpoint_is_waited_for_so_long",
    "EMBEDDING__BATCH_SIZE": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "EMBEDDING__PREVIOUS_BASE_URL": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_MODEL": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_API_KEY": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_DIMENSIONS": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_SEND_DIMENSIONS": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_QUERY_PREFIX": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__PREVIOUS_PASSAGE_PREFIX": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__WITHOUT_PREVIOUS": f"{PARTS}::test_the_model_being_left_serves_as_its_settings_say",
    "EMBEDDING__KEEP_PREVIOUS_HOURS": f"{PARTS}::test_vectors_of_a_model_left_are_kept_so_long",
    "SERVER__DATA_DIRECTORY": f"{PARTS}::test_keys_live_in_the_data_directory",
    "SERVER__LOG_LEVEL": f"{PARTS}::test_what_is_less_than_the_level_is_not_logged",
    "SERVER__METRICS_TOKEN": "tests/api/test_metrics.py::test_a_scraper_reads_it_by_the_token_and_nothing_else",
}
"""Which test changes the setting and sees what the service does differently."""

UNDER_BOTH_PREFIXES = {
    "memory": f"{MEMORY}::test_the_length_of_a_memory_is_capped",
    "security": f"{IDENTITY}::test_tokens_are_believed_of_one_issuer_for_one_audience",
    "database": f"{PARTS}::test_a_full_pool_is_waited_for_so_long",
    "keys": f"{PARTS}::test_what_one_master_key_signed_another_does_not_know",
    "policy": f"{PARTS}::test_a_profile_that_is_not_shipped_does_not_start",
    "recall": f"{PARTS}::test_the_ranking_of_questions_that_name_none",
    "llm": f"{PARTS}::test_a_model_is_asked_by_its_name_with_its_key",
    "embedding": f"{PARTS}::test_an_embedding_endpoint_is_asked_as_the_settings_say",
    "server": f"{PARTS}::test_what_is_less_than_the_level_is_not_logged",
}


def test_every_setting_has_its_test() -> None:
    names = set(variable_names())
    assert names - SHOWN.keys() == set(), "settings that no test changes: write one and name it here"
    assert SHOWN.keys() - names == set(), "settings that there are not"


@pytest.mark.parametrize("name", SHOWN)
def test_the_test_exists_and_its_file_names_the_setting(name: str) -> None:
    assert exists(SHOWN[name])
    file = ROOT / SHOWN[name].partition("::")[0]
    bare = name.rpartition("__")[2]
    words = (f"{name}", bare, bare.removeprefix("PREVIOUS_"))
    assert any(word in file.read_text(encoding="utf-8") for word in words)


def test_every_group_is_read_under_both_prefixes() -> None:
    assert UNDER_BOTH_PREFIXES.keys() == Settings.model_fields.keys() - {"environment"}
    assert all(exists(name) for name in UNDER_BOTH_PREFIXES.values())
