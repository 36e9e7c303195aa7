"""Numbers as they are written in a text: digits in groups that spaces, dots, hyphens or line ends may separate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

NUMBERS_MAX = 200
"""So many runs of digits of one text are read; more is itself a finding of the detector of numbers."""
DIGITS_MIN = 7
DIGITS_MAX = 40
THING_CHARACTERS = 40
_RUN = re.compile(r"(?<![^\W_])[+(]{0,2}\d(?:[\s().-]{0,3}\d){6,59}(?![^\W_x]|x(?!\d))")
_GROUP = re.compile(r"\d+")
_CHAINED = re.compile(r"(?:[0-9a-f]{4,}-|[a-z]\w{0,40}[-_.]\w{0,10}-|\d,)$")
_DATE = re.compile(
    r"(?:19|20)\d\d[-./ ]\d{1,2}[-./ ]\d{1,2}(?:[ T]\d.*)?|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)\d\d(?: .*)?"
    r"|\d{2}-\d{4}-(?:19|20)\d\d"
)
_SHAPES = frozenset({(4, 4, 4, 4), (4, 6, 5), (6, 6, 4), (6, 4, 6), (3, 3, 3, 3)})
"""Groupings in which a number within a longer run is still read as one: cards, NIK, citizen numbers."""
_AMOUNT = re.compile(r"\d{1,3}(?:\.\d{3})+")


@dataclass(frozen=True, slots=True)
class Number:
    """``digits`` alone, as ``written``, its place [start, end) in the mapped text; ``whole`` if nothing adjoins."""

    start: int
    end: int
    digits: str
    written: str
    whole: bool

    @property
    def date(self) -> bool:
        """Whether it is a date, perhaps with a time, or a standard with its year."""
        return bool(_DATE.fullmatch(self.written.strip()))

    @property
    def amount(self) -> bool:
        """Whether dots stand at every thousand."""
        return bool(_AMOUNT.fullmatch(self.written))


def numbers(folded: str) -> tuple[Number, ...]:
    """The numbers of ``DIGITS_MIN`` digits or more in order: every run whole, then the groups in it that may be one."""
    found: list[Number] = []
    for count, run in enumerate(_RUN.finditer(folded)):
        if count >= NUMBERS_MAX:
            break
        if not _CHAINED.search(folded, max(0, run.start() - 44), run.start()):
            found.extend(_readings(folded, run.start(), run.end()))
    return tuple(found)


def too_many(folded: str) -> bool:
    """Whether there are more runs of digits than are read."""
    return sum(1 for _ in zip(range(NUMBERS_MAX + 1), _RUN.finditer(folded), strict=False)) > NUMBERS_MAX


def _readings(folded: str, start: int, end: int) -> list[Number]:
    groups = [(match.start(), match.end()) for match in _GROUP.finditer(folded, start, end)]
    whole = _number(folded, start, end, whole=True)
    found = [whole] if len(whole.digits) <= DIGITS_MAX else []
    if len(groups) == 1:
        return found
    for at, (first, last) in enumerate(groups):
        decimal = at > 0 and folded[groups[at - 1][1] : first] == "." and groups[at - 1][1] - groups[at - 1][0] < 3
        if last - first >= DIGITS_MIN and not decimal:
            found.append(_number(folded, first, last, whole=False))
        for length in (3, 4):
            window = groups[at : at + length]
            if len(window) < len(groups) and tuple(b - a for a, b in window) in _SHAPES:
                found.append(_number(folded, first, window[-1][1], whole=False))
    return found


def _number(folded: str, start: int, end: int, *, whole: bool) -> Number:
    written = folded[start:end]
    return Number(start, end, "".join(c for c in written if c.isdecimal()), written, whole)


@cache
def _thing() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)(?:order|project|ticket|invoice|tracking|case|file|issue|commit|revision|sha|hash|branch|uuid|guid"
        r"|job|build|serial|isbn|proyek|pesanan|tiket"
        r"|faktur|resi|surat|đơn hàng|dự án|vận đơn|công văn)"
        r"(?: (?:number|no|id|nomor|số|mã))?\.?(?: (?:is|adalah|là|itu))?\W{0,2}$"
    )


def of_work(folded: str, start: int) -> bool:
    """Whether a word for a thing of work (an order, a ticket, a build) stands right before ``start``."""
    return _thing().search(folded, max(0, start - THING_CHARACTERS), start) is not None
