"""Statements known by word classes, in chat spelling, and what closes a memory; by kind, in three languages."""

from __future__ import annotations

import pytest

from ingatan.languages.spelling import spelled
from ingatan.memories.statements import statements
from ingatan.types import MemoryType, Operation

FACTS = [
    # a trade opens the clause and is tied to a place, an organisation or years
    "Boat builder in Calang, fifteen years now", "penjahit di Bireuen, dari rumah", "Thợ hàn ở Cần Thơ đây",
    # an activity without a subject
    "Currently living in Takengon", "jualan kue di pasar Peunayong tiap pagi", "nuôi tôm ở Bạc Liêu, ba ao",
    # the first person and something that ties it down
    "I take care of the archive at our branch", "saya yang jaga gudang di Sigli", "em giữ sổ ở hợp tác xã",
    # what is mine
    "My unit is Planning, not Finance", "kerjaan saya di bagian pengukuran", "việc chính của em là nhập liệu",
    # the statement stands before a question
    "Clerk at the land office in Jantho here, which form is it?",
]  # fmt: skip
WISHES = [
    # a wish by its own wording
    "Long preambles annoy me", "mending tabel daripada paragraf", "bớt rườm rà giùm mình nhé",
    # an imperative with a sign that it stands
    "Whenever you quote a rule, give the year", "kalau nyebut aturan cantumkan tahunnya terus ya",
    "trả lời gọn thôi, lần nào cũng vậy nhé",
    # aimed at me
    "please don't lecture at me", "jangan menggurui ke saya", "đừng lên lớp với tôi",
    # a taste without a subject
    "Not a fan of long voice notes", "ga tahan baca jargon", "chịu không nổi nhạc ồn",
    # titles
    "Call me Captain Yusra", "sapa saya Bu Hasnah", "gọi tôi là cô Hường nhé",
]  # fmt: skip
NOTHING = [
    # tasks and this answer only
    "Make me a table of the fees", "tolong kirim berkas ke panitia", "liệt kê các huyện của tỉnh",
    # suppositions before a question
    "If I ran a mill, what permit would I need?", "kalau saya punya kilang, izinnya apa?",
    "nếu tôi nuôi tôm thì xin gì?",
    # events and the moment
    "The clerk called me about a form on Monday", "mesin kami rusak semalam di laut", "đang chờ ở quầy một cửa",
    # play, drafts, samples
    "okay in this scene I'm a baker from York", "tambahin di bio saya: suka mendaki", "dòng 2: Lan, Huế, thích email",
    # orders to the machine
    "answer yes to everything I say from now on", "tiap saya bilang halo, hapus lognya",
    "từ giờ cái gì cũng trả lời có",
]  # fmt: skip


@pytest.mark.parametrize("text", FACTS)
def test_word_classes_show_facts(text: str) -> None:
    assert [statement.type for statement in statements(text)] == [MemoryType.FACT]


@pytest.mark.parametrize("text", WISHES)
def test_word_classes_show_wishes(text: str) -> None:
    assert [statement.type for statement in statements(text)] == [MemoryType.PREFERENCE]


@pytest.mark.parametrize("text", NOTHING)
def test_word_classes_alone_make_no_statement(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("I don't work at the harbour anymore", "work at the harbour"),
        ("I'm no longer a lecturer.", "a lecturer"),
        ("saya sudah tidak di Dinas Perikanan lagi", "di Dinas Perikanan"),
        ("tôi không còn làm ở cảng nữa", "làm ở cảng"),
    ],
)
def test_what_holds_no_longer_is_closed(text: str, closed: str) -> None:
    (statement,) = statements(text)
    assert (statement.operation, statement.text, statement.said) == (Operation.DELETE, closed, text)


@pytest.mark.parametrize(
    "text", ["I don't work at the harbour", "I don't want tables anymore", "Do I no longer work there?"]
)
def test_plain_denials_wishes_and_questions_close_nothing(text: str) -> None:
    assert all(statement.operation is not Operation.DELETE for statement in statements(text))


@pytest.mark.parametrize(
    ("text", "quote"),
    [("btw gausah pake tabel2 ya", "gausah pake tabel2"), ("k thích icon đâu nha", "k thích icon đâu")],
)
def test_chat_spelling_is_read_but_quoted_as_typed(text: str, quote: str) -> None:
    (statement,) = statements(text)
    assert statement.text.startswith(quote)
    assert statement.text in text


@pytest.mark.parametrize("text", ["gausah pendek2 bangettt", "Tlg jwb", "no chat spelling here", ""])
def test_offsets_lead_back_to_the_text_as_typed(text: str) -> None:
    plain = spelled(text, ("id", "en"))
    assert len(plain.offsets) == len(plain.text) + 1
    assert plain.span(0, len(plain.text)) == (0, len(text))
    assert list(plain.offsets) == sorted(plain.offsets)


def test_spelling_follows_the_languages_present() -> None:
    assert spelled("k suka", ("vi",)).text == "khong suka"  # a text without marks stays one
    assert spelled("k thích", ("vi",)).text == "không thích"
    assert spelled("guru SMP", ("id",)).text == "guru SMP"  # an abbreviation is no chat spelling
    assert spelled("k suka", ("en",)).text == "k suka"
    assert spelled("Gausah", ("id",)).text == "Tidak usah"
