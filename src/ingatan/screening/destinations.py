"""An order to send something to an address: a way out for data."""

from __future__ import annotations

import re
from functools import cache

from ingatan.languages import CODES
from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _order() -> re.Pattern[str]:
    act = (
        r"(?:send|sent|forward|forwarded|email|e-mail|mail|post|upload|cc|bcc|copy|copied|transfer|submit|report"
        r"|visit|open|fetch|call"
        r"|share|publish|redirect|link to|point to|kirim\w*|dikirim\w*|teruskan|diteruskan|unggah|tembus\w*|buka"
        r"|kunjungi|laporkan"
        r"|gửi|gui|chuyển|chuyen|đăng|tải|sao chép|chuyển tiếp|truy cập|mở)"
    )
    target = r"(?:[\w.+-]{1,64}\s?(?:@|\[at\]|\(at\))\s?[\w-]|https?://\S|ftp://\S|hxxps?\S|www\.\w|\b[a-z0-9-]+\.(?:onion|ru|xyz|io|net|com|org|example|id|vn)\b)"
    return re.compile(rf"\b{act}\b[^.!?\n]{{0,120}}?{target}")


def _finds(view: View) -> bool:
    return bool(_order().search(view.text))


DETECTOR = Detector(
    name="destination",
    reason=Reason.INSTRUCTION,
    finds=_finds,
    guessed=True,
    reads="a verb of sending or opening with an address",
    languages=CODES,
    example="an order to send summaries to a mailbox",
)
