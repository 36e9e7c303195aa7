"""Passwords, PINs and codes by the words around them, in three languages: a value beside a word, or a claim of one."""

from __future__ import annotations

import re
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _spoken() -> re.Pattern[str]:
    """A word for a secret with a value, or a claim of it as one's own."""
    secret = (
        r"(?:pass ?words?|passwd|passcodes?|pass ?phrases?|passkeys?|pwd|pin|pin ?codes?|otp|otp ?codes?|cvv2?|cvc"
        r"|(?:api|access|secret|private|license|encryption|wifi|ssh|signing|client|session|login"
        r"|service)[ _-]?(?:keys?|tokens?|secrets?|password)"
        r"|(?:auth|bearer|refresh|bot|security|github|bank)[ _-]?tokens?|tokens?|(?:recovery|backup|verification"
        r"|security|login|access|one[ -]time|2fa|mfa|unlock|door|alarm|safe|entry|gate|sms)[ _-]?codes?"
        r"|(?:seed|recovery|mnemonic)[ _-]?phrases?|secret (?:word|answer|question)s?|security (?:answer"
        r"|question)s?|credentials?|login|log-in"
        r"|kata ?sandi|sandi|kata kunci|kode (?:otp|pin|verifikasi|akses|masuk|keamanan|rahasia|brankas|pintu"
        r"|unik|aktivasi)|pasword|paswod|pw|psw|passwot"
        r"|m[ậa]t kh[ẩa]u|mật mã|m[ãa] (?:pin|otp|xác (?:thực|minh|nhận)|xac (?:thuc|minh|nhan)|bảo mật|bao mat"
        r"|mở khóa|kích hoạt|đăng nhập|cửa|két|khóa|truy cập|bí mật)|mk|khóa (?:api|bí mật|riêng)|khoa api"
        r"|pass(?! (?:an?|the|over|on|by|through|along|me|in|out|it|to|from|that|every|my|our|all|down)\b))"
    )
    me = r"(?:my|our|mine|saya|aku|gue|gua|gw|sy|ku|kantor|tôi|toi|mình|minh|em|tui|tớ|của)"
    not_yet = (
        r"(?!(?:about to|due|missing|required|needed|invalid|expired|expiring|rotated|wajib|diperlukan|hết hạn)\b)"
    )
    value = r"(?=\S{0,64}?[\d#@$!%^&*_+~=])[^\s,;]{3}"
    return re.compile(
        r"\b(?:code|combination|kode|mã)\s(?:for|to|of|untuk|buat|brankas|pintu|cho|két|cửa)\s(?:\S+\s){0,5}?\S{0,8}\d{3}"
        rf"|\b(?:my|our)\s(?:\S+\s){{0,4}}?{secret}\b(?! (?:manager|policy|policies|rules|reset tool|generator"
        rf"|form))"
        rf"|\b{secret}(?:(?<!kata kunci)nya|ku)\b|\b{secret}\s(?:(?!as\b)[^\s,;]+\s){{0,3}}?{me}\b"
        rf"|\b{secret}\b\s?(?:(?:is|was|are|be|=|:|adalah|là|la|ialah|yaitu|itu|nya|-|→)\s?)+{not_yet}\S"
        rf"|\b{secret}\b[\s:=]+(?:\S+\s){{0,7}}?{value}"
        rf"|(?<!\S)\S{{3,64}}\s(?:is|adalah|là|itu|was)\s(?:\S+\s){{0,3}}?{secret}\b"
        rf"|\b(?:use|using|pakai|pake|menggunakan|gunakan|dùng|xài)\s\S{{3,64}}\s(?:as|for|sebagai|buat|untuk|jadi|làm|cho)"
        rf"\s(?:\S+\s){{0,3}}?{secret}\b(?! (?:manager|policy|reset|generator))"
        rf"|\b(?:log ?in|sign in|unlock|masuk|login|đăng nhập|mở khóa|buka)\s(?:\S+\s){{0,5}}?(?:with|using|pakai"
        rf"|pake|dengan|bằng)\s(?:\S+\s){{0,3}}?{value}"
    )


@cache
def _tools() -> re.Pattern[str]:
    """What keeps or counts secrets, and is none."""
    return re.compile(
        r"\b(?:pass ?word|secret|credential) (?:managers?|vaults?|policy|policies|resets?)\b"
        r"|\btoken (?:count(?:s|ing|er)?"
        r"|limits?|budgets?|usage|windows?)\b|\b(?:pengelola|manajer|aplikasi) (?:kata sandi|sandi|password)\b"
        r"|(?<!\w)(?:trình |phần mềm |app |ứng dụng )?quản lý (?:mật khẩu|password|mk)\b"
    )


def _finds(view: View) -> bool:
    return bool(_spoken().search(_tools().sub(" ", view.text)))


DETECTOR = Detector(
    name="credential.spoken",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    guessed=True,
    reads="words for passwords, PINs, one-time and recovery codes with a value or as one's own",
    languages=CODES,
    example="one's own password",
)
