"""No detector takes more than linear time, whatever it is fed; and the largest text is judged well within a second.

Each detector gets texts grown from pieces that its patterns begin with and never finish. Eight times the text may take
at most ``RATIO_MAX`` times the time; quadratic work would take sixty-four times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ingatan.screening import screen
from ingatan.screening.catalogue import CATALOGUE
from ingatan.screening.decoding import readings
from ingatan.screening.identifiers import SPANNED_CHARACTERS_MAX, spans
from ingatan.screening.view import CHARACTERS_MAX, View

PIECES = (
    "a", "1", " ", "-", "_", "=", "@", ".", "\n", "%", "\\u0041", "&#", "<", "{", "[", "#", "A", "A1", "a1-",
    "1 ", "1-", "1.", "(1", "a@", "a.a@", "a at ", "1234 ", "0812-", "my ", "my password ", "password is ",
    "kata sandi ", "mật khẩu ", "nik ", "nik a ", "rekening saya ", "jalan ", "jalan a, ", "số 1 ", "đường ",
    "12 ", "12 a ", "rt 1 ", "5.1234, ", "5°", "eyJabc.", "sk-", "AKIA", "SG.", "ghp_", "a-1-", "://a:",
    "?key=", "-u a", "one two ", "satu ", "một ", "B 12", "51F-1", "DE89 1", "DE89", "C<", "P<IDN<", "ff ",
    "0x", "aWdu", "i g n ", "4ll ", "p4", "vtaber nyy ", "erongi lla ", "fe80:", "00:", "1.1.", "order ",
    "price ", "send a ", "rp ", "umur ", "i am ", "\u200b", "\U000e0041", "\u202e", "ﷺ", "À", "\u0301", "Ꭺ",
)  # fmt: skip
SHORT, LONG = 1_000, 8_000
RATIO_MAX = 24.0
BOUND_SECONDS = 1.0
"""What the largest text may take, and as much again as a machine needs that is slow or busy: four times its half."""
SPARE_SECONDS = 0.06
"""Below this nothing is compared: a busy machine takes as long for nothing."""


def grown(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


def seconds(act: Callable[[], object]) -> float:
    """Processor time of this process, the shortest of three."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        act()
        best = min(best, time.process_time() - started)
        if best < SPARE_SECONDS / 8:
            break
    return best


def linear(act: Callable[[str], object], piece: str) -> bool:
    long = seconds(lambda: act(grown(piece, LONG)))
    return long < SPARE_SECONDS or long <= RATIO_MAX * seconds(lambda: act(grown(piece, SHORT)))


def judged(finds: Callable[[View], bool]) -> Callable[[str], bool]:
    """``finds`` on a text whose shared views stand already, so that only its own work is measured."""

    def act(text: str) -> bool:
        return finds(View(raw=text, language="vi"))

    return act


@pytest.mark.parametrize("name", [each.name for each in CATALOGUE if not each.name.startswith("words.")])
def test_a_detector_is_linear(name: str) -> None:
    [detector] = [each for each in CATALOGUE if each.name == name]
    assert [piece for piece in PIECES if not linear(judged(detector.finds), piece)] == []


def test_the_word_lists_are_linear() -> None:
    assert [piece for piece in PIECES if not linear(lambda text: View(raw=text, language="vi").labels, piece)] == []


def test_decoding_is_linear() -> None:
    assert [piece for piece in PIECES if not linear(lambda text: list(readings(text)), piece)] == []


@pytest.mark.parametrize(
    "piece", ["my password ", "1171 0345 0790 0002 ", "a@b.com ", "i g n o r e ", "Tôi thích đọc báo. "]
)
def test_the_largest_text_is_bounded(piece: str) -> None:
    largest = grown(piece, 100_000)
    half = grown(piece, CHARACTERS_MAX // 2)
    assert seconds(lambda: screen([largest], language="vi")) < BOUND_SECONDS + 4 * seconds(
        lambda: screen([half], language="vi")
    )
    assert CHARACTERS_MAX < SPANNED_CHARACTERS_MAX
    assert seconds(lambda: spans(largest)) < 2 * BOUND_SECONDS


def test_what_stands_beyond_the_bound_is_refused_unread() -> None:
    found = screen(["I like tea. " * 2_000], language="en")
    assert [finding.detector for finding in found] == ["length"]
