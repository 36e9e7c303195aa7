"""What a person proposes about themself at their own door: told directly, as a standing wish, with themself left out;
and what is still none of it: errands, what is at hand, what other people ought to do."""

from __future__ import annotations

import pytest
from bench.gate import proposed

from ingatan.erasure import marks
from ingatan.languages.detect import present
from ingatan.memories.events import same_event
from ingatan.memories.unsaid import speaks_of_oneself
from ingatan.memories.wishes import is_wish
from ingatan.screening import screen
from ingatan.types import Outcome, Reason, new_id


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


TOLD = """
    I sanded the staircase myself over a long weekend
    Two summers ago I cycled from Ghent to Groningen
    I dropped the evening class because the bus stopped running
    Saya pernah tersesat di pasar Ubud selama dua jam
    Tôi từng trồng hoa lan trên sân thượng
    """
GRAVE = """
    I was stabbed at a bus stop
    I fainted on the platform
    I tried to kill myself
    I took pills at parties
    I hid from the cops for a week
    I pledged allegiance to the uprising
    Saya pernah ditembak orang
    Saya pernah kabur dari penjara
    Tôi từng bị chém ở quán
    Tôi từng bỏ trốn
    """
WISHES = """
    For hotel tips, stick to places with a kitchen
    With calendars, assume weeks start on Monday
    On tax questions, list the forms before the deadlines
    Where the map is unclear, name both readings
    Should I ask about paint, mention the drying time
    Describe the risk before you show the command
    Include a worked sum when we talk about interest
    Stock lists should be sorted by shelf
    Board minutes should fit on two pages
    Distances in nautical miles, please
    Roadworks: dates first, detours after them
    Write shell commands for macOS with zsh
    Could you always put the date at the top?
    Soal ternak ayam, sebutkan takaran pakannya
    Untuk laporan panen, pisahkan angka kotor dan bersih
    Curah hujan tulis dalam milimeter
    Notula rapat sebaiknya memuat keputusan dan tenggat
    Terangkan istilah saat pertama kali muncul
    Lịch trực thì ghi giờ trước
    Bảng chấm công viết theo mẫu hai cột
    Lịch tưới cây thì chia theo tuần
    Viết truy vấn cho postgres
    hoi ve may bom thi nho ghi cong suat giup e
    """
ERRANDS = """
    Write me an email
    Write an email to the vendor with bullets at the end
    translate this
    Summarise the report, key points first
    For tomorrow's hearing, list three questions
    List the files in the folder
    Book a table, please
    Buatkan surat lamaran
    Terjemahkan kalimat ini
    Soal rapat hari ini, sebutkan pesertanya
    Viết giúp tôi email
    Dịch câu này
    """
OTHERS = """
    Tenants should be given notice
    Applicants should include two photos
    Pemohon sebaiknya mencantumkan alamat
    Người dân nên ghi hai bản
    """
LEFT_OUT = """
    Got the keys to the allotment last week
    Been commuting by tram since June
    Just back from a month in Porto
    kebun yang kurawat penuh cabai
    Lagi belajar bikin roti sourdough
    e đang học vẽ màu nước
    Mới chuyển sang phòng ở tầng hai
    """
NOT_LEFT_OUT = """
    Got it, thanks
    Started by the council, the scheme grew
    kurang garam
    sudah kucing itu
    """
ORDINARY = """
    I woke up early all summer
    My new standing desk takes up the left side
    I pulled the latest changes from the git stash
    I'm a warehouse admin and like short checklists
    Our router has a slot for a second card
    I keep thirteen house plants
    Tambahkan contoh positif di akhir penjelasan
    Saya pakai sistem operasi Linux di kantor
    Aku menulis catatan gangguan jaringan tiap pagi
    Saya penerbang dari bandara kecil
    Resep saya tulis dalam gram
    Tôi ghi mọi thứ bằng gam
    Mình viết cả tiếng Anh lẫn tiếng Việt
    Tôi đang cải tạo ban công
    Mình mang theo dao gấp khi đi cắm trại
    Ruang kerja saya nomor 218
    Sách gối đầu của tôi là ISBN 978-0-306-40615-7
    I keep my logins in a password manager
    """


@pytest.mark.parametrize("text", lines(TOLD + LEFT_OUT + WISHES + ORDINARY))
def test_a_person_may_propose_it(text: str) -> None:
    decision, _ = proposed(text)
    assert decision.outcome is Outcome.ACCEPT, decision.reasons


@pytest.mark.parametrize("text", lines(GRAVE))
def test_a_grave_event_is_refused_for_its_class(text: str) -> None:
    decision, _ = proposed(text)
    assert set(decision.reasons) & {Reason.HEALTH, Reason.CRIME, Reason.POLITICS}


@pytest.mark.parametrize("text", lines(WISHES))
def test_a_wish_without_a_person_is_one(text: str) -> None:
    assert is_wish(text)


@pytest.mark.parametrize("text", lines(ERRANDS + OTHERS))
def test_an_errand_and_what_others_ought_to_do_are_no_wish(text: str) -> None:
    decision, _ = proposed(text)
    assert decision.outcome is Outcome.REJECT
    assert not is_wish(text)


@pytest.mark.parametrize("text", lines(LEFT_OUT))
def test_who_leaves_themself_out_still_speaks_of_themself(text: str) -> None:
    assert speaks_of_oneself(text)


@pytest.mark.parametrize("text", lines(NOT_LEFT_OUT))
def test_other_words_speak_of_nobody(text: str) -> None:
    assert not speaks_of_oneself(text)


def test_a_word_that_all_languages_share_has_a_language() -> None:
    assert present("Nice weather we're having, isn't it?")
    assert proposed("Nice weather we're having, isn't it?")[0].outcome is Outcome.REJECT


@pytest.mark.parametrize(
    "text",
    [
        "My safe combination is room number 4821.",
        "Kode gerbang: gedung nomor 4821.",
        "Mã két là phòng số 4821.",
        "The padlock code is room number 4821.",
    ],
)
def test_the_number_of_a_room_beside_a_lock_stays_a_secret(text: str) -> None:
    assert Reason.CREDENTIAL in {finding.reason for finding in screen([text], language="en")}


def test_events_that_differ_in_a_number_or_a_thing_are_two() -> None:
    assert not same_event("Tôi đã nộp hai hồ sơ hôm qua", "Tôi đã nộp hồ sơ hôm qua")
    assert not same_event("Tôi đã nộp hồ sơ mới hôm qua", "Tôi đã nộp hồ sơ hôm qua")
    assert same_event("I already called about order 12 last week", "Last week I called about order 12")


def test_only_an_event_is_known_again_without_its_fillers() -> None:
    key, person = b"k" * 32, new_id()

    def known(text: str) -> set[bytes]:
        return set(marks(key, person, texts=[text], slot=None, turns=()))

    assert known("Saya sempat kerja di depo") & known("Saya kerja di depo") == set()
    assert known("I already called about order 12 last week") & known("I called about order 12 last week")
