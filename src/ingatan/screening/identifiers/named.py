"""Any value beside a word for a number that names one person, whatever its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.identifiers.kind import Kind
from ingatan.screening.numbers import too_many
from ingatan.screening.view import View


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
    return re.compile(rf"(?<!\w){word}(?!\w)(?:\W{{1,3}}[^\W\d]{{1,40}}){{0,9}}?\W{{1,4}}(?P<value>{value})")


def _places(view: View) -> Iterator[tuple[int, int]]:
    folded = view.mapped.folded
    for match in _patterns().finditer(folded):
        yield match.start("value"), match.end("value")
    if too_many(folded):
        yield 0, len(folded)


KIND = Kind(
    name="named",
    places=_places,
    reads="letters and digits within ten words after a word for an identity, account, insurance or phone number",
    example="an employee's number",
    languages=CODES,
)
