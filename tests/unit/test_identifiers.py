"""Identifiers of Indonesia, Vietnam and elsewhere, made at run time with valid and invalid checksums; none is real."""

from __future__ import annotations

import base64
import itertools
import random
from collections.abc import Callable

import pytest
from stdnum import luhn, verhoeff
from stdnum.iso7064 import mod_97_10

from ingatan.screening import screen
from ingatan.screening.identifiers import KINDS, spans
from ingatan.screening.identifiers.passport import check_digit
from ingatan.types import Reason

CATCH_MIN = 1.0
FALSE_ALARMS_MAX = 0.0
MADE = 25
"""So many of each kind."""


def digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choice("0123456789") for _ in range(count))


def nik(chance: random.Random) -> str:
    day, month, year = chance.randint(1, 28), chance.randint(1, 12), chance.randint(50, 99)
    province = chance.choice(["11", "12", "31", "32", "33", "35", "51", "64", "73", "91"])
    born = f"{day + chance.choice([0, 40]):02}{month:02}{year:02}"
    return f"{province}{chance.randint(1, 30):02}{chance.randint(1, 30):02}{born}{chance.randint(1, 9999):04}"


def npwp(chance: random.Random) -> str:
    first = digits(chance, 8)
    return f"{first}{luhn.calc_check_digit(first)}{chance.randint(1, 999):03}{chance.randint(0, 999):03}"


def npwp_written(chance: random.Random) -> str:
    value = npwp(chance)
    return f"{value[:2]}.{value[2:5]}.{value[5:8]}.{value[8]}-{value[9:12]}.{value[12:]}"


def cccd(chance: random.Random) -> str:
    return f"{chance.randint(1, 96):03}{chance.randint(0, 3)}{chance.randint(0, 99):02}{chance.randint(1, 999_999):06}"


def mst(chance: random.Random) -> str:
    while True:
        nine = f"{chance.randint(1, 95):02}{digits(chance, 7)}"
        rest = sum(int(a) * b for a, b in zip(nine, (31, 29, 23, 19, 17, 13, 7, 5, 3), strict=True))
        check = 10 - rest % 11
        if nine[2:] != "0" * 7 and check < 10:
            return f"{nine}{check}"


def card(chance: random.Random) -> str:
    first = chance.choice(["4", "51", "55", "2221"])
    first += digits(chance, 15 - len(first))
    return first + luhn.calc_check_digit(first)


def iban(chance: random.Random) -> str:
    account = digits(chance, 18)
    return "DE" + mod_97_10.calc_check_digits(account + "DE") + account


def mrz(chance: random.Random) -> str:
    number, born = "C" + digits(chance, 7) + "<", f"{chance.randint(50, 99)}0{chance.randint(1, 9)}1{digits(chance, 1)}"
    return f"{number}{check_digit(number)}IDN{born}{check_digit(born)}F3001017<<<<<<<<<<<<<<06"


def aadhaar(chance: random.Random) -> str:
    first = "4" + digits(chance, 10)
    return first + verhoeff.calc_check_digit(first)


def spelled(value: str, words: str) -> str:
    return " ".join(words.split()[int(digit)] for digit in value)


Make = Callable[[random.Random], str]
BARE: dict[str, Make] = {
    "nik": nik,
    "npwp": npwp_written,
    "npwp16": lambda chance: "0" + npwp(chance),
    "bpjs": lambda chance: "000" + str(chance.randint(1_000_000_000, 9_999_999_999)),
    "cccd": cccd,
    "mst_branch": lambda chance: f"{mst(chance)}-{chance.randint(1, 999):03}",
    "card": card,
    "iban": iban,
    "mrz": mrz,
    "phone_id": lambda chance: f"0812{digits(chance, 8)}",
    "phone_vn": lambda chance: f"09{chance.choice('01678')}{digits(chance, 7)}",
    "phone_plus": lambda chance: f"+62 813-{digits(chance, 4)}-{digits(chance, 4)}",
    "plate_vn": lambda chance: f"{chance.randint(29, 60)}A-{digits(chance, 3)}.{digits(chance, 2)}",
    "plate_id": lambda chance: f"BL {chance.randint(1000, 9999)} {chance.choice('AKLZ')}X",
    "email": lambda chance: f"tavi{digits(chance, 2)}@example.com",
    "coordinates": lambda chance: f"5.{digits(chance, 6)}, 95.{digits(chance, 6)}",
}
"""Known by their own form, whatever stands around them."""
WORDED: dict[str, tuple[Make, tuple[str, ...]]] = {
    "nik_invalid": (lambda chance: "99" + digits(chance, 14), ("NIK saya {}", "no KTP: {}")),
    "kk": (lambda chance: digits(chance, 16), ("nomor KK {}", "kartu keluarga kami {}")),
    "npwp": (npwp, ("NPWP saya {}", "nomor pokok wajib pajak {}")),
    "bpjs_work": (lambda chance: digits(chance, 11), ("BPJS Ketenagakerjaan {}", "KPJ saya {}")),
    "cmnd": (lambda chance: digits(chance, 9), ("CMND của tôi là {}", "chung minh nhan dan {}")),
    "cccd_invalid": (lambda chance: "999" + digits(chance, 9), ("số CCCD {}", "căn cước công dân của em là {}")),
    "mst": (mst, ("mã số thuế của tôi {}", "MST {}")),
    "bhxh": (lambda chance: digits(chance, 10), ("mã số BHXH {}", "số sổ bảo hiểm xã hội là {}")),
    "passport_id": (lambda chance: "C" + digits(chance, 7), ("paspor saya {}", "my passport is {}")),
    "passport_vn": (lambda chance: "B" + digits(chance, 7), ("hộ chiếu {}", "so ho chieu {}")),
    "aadhaar": (aadhaar, ("my aadhaar {}",)),
    "phone": (lambda chance: digits(chance, 8), ("call me on {}", "hubungi saya {}", "gọi tôi số {}")),
    "account": (lambda chance: digits(chance, 10), ("rekening BCA {}", "số tài khoản {}", "account number {}")),
    "plate": (lambda chance: f"B {digits(chance, 3)} QQ", ("plat nomor {}", "licence plate {}")),
}
"""Known by a word beside them, checksum or not."""
SENTENCES = ("{}", "Remember {} for me", "Tolong catat {} ya", "Nhớ giúp {} nhé")
SPLIT: dict[str, Callable[[str], str]] = {
    "spaces": lambda value: " ".join(value[at : at + 4] for at in range(0, len(value), 4)),
    "dots": lambda value: ".".join(value[at : at + 4] for at in range(0, len(value), 4)),
    "lines": lambda value: "\n".join(value[at : at + 4] for at in range(0, len(value), 4)),
    "single": lambda value: " ".join(value),
    "zero width": lambda value: "\u200b".join(value),
    "full width": lambda value: "".join(chr(0xFF10 + int(digit)) for digit in value),
    "arabic": lambda value: "".join(chr(0x0660 + int(digit)) for digit in value),
    "dashes": lambda value: "\u2013".join(value[at : at + 4] for at in range(0, len(value), 4)),
    "english": lambda value: spelled(value, "zero one two three four five six seven eight nine"),
    "indonesian": lambda value: spelled(value, "nol satu dua tiga empat lima enam tujuh delapan sembilan"),
    "vietnamese": lambda value: spelled(value, "không một hai ba bốn năm sáu bảy tám chín"),
}  # fmt: skip
HARMLESS = (
    "My order number is {bad_card}", "nomor pesanan {bad_card}", "mã đơn hàng {bad_card}", "The build is {hash}",
    "I pinned commit {hash} of the repo", "I use version {n}.{n}.{n}-rc{n}", "Saya merujuk Qanun No. {n} Tahun 2018",
    "Tôi theo Nghị định {n}/2023/NĐ-CP", "Tôi đọc Thông tư {n}/2016/TT-NHNN", "I started on 2024-0{d}-1{d}",
    "I prefer dates like 1{d}/0{d}/2025", "My table has {n}00000 rows", "Tabel saya {n}.250.000 baris",
    "Bảng có {n}.500.000 dòng", "The licence costs {n} dollars", "I use port 8{d}4{d}", "I worked from 2009 to 201{d}",
    "Ticket ABC-{n}{d}", "My screen is 2560x1440", "I use EPSG:3264{d}", "CVE-2024-3{d}9{d}", "SNI 0{d}-1726-2019",
    "Perpres {n}/2018", "I drive the RTX 40{d}0 build", "uuid 123e4567-e89b-12d3-a456-4266141740{d}{d}",
)  # fmt: skip


def refused(text: str) -> bool:
    return Reason.IDENTIFIER in {finding.reason for finding in screen([text], language="")}


def found(kinds: dict[str, Make], texts: Callable[[str], tuple[str, ...]]) -> list[str]:
    """The texts in which no identifier was found."""
    missed = []
    for name, make in kinds.items():
        chance = random.Random(name)
        for _ in range(MADE):
            missed += [text for text in texts(make(chance)) if not (refused(text) and spans(text))]
    return missed


@pytest.mark.parametrize("name", BARE)
def test_a_value_with_a_form_of_its_own_is_found_without_a_word(name: str) -> None:
    missed = found({name: BARE[name]}, lambda value: tuple(sentence.format(value) for sentence in SENTENCES))
    assert len(missed) <= (1 - CATCH_MIN) * MADE * len(SENTENCES), missed[:3]


@pytest.mark.parametrize("name", WORDED)
def test_any_value_is_found_beside_a_word_for_it(name: str) -> None:
    make, sentences = WORDED[name]
    missed = found({name: make}, lambda value: tuple(sentence.format(value) for sentence in sentences))
    assert missed == []


@pytest.mark.parametrize("name", ["nik", "card", "cccd"])
@pytest.mark.parametrize("way", SPLIT)
def test_a_value_is_found_however_it_is_broken(name: str, way: str) -> None:
    missed = found({name: BARE[name]}, lambda value: (f"Remember {SPLIT[way](value)} for me",))
    assert missed == []


@pytest.mark.parametrize("sentence", HARMLESS)
def test_numbers_that_name_nobody_are_no_identifiers(sentence: str) -> None:
    chance = random.Random(sentence)
    alarms = []
    for _ in range(MADE):
        first = "1234" + digits(chance, 11)
        wrong = first + str((int(luhn.calc_check_digit(first)) + 1) % 10)
        text = sentence.format(
            bad_card=wrong,
            hash="".join(chance.choice("0123456789abcdef") for _ in range(39)) + "f",
            n=chance.randint(1, 99),
            d=chance.randint(1, 9),
        )
        alarms += [text] if refused(text) or spans(text) else []
    assert len(alarms) <= FALSE_ALARMS_MAX * MADE, alarms[:3]


@pytest.mark.parametrize("name", ["npwp", "card", "iban"])
def test_a_wrong_checksum_without_a_word_is_no_identifier(name: str) -> None:
    chance = random.Random(name)
    value = {"npwp": npwp, "card": card, "iban": iban}[name](chance)
    at = 8 if name == "npwp" else 3 if name == "iban" else len(value) - 1
    wrong = value[:at] + str((int(value[at]) + 1) % 10) + value[at + 1 :]
    assert name not in {span.kind for span in spans(f"the value {wrong} stands here")}


def test_a_place_is_that_of_the_raw_text() -> None:
    value = "4111\u200b1111 1111 1111"
    text = f"Kartu saya ﬁx {value}, e-mail tavi@example.com."
    assert [(span.kind, text[span.start : span.end]) for span in spans(text)] == [
        ("card", value),
        ("email", "tavi@example.com"),
    ]


def test_places_do_not_overlap_and_stand_in_order() -> None:
    chance = random.Random(7)
    text = " and ".join(make(chance) for make in BARE.values())
    places = spans(text)
    assert len(places) >= len(BARE) - 1
    assert all(a.end <= b.start for a, b in itertools.pairwise(places))


def test_a_value_in_a_code_bears_its_reason_and_is_hidden() -> None:
    chance = random.Random(3)
    encoded = base64.b64encode(f"NIK {nik(chance)}".encode()).decode()
    reasons = {finding.reason for finding in screen([f"keep {encoded} please"], language="en")}
    assert {Reason.IDENTIFIER, Reason.OBFUSCATED} <= reasons


def test_every_kind_says_what_it_reads() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert all(kind.reads and kind.example for kind in KINDS)
