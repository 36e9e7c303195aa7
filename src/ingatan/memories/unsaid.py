"""Whether a sentence in which the writer leaves themself out, or is one letter, speaks of them: "got the keys",
"sawah yang kugarap", "e đang học". Asked only of what a person proposes about themself: in chat such words may be
anybody's."""

from __future__ import annotations

import re

from ingatan.memories.wording import pattern
from ingatan.text import fold

_ENGLISH = re.compile(
    r"(?:(?:just|finally|recently|also|currently|still|lately|only) )?"
    r"(?:got(?: an?| the| rid| back| into| used| hold| to)|been \w+ing\b|tried|moved (?:to|from|into|back|house)"
    r"|started|finished|bought|switched|swapped|learned|learnt|built|took up|gave up|joined|signed up|grew up|repaired"
    r"|working (?:on|at|as|in|from)|living in|learning|reading|studying|training for|planning (?:to|a)|looking for"
    r"|trying to|used to \w+|can't stand|don't like|back from|back (?:in|to)) "
    r"(?!(?:by the|that|you|your|the user|users)\b)"
    r"|(?:most|on most|some|on) (?:evenings|mornings|weekends|afternoons|sundays|saturdays|lunch breaks) "
)
_INDONESIAN = re.compile(
    r"\b(?:yang|bisa|sudah|udah|selalu|sering|masih|biasa|biasanya|mau|akan|lagi|baru|dan|tiap hari|setiap hari) "
    r"ku(?!asa|at\b|cing|da|e\b|ku\b|lit|liah|ning|nci|nung|nyit|ota|pon|ra\b|rang|rir|rma|rsi|rsus|tub|alit|antit|bis\b"
    r"|bus|bik|dapan|lkas|liner|man|muh|no\b|rikulum|rban|is\b|itansi|ltur|artal|du\b|kuh|esioner|mpul)[a-z]{3,}"
    r"|, ku(?:jahit|buat|pakai|tanam|rawat|cat|beli|jual|baca|tulis|ambil|simpan|masak)\w*"
    r"|^(?:lagi|sedang|baru|baru aja|baru saja|habis|abis|masih|udah|sudah|biasanya) (?:belajar|nulis|bikin|baca|nyoba"
    r"|coba|pindah|beli|mulai|ngerjain|latihan|nyari|ngoprek|masak|ngopi|olahraga|sepedaan|berkebun|kursus|les|kuliah"
    r"|kerja|menabung|nabung|hobi)\b"
)
_VIETNAMESE = re.compile(
    r"(?<!\w)[et] (?:mới|moi|đang|dang|vừa|vua|làm|lam|hay|cũng|cung|quản|quan|thích|thich|không|khong|ko|k|có|co|dùng"
    r"|dung|đã|da|học|hoc|ở|o|thường|thuong|sống|song|chạy|chay|nuôi|nuoi|trồng|trong|ghét|ghet|biết|biet|viết|viet"
    r"|bán|ban|phụ|phu|tự|tu|sẽ|se|là|la)(?!\w)"
    r"|(?<!\w)(?:của|cua|nhà|nha|giúp|giup|cho) [et](?!\w)"
    r"|^(?:đang|mới|vừa|dạo này) (?:học|tập|làm|mua|chuyển|đổi|ôn|viết|đọc|tìm|cấu hình|tự|nuôi|trồng|sửa|dọn"
    r"|lắp)(?!\w)"
    r"|^(?:ruộng|vườn|ao|đàn \w+|giá sách|tủ \w+|bếp|sân|ban công|mèo|chó|gà|xe) (?:ở )?nhà"
    r"(?! (?:nước|hàng|trường|máy|người|ông|bà|anh|chị)\b)(?!\w)"
)


def speaks_of_oneself(text: str) -> bool:
    """Whether ``text``, which its author proposes about themself, tells something of them without saying "I"."""
    folded = fold(text).strip(" .!-\u2022*\"'")
    if folded.endswith("?") or pattern("condition").match(folded) or pattern("denial").search(folded):
        return False
    if _ENGLISH.match(folded):
        return True
    return any(each.search(folded) is not None for each in (_INDONESIAN, _VIETNAMESE))
