"""Values that need no word beside them: long numbers, codes of letters and digits, sums of money."""

from __future__ import annotations

import re
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.detector import Detector
from ingatan.screening.numbers import of_work
from ingatan.screening.view import View
from ingatan.types import Reason

BESIDE_CHARACTERS = 60
"""So far from the number of a room a word for opening it counts."""


@cache
def _long() -> re.Pattern[str]:
    return re.compile(r"(?<![\w.,/-])\d(?:[ -]?\d){7,}(?![\w/])")


@cache
def _harmless() -> re.Pattern[str]:
    """What makes a long number harmless: a date or a year range, or a word for a thing of work before it."""
    return re.compile(
        r"(?:19|20)\d\d[ -]?(?:0\d|1[0-2])[ -]?[0-3]\d.*|[0-3]?\d[ -][01]?\d[ -](?:19|20)\d\d.*"
        r"|(?:19|20)\d\d ?- ?(?:19|20)\d\d"
    )


@cache
def _mixed() -> re.Pattern[str]:
    """A code of letters and digits: not a version, a standard, a unit, an ordinal or a digest."""
    return re.compile(
        r"(?<![\w./@-])(?=[\w#@$!*-]{0,30}\d[\w#@$!*-]{0,30}\d)(?=[\w#@$!*-]{0,30}[a-zà-ỹ])(?![a-zà-ỹ]{1,4}\d{2,5}(?!\w))"
        r"(?!\d{1,4}[a-z]{1,3}(?!\w))(?!(?:iso|iec|en|rfc|utf|covid|python|windows|win|excel|office|java|html|qanun|postgres"
        r"|ubuntu|android|version|ver|v)[- ]?\d)(?!\d[\d-]*(?:year|day|hour|minute|point|page|word|month|week"
        r"|person|bit|inch)"
        r"|\d+-(?:an|in|nya|hari|jam|thn|tahun|tuổi|giờ))(?![a-zà-ỹ]+-\d+(?!\w))(?![0-9a-f]{32,64}(?!\w))"
        r"[\w#@$!*]{1,20}(?:-[\w#@$!*]{1,20}){0,4}(?![\w/.])(?<=\w{6})"
    )


@cache
def _opens() -> re.Pattern[str]:
    """Four digits or more beside what a code opens."""
    lock = (
        r"(?:doors?|gates?|safe|locker|alarm|wi-?fi|padlock|lock|unlocks?|opens?|pintu|gerbang|brankas|loker|gembok"
        r"|buka|dibuka|gudang|ruang|atm|akun|username|portal|account|login|vpn|sso|simpeg|facebook|gmail|zalo"
        r"|cửa|cổng|két|khóa|tủ|mở|kho|tài khoản|cua|cong|ket|khoa|tai khoan)"
    )
    code = r"(?!(?:19|20)\d\d\b)(?=\S{0,30}\d)[\w#@$!*]{0,30}\d{3,}[\w#@$!*]{0,30}"
    turned = r"(?:combination|kombinasi|kode|code|mã|ma)(?!\w)(?:\W+\w+){0,4}?\W+\d{1,4}(?:[ -]\d{1,4}){2,5}(?!\w)"
    mixed = r"(?!(?:python|java|html|http|office|windows|web)\d)[a-z]{3,20}\d{1,8}(?!\w)"
    return re.compile(
        rf"(?<!\w){lock}(?!\w)(?:\W+\w+){{0,4}}?\W+(?:{code}|{mixed})|(?<!\w){mixed}(?:\W+\w+){{0,3}}?\W+{lock}(?!\w)|(?<!\w){turned}"
    )


@cache
def _money() -> re.Pattern[str]:
    number = (
        r"(?:\d[\d.,]{0,24}|one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|hundred|few|se"
        r"|satu|dua|tiga|empat|lima|enam|tujuh|delapan|sembilan|sepuluh|belas|puluh|ratus|setengah"
        r"|một|hai|ba|bốn|năm|sáu|bảy|tám|chín|mười|mươi|trăm|chục|vài|mấy)"
    )
    unit = (
        r"(?:million|billion|grand|bucks|quid|dollars|usd|euros?|eur|pounds|rupiah|idr"
        r"|juta|jt|jutaan|miliar|milyar|rb|ribu rupiah|perak|gocap|cepek|triliun"
        r"|triệu|trieu|tr|củ|tỷ|tỉ|đồng|vnđ|vnd|nghìn đồng|ngàn đồng|xị|chai|lít)"
    )
    counted = (
        r"(?! (?:people|rows|users|words|orang|penduduk|jiwa|ton|hektar|baris|kata|người|dân|tấn|dòng|từ|chữ|nước|bia"
        r"|rượu|sữa|dầu|mắm|xăng|xịt))"
    )
    return re.compile(
        rf"(?<!\w){number} ?{unit}(?!\w){counted}|(?<!\w)(?:rp|idr|usd|\$|€|£|vnd) ?\.?\d|(?<!\w)(?:sejuta|semiliar"
        r"|seratus ribu)(?!\w)|\d ?(?:[$€£]|k (?:a|per) (?:month|year|week))"
    )


@cache
def _shown() -> re.Pattern[str]:
    """A sum that is an example of how sums are to be written."""
    return re.compile(
        r"(?<!\w)(?:amounts?|format\w*|like|e\.?g|for example|write|show|spell\w*|misal\w*|contoh\w*|ditulis|tulis\w*"
        r"|kayak|seperti|ví dụ|viết|kiểu|dạng)(?!\w)"
    )


@cache
def _named() -> re.Pattern[str]:
    """Mixed signs that are names of things: a size, a UUID, an international book or product number."""
    return re.compile(
        r"\d+x\d+(?:x\d+)?|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:97[89]-)?\d{1,5}-\d{1,7}-\d{1,7}-[\dx]"
    )


@cache
def _counted() -> re.Pattern[str]:
    """A word for what a long number counts."""
    return re.compile(
        r" ?(?:rows?|records?|lines?|users?|people|words?|items?|files?|bytes?|tokens?|requests?|customers?|residents"
        r"|baris|orang|penduduk|kata|berkas|rekaman|pelanggan|jiwa|hàng|dòng|người|từ|bản ghi|tệp|khách hàng)(?!\w)"
    )


def _of_work(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is a thing of work by the word before it or what it counts by the word after it."""
    return bool(of_work(text, start) or _counted().match(text, end))


@cache
def _port() -> re.Pattern[str]:
    """Where a server listens: the Vietnamese word for a port is that for a gate."""
    return re.compile(
        r"(?<!\w)(?:máy chủ|server|dịch vụ|app|api|web|database|cơ sở dữ liệu|localhost|http|docker"
        r"|postgres\w*|nghe|chạy"
        r"|may chu|dich vu|chay)(?!\w)(?:\W+\w+){0,6}?\W+(?:cổng|cong|port) \d{2,5}(?!\w)"
    )


@cache
def _room() -> re.Pattern[str]:
    """The number of a room."""
    return re.compile(
        r"(?<!\w)(?:ruang(?:an)?|gudang|kamar|gedung|room|kho|phòng|phong)(?: \w+){0,3} (?:nomor|no\.?|number|số|so)"
        r" \d{1,4}(?!\w)"
    )


@cache
def _opening() -> re.Pattern[str]:
    """A word for a lock, for opening it, or for what does."""
    return re.compile(
        r"(?<!\w)(?:doors?|gates?|safe|locker|alarm|padlock|lock|unlock\w*|open\w*|combination|codes?|pin|password"
        r"|passcode|pintu|gerbang|brankas|loker|gembok|\w{0,3}buka|\w{0,3}kunci|kombinasi|kode|sandi"
        r"|cửa|cổng|két|khóa|tủ|mở|mã|mật khẩu|cua|cong|ket|khoa|ma|mat khau)(?!\w)"
    )


def _without_rooms(text: str) -> str:
    """``text`` without the numbers of rooms beside which nothing is said of opening anything."""

    def blank(room: re.Match[str]) -> str:
        around = (text[max(0, room.start() - BESIDE_CHARACTERS) : room.start()], text[room.end() :][:BESIDE_CHARACTERS])
        return room[0] if any(_opening().search(side) for side in around) else " "

    return _room().sub(blank, text)


def _coded(view: View) -> bool:
    text = _without_rooms(_port().sub(" ", view.text))
    if _opens().search(text):
        return True
    if any(not _named().fullmatch(match[0]) and not of_work(text, match.start()) for match in _mixed().finditer(text)):
        return True
    return any(
        not _harmless().fullmatch(match[0])
        and not _named().fullmatch(match[0])
        and not _of_work(text, match.start(), match.end())
        for match in _long().finditer(text)
    )


@cache
def _priced() -> re.Pattern[str]:
    """A price of a thing, and not of a person's life: a word for a price, and nobody's own."""
    return re.compile(
        r"(?<!\w)(?:costs?|price[ds]?|priced at|pricing|subscription|licen[cs]es?|harga(?:nya)?|seharga|tarif"
        r"|biaya (?:lisensi|langganan)"
        r"|giá|giá bán|phí bản quyền)(?!\w)"
    )


@cache
def _owned() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)(?:i|my|me|our|we|mine|saya|aku|ku|gue|gw|kami|kita|\w+ku|tôi|toi|mình|em|nhà|chúng)(?!\w)"
    )


def _sums(view: View) -> bool:
    text = view.text
    if not _money().search(text) or _shown().search(text):
        return False
    return not _priced().search(text) or bool(_owned().search(text))


CREDENTIAL = Detector(
    name="codes",
    reason=Reason.CREDENTIAL,
    finds=_coded,
    reads="long numbers, mixed codes, and any code beside what it opens",
    languages=CODES,
    example="what opens a safe",
)
"""Codes beside what they open, long numbers and mixed codes."""
FINANCE = Detector(
    name="money",
    reason=Reason.FINANCE,
    finds=_sums,
    reads="a sum of money that is no example of how sums are written",
    languages=CODES,
    example="what a person earns",
)
"""A sum of money."""
