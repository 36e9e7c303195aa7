"""Postal addresses of three languages: a street with a house number, or a word for one's home before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind
from ingatan.screening.view import View


@cache
def _addresses() -> re.Pattern[str]:
    home = (
        r"(?:my (?:home |house |postal |mailing |residential |full )?address|home address|i (?:live|stay"
        r"|reside) (?:at|in|on)|alamat(?:ku| rumah| lengkap| tinggal)?|rumah(?:ku| saya| aku)?|tinggal di"
        r"|domisili|kos(?:an)?"
        r"|địa chỉ(?: nhà)?|dia chi|nhà (?:tôi|em|mình)?|sống (?:ở|tại)|ở số|ngụ tại|thường trú|trú tại|tạm trú)"
    )
    street = (
        r"(?:\d{1,5}[a-z]?,? (?:[\w'.-]+ ){1,4}?(?:street|st|road|rd|avenue|ave|lane|ln|drive|boulevard|blvd"
        r"|close|crescent|court|way|terrace|square)\b"
        r"|(?:jalan|jln|jl|gang|gg|lorong|lr|komplek|kompleks|perumahan|blok)\.? [^.!?\n]{0,50}?(?:no|nomor|nmr"
        r"|blok|rt|#)?\.? ?\d{1,4}[a-z]?\b"
        r"|(?:số|so) (?:nhà )?\d{1,4}[a-z]?(?:/\d+)*,? (?:đường|phố|ngõ|ngách|hẻm|duong|pho|ngo|hem|\w+)|(?:ngõ"
        r"|hẻm|ngách|kiệt) \d{1,4}|\brt ?\.?\d{1,3}\b[ /,]*rw ?\.?\d{1,3}\b|(?:apartment|apt|flat|unit|house|door"
        r"|nomor rumah|căn hộ|phòng) (?:no\.? |number )?\d{1,5}[a-z]?\b)"
    )
    return re.compile(
        rf"(?<!\w){home}(?!\w)[^!?\n]{{0,60}}?{street}|\brt ?\.?\d{{1,3}}\b[ /,]*rw ?\.?\d{{1,3}}\b"
        r"|\bmy (?:home |house |postal |mailing |residential )?address is\b|\balamat (?:rumah )?(?:saya|aku|gue"
        r"|gw|sy)\b|\balamatku\b|địa chỉ nhà|\bdia chi nha\b|\b(?:my )?house number\b"
        r"|\b\d{1,4}[a-z]?,? (?:jalan|jl|jln|gang|gg|lorong)\b\.? \w"
        r"|\b(?:jalan|jl|jln)\.? [^.!?\n,]{2,40},? no(?:mor)?\.? ?\d"
        r"|\b\d{1,4}[a-z]?,? (?:[\w'-]+ ){1,3}?(?:street|road|avenue|lane|drive|crescent|boulevard)\b"
        r"|(?<!\w)(?:số|so) (?:nhà |nha )?\d{1,4}[a-z]?(?:/\d+)*,?"
        r" (?:đường|phố|ngõ|ngách|hẻm|kiệt|duong|ngo|hem|kiet)(?!\w)"
        r"|\b-?\d{1,3}\.\d{4,},\s?-?\d{1,3}\.\d{4,}"
    )


def _places(view: View) -> Iterator[tuple[int, int]]:
    for match in _addresses().finditer(view.mapped.folded):
        yield match.start(), match.end()


KIND = Kind(
    name="address",
    places=_places,
    reads="a house number with a street's word, RT/RW, lane and alley numbers, a word for one's home with any of them",
    example="where a person lives",
    languages=CODES,
    numeric=False,
)
