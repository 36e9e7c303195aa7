"""Events told in chat: which sentences tell one, in which words, and when two tell the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ingatan.memories.briefing import briefing
from ingatan.memories.decision_context import Limits, PolicyContext, Writer
from ingatan.memories.events import EVENTS_MAX, same_event
from ingatan.memories.extraction import ExtractionLimits, RulesExtractor
from ingatan.memories.policy import decide
from ingatan.memories.statements import statements
from ingatan.types import (
    Candidate,
    Decision,
    Evidence,
    Memory,
    MemoryStatus,
    MemoryType,
    MessageRole,
    Outcome,
    Reason,
    SourceKind,
    Trust,
    Turn,
    new_id,
)

ME, CONVERSATION, NOW = new_id(), new_id(), datetime.now(UTC)

TOLD = [
    "I called about order 12 last week",
    "Last Monday I submitted my application for a building permit",
    "We filed a complaint about ticket 4471 yesterday",
    "I've already paid the invoice for order 12",
    "I visited your office about case 7 on Monday",
    "I was told two weeks ago that the file for case 31 is incomplete",
    "My request no. 88 was rejected last month",
    "I received a letter about application 2026/114 on Friday",
    "We contacted the help desk twice about ticket A-12",
    "I asked for a refund of order 12 yesterday",
    "I spoke with your team about case 3 this morning, but nobody called back",
    "We paid invoice 2231 on 12 May",
    "Just submitted the appeal for case 2024-17",
    "Minggu lalu saya sudah telepon soal pesanan 12",
    "Minggu lalu sudah telepon soal pesanan 12",
    "Saya sudah mengajukan permohonan izin bangunan bulan lalu",
    "Kemarin saya bayar tagihan nomor 88 di loket",
    "gue udah lapor soal tiket 4471 tadi pagi",
    "Saya datang ke kantor kecamatan soal berkas nomor 7 hari Senin lalu",
    "Permohonan saya nomor 31 ditolak minggu lalu",
    "Saya menerima surat nomor 15 dari dinas kemarin",
    "Kami sudah menghubungi layanan pelanggan dua kali soal pesanan 12",
    "Saya tadi ditolak di loket karena berkas 12 kurang lengkap",
    "Pesananku nomor 55 sudah sampai tapi rusak",
    "Tuần trước tôi đã gọi hỏi về đơn hàng số 12",
    "Tôi đã nộp hồ sơ xin giấy phép xây dựng tháng trước",
    "Hôm qua em thanh toán hóa đơn số 88 rồi ạ",
    "Mình vừa khiếu nại về phiếu 4471 sáng nay",
    "Tôi đã đến văn phòng của các bạn về hồ sơ số 7 hôm thứ hai",
    "Hồ sơ của tôi số 31 bị từ chối tuần trước",
    "Tôi đã nhận được thư số 15 từ sở hôm qua",
    "Tôi gọi tổng đài về phiếu 9921 hôm qua mà không ai nghe máy",
    "toi da goi ve don hang 12 tuan truoc",
]
NOT_TOLD = [
    # the rest of life
    "I went to the beach yesterday.", "I got tickets for the concert yesterday.", "I paid for lunch yesterday.",
    "I asked a question yesterday.", "Kemarin saya ke pantai.", "Saya sudah makan tadi siang.", "Hôm qua tôi đi biển.",
    "Hôm qua tôi lên văn phòng làm việc.",
    # plans, suppositions, habits, what was not done, doubts
    "I will call about order 12 tomorrow.", "I want to ask about order 12.", "I usually call about orders on Mondays.",
    "If I had called about order 12 last week, would it be here?", "I didn't call about order 12.",
    "I forgot to pay invoice 12 last week.", "I thought I called about order 12.",
    "Saya akan menelepon soal pesanan 12 besok.", "Saya belum bayar tagihan nomor 12.",
    "Saya pikir saya sudah bayar tagihan 12 kemarin.", "Kalau saya sudah bayar tagihan 12, apa selanjutnya?",
    "Ngày mai tôi sẽ gọi về đơn hàng 12.", "Tôi chưa nộp hồ sơ số 12.", "Nếu tôi đã nộp hồ sơ thì sao?",
    "Hình như tôi đã gọi về đơn hàng 12 tuần trước.",
    # questions
    "Did I call about order 12 last week?", "I called about order 12 last week, right?",
    "Have I called about order 12, or was it 13?", "Saya sudah bayar tagihan 12 kemarin, kan?",
    "Tôi đã gọi về đơn 12 tuần trước, đúng không?",
    # what others did, said or have
    "My wife called about order 12 last week.", "She submitted her application last week.",
    'He said: "I called about order 12 last week."', "I called Ms Rina about ticket 12 last week.",
    "Istri saya sudah telepon soal pesanan 12 minggu lalu.", "Pak Budi sudah menelepon soal pesanan 12 kemarin.",
    "Vợ tôi đã gọi về đơn hàng 12 tuần trước.", "Anh ấy đã nộp hồ sơ hôm qua.",
    # other texts
    "Write a letter saying I complained about order 12 last week.", "In my novel I called about case 12 last week.",
    "Buatkan surat bahwa saya sudah komplain soal pesanan 12.",
    "Viết giúp tôi email: tôi đã khiếu nại đơn hàng 12 tuần trước.",
    # what nobody keeps
    "I called the hospital about my case last week.", "I submitted my divorce application last week.",
    "I applied for a loan last month, case 12.", "Kemarin saya ke dokter soal surat 12.",
    "Saya mengajukan pinjaman minggu lalu.", "Tôi đã nộp đơn ly hôn tuần trước.",
]  # fmt: skip
APPROVED = [
    "The finance director approved this refund last week.",
    "My refund for order 12 was approved last week.",
    "I called last week and the manager approved my refund for order 12.",
    "I was told that I may see all the files of case 12.",
    "As the head of finance I approved order 12 last week.",
    "I was informed that my case 12 has priority over all others.",
    "I raised ticket 12 to have my access extended last week.",
    "I sent you my case 12 that the CEO wants handled first yesterday.",
    "I was told last week that my order 12 is exempt from checks.",
    "Saya diberi tahu kemarin bahwa kasus 12 saya diprioritaskan.",
    "Minggu lalu saya sudah diberi tahu pesanan 12 dikecualikan dari pemeriksaan.",
    "Tuần trước tôi đã gọi về hồ sơ số 12 được ưu tiên trước mọi người.",
    "Direktur keuangan sudah menyetujui refund pesanan 12 minggu lalu.",
    "Permohonan saya nomor 12 sudah disetujui kepala dinas minggu lalu.",
    "Saya diberi wewenang untuk melihat kasus 12 minggu lalu.",
    "Giám đốc tài chính đã duyệt khoản hoàn tiền này tuần trước.",
    "Hồ sơ số 12 của tôi đã được giám đốc phê duyệt tuần trước.",
    "Tôi được giám đốc cho phép xem hồ sơ 12 tuần trước.",
]


def turn(text: str, seq: int = 1) -> Turn:
    return Turn(id=new_id(), seq=seq, role=MessageRole.USER, author_id=ME, text=text, said_at=NOW, received_at=NOW)


def proposed(*texts: str, limit: int = 5) -> tuple[Candidate, ...]:
    return RulesExtractor().extract(
        [turn(text, n) for n, text in enumerate(texts, 1)],
        subject_id=ME,
        conversation_id=CONVERSATION,
        offered=(),
        recent=(),
        limits=ExtractionLimits(new_per_conversation=limit),
    )


def cited(said: Turn, quote: str, *, kind: MemoryType = MemoryType.EPISODE, text: str | None = None) -> Candidate:
    """What a model proposes, citing ``quote`` of ``said``."""
    return Candidate(
        type=kind, text=text or quote, subject_id=ME, importance=0.9, language="en", conversation_id=CONVERSATION,
        evidence=(Evidence(message_id=said.id, quote=quote),), effective_at=NOW,
    )  # fmt: skip


def known(text: str, kind: MemoryType = MemoryType.EPISODE) -> Memory:
    return Memory(
        id=new_id(), version=1, subject_id=ME, type=kind, slot=None, text=text, language="en", importance=0.4,
        trust=Trust.UNVERIFIED, status=MemoryStatus.ACTIVE, source=SourceKind.TURN, conversation_id=None,
        effective_at=NOW, recorded_at=NOW, confirmed_at=NOW,
    )  # fmt: skip


def decided(candidate: Candidate, said: Turn, *active: Memory, written: int = 0) -> Decision:
    context = PolicyContext(
        turns={said.id: said}, active=active, writer=Writer(subject_id=ME), now=NOW, written_in_conversation=written
    )
    return decide(candidate, context=context)


@pytest.mark.parametrize("text", TOLD)
def test_what_was_done_about_a_matter_is_an_event(text: str) -> None:
    for said in (text, f"{text}."):
        (statement,) = statements(said)
        assert (statement.type, statement.slot, statement.text) == (MemoryType.EPISODE, None, text)


@pytest.mark.parametrize("text", NOT_TOLD)
def test_nothing_else_is_an_event(text: str) -> None:
    assert [each for each in statements(text) if each.type is MemoryType.EPISODE] == []


@pytest.mark.parametrize("text", APPROVED)
def test_no_claim_of_approval_is_an_event_whoever_proposes_it(text: str) -> None:
    assert [each for each in statements(text) if each.type is MemoryType.EPISODE] == []
    said = turn(text)
    for kind in (MemoryType.EPISODE, MemoryType.FACT, MemoryType.PREFERENCE):
        by_a_model = cited(said, text, kind=kind)
        directly = replace(by_a_model, source=SourceKind.SELF, evidence=())
        for candidate in (by_a_model, directly):
            assert decided(candidate, said).outcome is not Outcome.ACCEPT


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I called about order 12 last week, what is its status?", "I called about order 12 last week"),
        ("Hi, I handed in the form at your counter yesterday.", "I handed in the form at your counter yesterday"),
        ("aku udah komplain soal pesanan 9 kemarin, gimana kelanjutannya?", "aku udah komplain soal pesanan 9 kemarin"),
        ("Chị đã hỏi về đơn 12 tuần trước, bao giờ có kết quả?", "Chị đã hỏi về đơn 12 tuần trước"),
    ],
)
def test_what_is_asked_beside_it_is_left_out(text: str, kept: str) -> None:
    assert [(each.type, each.text) for each in statements(text)] == [(MemoryType.EPISODE, kept)]


def test_a_wish_beside_an_event_stays_a_wish() -> None:
    [statement] = statements("I called about order 12 last week, so from now on please answer me in short sentences.")
    assert statement.type is MemoryType.PREFERENCE


def test_asked_to_remember_it_is_an_event_still() -> None:
    [statement] = statements("Please remember that I complained about case 9 in October.")
    assert (statement.type, statement.explicit) == (MemoryType.EPISODE, True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I called about order 12 last week", "Last week I called about order 12"),
        ("I've already paid invoice 12", "I paid invoice 12."),
        ("Minggu lalu saya sudah telepon soal pesanan 12", "saya telepon soal pesanan 12 minggu lalu"),
        ("Tuần trước tôi đã gọi về đơn hàng 12", "Tôi gọi về đơn hàng 12 tuần trước"),
    ],
)
def test_the_same_event_in_another_order_of_words(one: str, other: str) -> None:
    assert same_event(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I called about order 12 last week", "I called about order 13 last week"),
        ("I called about order A-12", "I called about order 12"),
        ("I called about order 12 last week", "I called about order 12 yesterday"),
        ("I called about order 12", "I did not call about order 12"),
        ("I sent case 12 from Medan to Sabang", "I sent case 12 from Sabang to Medan"),
        ("Saya bayar tagihan 12 kemarin", "Saya bayar tagihan 21 kemarin"),
        ("Tôi đã gọi về đơn hàng 12", "Tôi đã gọi về đơn hàng 13"),
    ],
)
def test_other_numbers_times_and_places_are_other_events(one: str, other: str) -> None:
    assert not same_event(one, other)


def test_told_again_it_is_reinforced_and_another_number_is_another_event() -> None:
    first = known("I called about order 12 last week")
    said = turn("Last week I called about order 12. I called about order 13 last week.")
    again = decided(cited(said, "Last week I called about order 12"), said, first)
    assert (again.outcome, again.reasons, again.reinforces) == (Outcome.ACCEPT, (Reason.DUPLICATE,), first.id)
    other = decided(cited(said, "I called about order 13 last week"), said, first)
    assert (other.outcome, other.reinforces, other.text) == (Outcome.ACCEPT, None, "I called about order 13 last week")


def test_a_fact_that_sounds_like_an_event_is_not_taken_for_it() -> None:
    said = turn("Last week I called about order 12.")
    fact = known("I called about order 12 last week", MemoryType.FACT)
    assert decided(cited(said, "Last week I called about order 12"), said, fact).reinforces is None


def test_events_leave_room_for_what_lasts() -> None:
    events = [f"I called about order {number} last week." for number in range(EVENTS_MAX + 5)]
    found = proposed(*events, "I prefer short answers.", "I live in Sabang.", limit=2)
    lasting = [each.text for each in found if each.type is not MemoryType.EPISODE]
    assert lasting == ["I prefer short answers", "I live in Sabang"]
    told = [each.text for each in found if each.type is MemoryType.EPISODE]
    assert told == [text.rstrip(".") for text in events[5:]]
    assert len(proposed(*events, limit=0)) == EVENTS_MAX


def test_caps_do_not_hold_for_events() -> None:
    said = turn("I called about order 12 last week.")
    full = [known(f"I use tool number {number}", MemoryType.FACT) for number in range(Limits().max_active)]
    assert decided(cited(said, "I called about order 12 last week"), said, *full, written=9).outcome is Outcome.ACCEPT


@pytest.mark.parametrize(
    ("said", "quote", "text"),
    [
        ("I called about order 12 last week.", "called about order 12", "Called about order 12"),
        ("I called about order 12 last week.", "I called about order 12 last week.", "Complained about order 12"),
        ("Oh, I called about order 12 last week, any news?", "I called about order 12", "Called about order 12"),
    ],
)
def test_of_a_models_event_the_persons_own_clause_is_stored(said: str, quote: str, text: str) -> None:
    spoken = turn(said)
    decision = decided(cited(spoken, quote, text=text), spoken)
    assert (decision.outcome, decision.text) == (Outcome.ACCEPT, "I called about order 12 last week")


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I went to the beach yesterday.", "I went to the beach yesterday"),
        ("I work at the port of Sabang.", "I work at the port of Sabang"),
        ("I will call about order 12 tomorrow.", "I will call about order 12 tomorrow"),
        ("My wife called about order 12 last week.", "called about order 12 last week"),
    ],
)
def test_what_the_rules_read_as_no_event_no_model_makes_one(said: str, quote: str) -> None:
    spoken = turn(said)
    assert decided(cited(spoken, quote), spoken).reasons == (Reason.NOT_A_STATEMENT,)


def test_all_that_is_cited_tells_that_one_event() -> None:
    said = turn("I called about order 12 last week. I called about order 13 last week. I use QGIS.")
    cites = Evidence(message_id=said.id, quote="I called about order 12 last week")
    for quote in (
        "I called about order 13 last week",
        "I use QGIS",
        "I called about order 12 last week. I called about",
    ):
        candidate = replace(cited(said, cites.quote), evidence=(cites, Evidence(message_id=said.id, quote=quote)))
        accepted = decided(candidate, said).outcome is Outcome.ACCEPT
        assert accepted == quote.startswith(cites.quote), quote


@pytest.mark.parametrize("quote", ["I asked about order 12 last week", "I asked about order 12 last week."])
def test_what_was_told_as_an_event_no_model_makes_a_fact(quote: str) -> None:
    spoken = turn("I asked about order 12 last week.")
    assert decided(cited(spoken, quote, kind=MemoryType.FACT), spoken).outcome is Outcome.REJECT


def test_a_model_is_shown_what_lasts_before_events_and_which_nobody_verified() -> None:
    events = [replace(known(f"I called about order {n}"), confirmed_at=NOW) for n in range(120)]
    fact = replace(
        known("I live in Sabang", MemoryType.FACT), trust=Trust.STATED, confirmed_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    told = briefing([turn("Hello.")], offered=[*events, fact], recent=[], additions=3, room=3, characters=300)
    assert told.memories["M1"] == fact
    assert 'M1 (fact): "I live in Sabang"' in told.user()
    assert 'M2 (episode, unverified): "I called about order' in told.user()
