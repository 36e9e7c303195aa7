"""The words that bring a wallet back: a run of plain short words that make no sentence, in a text about recovery."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.text import unaccent
from ingatan.types import Reason

WORDS_MIN = 10
"""So many in a row: such phrases have twelve words or more, and one may be left out."""
_TOKEN = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"[a-z]{3,8}")
_NUMBER = re.compile(r"\d{1,2}")


_JOINING = (
    "the and for with that this from are was were has have had not but you your our his her its their they them who"
    " what when where which will would can could should because than then into over about all any every"
    " yang dan dari untuk dengan pada saya kamu anda ini itu tidak akan sudah ada atau kalau juga bisa aku gue kami"
    " kita ke karena tapi sama buat biar lagi agar"
    " cua cho toi minh ban khong duoc voi nay cac nhung trong khi phai thi nhu roi cung hay den tren moi mot"
)


@cache
def _recovery() -> re.Pattern[str]:
    """A word for a wallet or for bringing one back, in a text without its marks."""
    return re.compile(
        r"(?<!\w)(?:wallets?|ledger|trezor|metamask|seeds?|mnemonics?|recover\w*|restor\w*|back ?up|phrases?|keystore"
        r"|dompet\w*|pemulihan\w*|pulih\w*|memulihkan|kripto|crypto|bitcoin"
        r"|vi lanh|vi nong|vi dien tu|vi tien|vi crypto|vi bitcoin|khoi phuc|cum tu"
        r"|(?:12|24|twelve|dua belas|muoi hai) (?:words?|kata|tu))(?!\w)"
    )


@cache
def _joining() -> frozenset[str]:
    """Words without which hardly any sentence runs on for long; no such phrase holds them."""
    return frozenset(_JOINING.split())


def _finds(view: View) -> bool:
    text = view.text
    if not _recovery().search(unaccent(text)):
        return False
    run = 0
    for token in _TOKEN.findall(text):
        if _PLAIN.fullmatch(token) and token not in _joining():
            run += 1
            if run >= WORDS_MIN:
                return True
        elif not _NUMBER.fullmatch(token):
            run = 0
    return False


DETECTOR = Detector(
    name="mnemonic",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    reads="a run of plain short words that make no sentence, beside a word for a wallet or for recovery",
    languages=("en", "id", "vi"),
    example="the words that bring a wallet back",
)
