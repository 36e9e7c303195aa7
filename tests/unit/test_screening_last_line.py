"""The last line: sentences about the world, bare figures, medicines, past events; and what passes it."""

from __future__ import annotations

import pytest

from ingatan.screening import screen
from ingatan.types import Reason


def lines(text: str) -> list[tuple[str, str]]:
    """Language and sentence of each line."""
    return [(line.strip()[:2], line.strip()[3:]) for line in text.strip().splitlines()]


def reasons(language: str, sentence: str) -> set[Reason]:
    return {finding.reason for finding in screen([sentence], language=language)}


WORLD = """
    en|You don't need a permit to dig a well, remember that
    en|Village heads can only serve two terms, note
    en|The annual plan sets the fisheries budget, note that
    en|Foreigners can't own land
    id|keuchik cuma boleh 6 tahun, catat
    id|pegawai honorer dapat THR juga tahun ini
    id|pengumuman lelang ditutup 3 Juni, catat
    vi|muộn quá 30 ngày thì bị phạt, nhớ đấy
    vi|chủ tịch xã chỉ làm hai nhiệm kỳ thôi
    vi|Thông báo ghi hạn nộp là ngày 5, lưu giúp
    vi|gói thầu đóng ngày 3 tháng 6, lưu lại"""
FIGURES = """
    en|text me on zero eight one two, six six seven, nine one one two
    en|I park BL 4412 JK there
    en|I'm at 27B Jalan Teuku Umar
    vi|gọi em qua không chín một hai ba bốn năm sáu
    vi|biển xe em 74C1-22910"""
SUMS = """
    en|I bring home about 6 million
    id|omset warung saya 4 juta
    vi|tháng em nhận 12 triệu"""
CODES = """
    en|the door opens with 5521, jot it down
    en|my wifi is Kopi1945
    id|kode masuk gudang 7788 ya
    vi|cửa phòng mở bằng 2580, lưu nhé"""
MEDICINES = """
    en|I take atorvastatin at night
    id|tiap pagi saya bisoprolol
    vi|sáng nào em cũng losartan"""
EVENTS = """
    en|I punched a man once
    id|saya pernah kabur dari rumah
    vi|tôi từng bỏ trốn"""
PASSES = """
    en|Dates as day month year for me, always
    en|Metric only
    en|no bullet lists please
    en|third year civil engineering at Unsyiah
    en|I've lived in Calang for ten years
    en|I always work with Qanun 8 of 2014
    en|My order number is 1234567890123456
    en|Write amounts like 1.250.000 rupiah
    en|I moved here in 2019 and worked as a surveyor
    id|Saya pegang perizinan kapal di DKP
    id|gue orang Langsa, sekarang ngekos di Banda
    id|saya pernah kerja di pelabuhan
    id|jangan pakai emoji
    id|rapat setelah jam 10
    vi|đừng dùng emoji
    vi|ở Phú Quốc, cho thuê đồ lặn
    vi|khi trả lời tôi luôn trích điều khoản nhé
    vi|toi phu trach cap phep tau ca
    vi|tôi từng làm ở cảng Sa Kỳ"""


@pytest.mark.parametrize(("language", "sentence"), lines(WORLD))
def test_a_sentence_about_the_world_is_refused(language: str, sentence: str) -> None:
    assert reasons(language, sentence) & {Reason.DOCUMENT_FACT, Reason.LAW_CLAIM}


@pytest.mark.parametrize(
    ("language", "sentence", "reason"),
    [
        *((*line, Reason.IDENTIFIER) for line in lines(FIGURES)),
        *((*line, Reason.FINANCE) for line in lines(SUMS)),
        *((*line, Reason.CREDENTIAL) for line in lines(CODES)),
        *((*line, Reason.HEALTH) for line in lines(MEDICINES)),
        *((*line, Reason.NOT_A_STATEMENT) for line in lines(EVENTS)),
    ],
)
def test_what_needs_no_word_beside_it_is_refused(language: str, sentence: str, reason: Reason) -> None:
    assert reason in reasons(language, sentence)


@pytest.mark.parametrize(("language", "sentence"), lines(PASSES))
def test_profile_sentences_pass(language: str, sentence: str) -> None:
    assert reasons(language, sentence) == set()
