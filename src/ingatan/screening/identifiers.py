"""Numbers and addresses that name one person: by checksum, by structure, or by the words around them.

A number alone counts only where a checksum or a strict structure speaks for it; with a word for it any value counts.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

NUMBERS_MAX = 200
"""So many numbers of one text are put to the checksum and phone libraries; more is itself a finding."""
_DIGITS = re.compile(r"(?<![\w.#/-])\+?\(?\d(?:[ ().-]{0,2}\d){6,22}(?![\w-])")
_DATE_LIKE = re.compile(r"\d{1,4}[-./ ]\d{1,2}[-./ ]\d{1,4}(?:[ T]\d.*)?")
_PROVINCE = re.compile(r"1[1-9]|21|3[1-6]|5[1-3]|6[1-5]|7[1-6]|8[12]|9[1-7]")
"""First two digits of an Indonesian NIK or KK number: the province of issue (Kemendagri codes)."""


@cache
def _library(name: str) -> Any:
    """A heavy or many-moduled library, imported when the first number asks for it."""
    return importlib.import_module(name)


@cache
def _patterns() -> re.Pattern[str]:
    word = (
        r"(?:nik|no\.? ?ktp|nomor ktp|ktp|e-ktp|ktp-el|(?:no\.?|nomor) (?:kk|identitas|induk|peserta|polisi"
        r"|paspor|sim|bpjs|npwp|rekening|rek|hp|telepon|telp|tlp|wa|kartu|pegawai)|kartu keluarga|npwp\d*|bpjs"
        r"|nip|nrp|nim|nisn|paspor|passport|sim [abc]"
        r"|no\.? ?rek(?:ening)?|norek|rekening|rek (?:bca|bri|bni|mandiri|bsi)|virtual account|plat(?: nomor)?"
        r"|nopol"
        r"|cccd|cmnd|cmt|căn cước(?: công dân)?|can cuoc(?: cong dan)?|chứng minh(?: nhân dân| thư)?|chung minh"
        r"|định danh cá nhân|hộ chiếu|ho chieu|mst|mã số thuế|ma so thue|bhxh|số (?:sổ )?bảo hiểm|thẻ bảo hiểm"
        r"|mã số bảo hiểm|số thẻ|so the|stk|số tài khoản|so tai khoan|số tk|biển số|bằng lái|giấy phép lái xe"
        r"|gplx|mã (?:nhân viên|sinh viên|số sinh viên)"
        r"|national id|id (?:number|no|card)|identity (?:number|card|no)|citizen id|social security|ssn"
        r"|social insurance|national insurance|nino|tax (?:id|number|no|identification)|tin|driver'?s? licen[cs]e"
        r"|driving licen[cs]e|licen[cs]e plate|number plate|plate number|insurance (?:number|no|policy)"
        r"|member(?:ship)? (?:number|no|id)|employee (?:id|number|no)|student (?:id|number|no)|staff id"
        r"|medical record number|mrn|card(?: number| no)?|credit card|debit card|visa card|mastercard"
        r"|kartu (?:kredit|debit|atm)|thẻ (?:tín dụng|ghi nợ|atm|visa)|account (?:number|no)|bank account|iban"
        r"|swift|routing number|sort code|aadhaar|pan card|nric|my number"
        r"|phone|cell|mobile|telephone|tel|whatsapp|wa|telegram|zalo|hp|handphone|hape|telp|telepon|tlp|kontak"
        r"|nomor (?:saya|aku|gue|gw|sy)|nomorku|sđt|sdt|số điện thoại|so dien thoai|số đt|số máy|số phôn"
        r"|điện thoại|hotline|my number|reach me|call me (?:at|on)|text me (?:at|on)|hubungi (?:saya|aku|sy)"
        r"|gọi (?:tôi|em|mình) (?:số|qua))"
    )
    value = r"(?:(?=[a-z.-]{0,4}\d)[a-z]{0,3}[-. ]?\d(?:[ .-]{0,2}\d){4,22}\w{0,4}|[a-z]{1,2} ?\d{1,4} ?[a-z]{1,3}\b)"
    return re.compile(
        rf"(?<!\w){word}(?!\w)(?:\W{{1,3}}[^\W\d]{{1,40}}){{0,9}}?\W{{1,4}}{value}"
        r"|(?<![\w.+-])[\w.+-]{1,64}\s?(?:@|\(at\)|\[at\]| at )\s?[\w-]{1,64}\s?(?:\.|\(dot\)|\[dot\]| dot )\s?"
        r"(?:com|net|org|id|vn|io|edu|gov|example|test|co|info|me|dev|app|mail|uk|de|fr|xyz|biz|local)\b"
        r"|[\w.+-]@[\w-]{1,64}\.\w|\b\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}\b|\b\d{3}-\d{2}-\d{4}\b"
    )


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
        r"|(?<!\w)(?:số|so) \d{1,4}[a-z]?(?:/\d+)*,? (?:đường|phố|ngõ|ngách|hẻm|kiệt|duong|ngo|hem|kiet)(?!\w)"
        r"|\b-?\d{1,3}\.\d{4,},\s?-?\d{1,3}\.\d{4,}"
    )


def luhn(digits: str) -> bool:
    """Whether ``digits`` (13 to 19 of them) are a card number by issuer prefix and Luhn's checksum."""
    if not 13 <= len(digits) <= 19 or digits[0] not in "23456" or len(set(digits)) < 2:
        return False
    return bool(_library("stdnum.luhn").is_valid(digits))


def nik(digits: str) -> bool:
    """Whether 16 digits are built like an Indonesian NIK or KK number: province, district, date, serial."""
    if len(digits) != 16 or not _PROVINCE.match(digits) or digits[-4:] == "0000":
        return False
    day, month = int(digits[6:8]), int(digits[8:10])
    return digits[2:4] != "00" and 1 <= (day - 40 if day > 40 else day) <= 31 and 1 <= month <= 12


def cccd(digits: str) -> bool:
    """Whether 12 digits are built like a Vietnamese citizen number: province 001 to 096, century and sex, year."""
    return len(digits) == 12 and digits[0] == "0" and 1 <= int(digits[:3]) <= 96 and digits[3] in "0123"


def phone(number: str) -> bool:
    """Whether ``number`` is a valid phone number, international or as dialled in Indonesia or Vietnam."""
    phonenumbers = _library("phonenumbers")
    tried = [None] if number.startswith("+") else ["ID", "VN"]
    if number[:2] in ("62", "84"):
        tried, number = [None], f"+{number}"
    for region in tried:
        try:
            parsed = phonenumbers.parse(number, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            return True
    return False


def _numbers(text: str) -> bool:
    for count, match in enumerate(_DIGITS.finditer(text)):
        if count >= NUMBERS_MAX:
            return True
        whole = match[0]
        if _DATE_LIKE.fullmatch(whole):
            continue
        digits = "".join(c for c in whole if c.isdigit())
        if luhn(digits) or nik(digits) or cccd(digits):
            return True
        dialled = whole.startswith("+") or digits[0] == "0" or digits[:2] in ("62", "84")
        if dialled and 9 <= len(digits) <= 15 and phone(("+" if whole.startswith("+") else "") + digits):
            return True
    return False


@cache
def _iban() -> re.Pattern[str]:
    return re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")


def _finds(view: View) -> bool:
    if _patterns().search(view.text) or _addresses().search(view.text):
        return True
    ibans = (match[0] for match in _iban().finditer(view.shown.upper()))
    if any(
        _library("stdnum.iban").is_valid(iban, check_country=False)
        for _, iban in zip(range(NUMBERS_MAX), ibans, strict=False)
    ):
        return True
    return _numbers(view.shown)


DETECTOR = Detector(name="identifier", reason=Reason.IDENTIFIER, finds=_finds)
