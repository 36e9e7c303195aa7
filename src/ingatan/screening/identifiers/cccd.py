"""CCCD, the Vietnamese citizen number: province, century and sex, year of birth, six more (Circular 59/2021/TT-BCA)."""

from __future__ import annotations

from ingatan.screening.identifiers.kind import numbered

PROVINCE_MAX = 96
WORDS = (
    r"cccd|can cuoc(?: cong dan)?|so dinh danh|dinh danh ca nhan|chung minh(?: nhan dan| thu)?|cmnd|cmt|cmtnd"
    r"|giay to tuy than|citizen id(?:entity)?|national id"
)


def structured(digits: str) -> bool:
    """Whether 12 digits are built like a citizen number: province 001 to 096, century and sex, year."""
    if len(digits) != 12 or not 1 <= int(digits[:3]) <= PROVINCE_MAX:
        return False
    return digits[3] in "0123" and digits[-6:] != "000000"


KIND = numbered(
    "cccd",
    lengths=frozenset({12}),
    bare=lambda number: structured(number.digits) and not number.amount,
    words=WORDS,
    reads="12 digits built of province, century and sex, year, or any 12 beside a word for it",
    example="the number of a citizen's card",
    languages=("vi", "en"),
)
