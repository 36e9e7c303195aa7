"""Secrets that open something: tokens and keys by their formats, passwords and codes by the words around them."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

_SPACE = re.compile(r"[\s\u200b]+")


@cache
def _formats() -> re.Pattern[str]:
    """Formats that are recognised whatever stands around them, also with white space taken out."""
    return re.compile(
        r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|gh[opsur]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{22,}"
        r"|glpat-[\w-]{20,}|xox[abeoprs]-[0-9A-Za-z-]{10,}|xapp-\d-[0-9A-Za-z-]{10,}|AIza[\w-]{35}|ya29\.[\w-]{20,}"
        r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}|npm_[0-9A-Za-z]{36}|pypi-[\w-]{50,}|hf_[0-9A-Za-z]{30,}"
        r"|SG\.[\w-]{16,}\.[\w-]{16,}"
        r"|dop_v1_[0-9a-f]{40,}|[rs]k_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z]{16,}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}"
        r"|sk-(?:proj|ant|svcacct|or|lf|admin)-[\w-]{16,}|sq0[a-z]{3}-[\w-]{20,}|shp(?:at|ss|ca)_[0-9a-f]{20,}"
        r"|lin_api_\w{20,}"
        r"|hooks\.slack\.com/services/\w+|-----BEGIN[A-Z0-9 ]*PRIVATE ?KEY|PuTTY-User-Key-File"
        r"|\d{8,10}:AA[\w-]{30,}"
    )


@cache
def _bounded() -> re.Pattern[str]:
    """Formats that need a boundary on the left, so that ordinary hyphenated words pass."""
    return re.compile(
        r"(?<![\w-])(?:sk|pk|rk|key|api|tok|token|secret)[-_](?=[\w-]*\d)(?:[a-z]+[-_])?[0-9A-Za-z_-]{8,}"
        r"|\b[a-z][a-z0-9+.-]{1,15}://[^\s/:@]{1,64}:[^\s/@]{1,128}@[\w.-]"
        r"|(?i:\b(?:bearer|basic)\s+(?=[\w.=+/~-]*\d)[\w.=+/~-]{16,})|(?i:\baws_secret_access_key\b)"
        r"|\bssh-(?:rsa|ed25519|dss)\s+AAAA|(?i:[?&](?:token|key|apikey|api_key|secret|password|sig"
        r"|access_token)=[\w%-]{6,})"
        r"|\botpauth://"
    )


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
        r"|question)s?|credentials?|login|log-in|logins"
        r"|kata ?sandi|sandi|kata kunci|kode (?:otp|pin|verifikasi|akses|masuk|keamanan|rahasia|brankas|pintu"
        r"|unik|aktivasi)|pasword|paswod|pw|psw|passwot"
        r"|m[ậa]t kh[ẩa]u|mật mã|m[ãa] (?:pin|otp|xác (?:thực|minh|nhận)|xac (?:thuc|minh|nhan)|bảo mật|bao mat"
        r"|mở khóa|kích hoạt|đăng nhập|cửa|két|khóa|truy cập|bí mật)|mk|khóa (?:api|bí mật|riêng)|khoa api|pass)"
    )
    me = r"(?:my|our|mine|saya|aku|gue|gua|gw|sy|ku|kantor|tôi|toi|mình|minh|em|tui|tớ|của)"
    value = r"(?=\S{0,64}?[\d#@$!%^&*_+~=])[^\s,;]{3}"
    return re.compile(
        r"\b(?:code|combination|kode|mã)\s(?:for|to|of|untuk|buat|brankas|pintu|cho|két|cửa)\s(?:\S+\s){0,5}?\S{0,8}\d{3}"
        rf"|\b(?:my|our)\s(?:\S+\s){{0,4}}?{secret}\b(?! (?:manager|policy|policies|rules|reset tool|generator"
        rf"|form))"
        rf"|\b{secret}(?:nya|ku)\b|\b{secret}\s(?:\S+\s){{0,3}}?{me}\b"
        rf"|\b{secret}\b\s?(?:(?:is|was|are|be|=|:|adalah|là|la|ialah|yaitu|itu|nya|-|→)\s?)+\S"
        rf"|\b{secret}\b[\s:=]+(?:\S+\s){{0,7}}?{value}"
        rf"|(?<!\S)\S{{3,64}}\s(?:is|adalah|là|itu|was)\s(?:\S+\s){{0,3}}?{secret}\b"
        rf"|\b(?:use|using|pakai|pake|menggunakan|gunakan|dùng|xài)\s\S{{3,64}}\s(?:as|for|sebagai|buat|untuk|jadi|làm|cho)"
        rf"\s(?:\S+\s){{0,3}}?{secret}\b(?! (?:manager|policy|reset|generator))"
        rf"|\b(?:log ?in|sign in|unlock|masuk|login|đăng nhập|mở khóa|buka)\s(?:\S+\s){{0,5}}?(?:with|using|pakai"
        rf"|pake|dengan|bằng)\s(?:\S+\s){{0,3}}?{value}"
    )


def _finds(view: View) -> bool:
    for text in (view.raw, view.shown):
        if _formats().search(text) or _bounded().search(text) or _formats().search(_SPACE.sub("", text)):
            return True
    return bool(_spoken().search(view.text))


DETECTOR = Detector(name="credential", reason=Reason.CREDENTIAL, finds=_finds)
