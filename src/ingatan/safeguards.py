"""Safeguards: what may not start (S1, CONTRACT §1). Each refusal names the setting and what to do; never its value."""

from __future__ import annotations

from ingatan import addresses
from ingatan.errors import StartRefused
from ingatan.settings import Environment, Resolution, Settings

METRICS_TOKEN_CHARS_MIN = 20


def refuse_unsafe(settings: Settings) -> None:
    """Raise StartRefused for what S1 and CONTRACT §1 do not allow to start; return None otherwise."""
    memory, security = settings.memory, settings.security
    production = settings.environment is Environment.PRODUCTION
    _refuse_half_set(settings)
    _refuse_unsafe_model(settings)
    _refuse_unsafe_identity(settings)
    if not memory.enabled:
        return
    if memory.require_verified_principal and not (security.require_auth and security.resolver is Resolution.JWT):
        raise StartRefused(
            "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL needs INGATAN_SECURITY__REQUIRE_AUTH=true and the jwt resolver."
        )
    exposed = production or not security.require_auth
    if exposed and not memory.require_verified_principal and not memory.subject_allowlist:
        raise StartRefused(
            "Memory is on for callers whose identity is not verified. Set "
            "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL=true, or name the test subjects in "
            "INGATAN_MEMORY__SUBJECT_ALLOWLIST."
        )


def _refuse_half_set(settings: Settings) -> None:
    """Raise StartRefused for an embedding endpoint or a metrics token that is set in part or too weak."""
    chosen = settings.embedding
    for prefix, url, model, dimensions in (
        ("", chosen.base_url, chosen.model, chosen.dimensions),
        ("PREVIOUS_", chosen.previous_base_url, chosen.previous_model, chosen.previous_dimensions),
    ):
        name = f"INGATAN_EMBEDDING__{prefix}"
        if any((url, model, dimensions)) and not all((url, model, dimensions)):
            raise StartRefused(f"{name}BASE_URL, {name}MODEL and {name}DIMENSIONS belong together: set all or none.")
        if url and not addresses.usable(url):
            raise StartRefused(f"{name}BASE_URL must be an http or https address without user, query or fragment.")
        if url and settings.environment is Environment.PRODUCTION and not addresses.safe(url):
            raise StartRefused(
                f"{name}BASE_URL is http to another machine: what people said would cross the network in the clear. "
                "Use https, or an endpoint on this machine."
            )
    token = settings.server.metrics_token.get_secret_value()
    if token and (len(token) < METRICS_TOKEN_CHARS_MIN or not all("!" <= sign <= "~" for sign in token)):
        raise StartRefused(
            f"INGATAN_SERVER__METRICS_TOKEN needs at least {METRICS_TOKEN_CHARS_MIN} characters of ASCII, no spaces."
        )


def _refuse_unsafe_identity(settings: Settings) -> None:
    memory, security = settings.memory, settings.security
    production = settings.environment is Environment.PRODUCTION
    if security.resolver is Resolution.NONE and security.require_auth:
        raise StartRefused(
            "INGATAN_SECURITY__RESOLVER=none knows nobody, so that no caller could pass. Choose the jwt resolver, or "
            "set INGATAN_SECURITY__REQUIRE_AUTH=false."
        )
    if security.resolver is Resolution.HEADERS and production and not memory.subject_allowlist:
        raise StartRefused(
            "INGATAN_SECURITY__RESOLVER=headers believes headers that anyone can forge. In production it needs "
            "INGATAN_MEMORY__SUBJECT_ALLOWLIST with the test subjects; otherwise choose the jwt resolver."
        )
    if security.resolver is not Resolution.JWT:
        return
    keys = bool(security.jwks_file) + bool(security.jwks_url)
    if keys > 1:
        raise StartRefused(
            "INGATAN_SECURITY__JWKS_FILE and INGATAN_SECURITY__JWKS_URL are both set. Keep the one that is the truth."
        )
    if security.jwks_url and not addresses.safe(security.jwks_url):
        raise StartRefused(
            "INGATAN_SECURITY__JWKS_URL must be an https address (http only on this machine): whoever can change the "
            "answer on its way could sign tokens."
        )
    named = security.issuer and security.audience
    if (keys or (production and security.require_auth)) and not (keys and named):
        raise StartRefused(
            "Tokens must be checked against an issuer, an audience and a key set: set INGATAN_SECURITY__ISSUER, "
            "INGATAN_SECURITY__AUDIENCE and INGATAN_SECURITY__JWKS_URL (or JWKS_FILE), or for a trial on this machine "
            "INGATAN_ENVIRONMENT=development."
        )


def _refuse_unsafe_model(settings: Settings) -> None:
    """Raise StartRefused for a model that is configured by half, or would get its key or texts in the clear."""
    llm, wanted = settings.llm, settings.memory.extract_model or settings.llm.model
    if wanted and not llm.base_url:
        raise StartRefused(
            "A model is named (INGATAN_LLM__MODEL or INGATAN_MEMORY__EXTRACT_MODEL) and no endpoint. Set "
            "INGATAN_LLM__BASE_URL: nothing is sent to an endpoint that nobody named."
        )
    if llm.base_url and not wanted:
        raise StartRefused("INGATAN_LLM__BASE_URL is set and no model is named. Set INGATAN_LLM__MODEL too.")
    if not llm.base_url or addresses.loopback(llm.base_url):
        return
    if llm.loopback_only:
        raise StartRefused("INGATAN_LLM__LOOPBACK_ONLY is set and INGATAN_LLM__BASE_URL is not on this machine.")
    production = settings.environment is Environment.PRODUCTION
    if production and not addresses.safe(llm.base_url):
        raise StartRefused(
            "INGATAN_LLM__BASE_URL is http to another machine: what people said, and INGATAN_LLM__API_KEY, would "
            "cross the network in the clear. Use https, or an endpoint on this machine."
        )
