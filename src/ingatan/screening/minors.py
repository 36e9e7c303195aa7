"""The stated age of someone under eighteen, in figures."""

from __future__ import annotations

import re
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _age() -> re.Pattern[str]:
    young = r"(?:\d|1[0-7])"
    spelled = (
        "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    )
    child_id = r"(?:enam|tujuh|delapan|sembilan|sepuluh|sebelas|(?:dua|tiga|empat|lima|enam|tujuh) belas)"
    child_vi = r"(?:(?:mười|muoi) (?:một|hai|ba|bốn|lăm|sáu|bảy|mot|bon|lam|sau|bay)|sáu|bảy|tám|chín|mười)"
    return re.compile(
        rf"\b(?:umur|usia|berumur|berusia)(?:ku| saya| aku| gue)? (?:baru |masih )*{child_id}(?! puluh)\b"
        rf"|\b(?:saya|aku|gue|gw|sy) (?:baru |masih )*{child_id} (?:tahun|thn|taun)(?! (?:kerja|di|jadi|lebih))\b"
        rf"|(?<!\w){child_vi} tu[ổo]i(?! nghề| đảng)\b|"
        rf"\b(?:i am|i'm|im|he is|she is|turn(?:s|ed|ing)?) (?:only |just |now |almost |nearly )?(?:{young}"
        rf"|{spelled})(?: |-)?(?:years?(?: |-)old|yo\b|y/o|yrs?\b)"
        rf"|\b(?:i am|i'm|im) (?:only |just |now |turning |almost )*(?:{young}|{spelled})(?=\s*(?:[.,!]|and\b|$))"
        rf"|\b(?:{young}|{spelled})(?: |-)years?(?: |-)old (?:boy|girl|child|kid|student|pupil|son|daughter|teen"
        rf"|baby)"
        rf"|\b(?:umur|usia|berumur|berusia)(?:ku| saya| aku| gue| gw| sy)? (?:baru |masih |sekarang |cuma "
        rf"|nya )*{young} ?(?:tahun|thn|th)?\b(?! (?:tahun )?(?:kerja|perusahaan))"
        rf"|\b(?:saya|aku|gue|gw|sy) (?:baru |masih |cuma )*{young} (?:tahun|thn)(?=\s*(?:[.,!]|dan\b|$))"
        rf"|(?<!\w){young} (?:tuổi|tuoi)\b(?! (?:nghề|đảng|nghe))"
    )


def _finds(view: View) -> bool:
    return bool(_age().search(view.text))


DETECTOR = Detector(
    name="age_of_minor",
    reason=Reason.CHILDREN,
    finds=_finds,
    reads="an age under eighteen, in figures or words",
    languages=CODES,
    example="a school child's age",
)
