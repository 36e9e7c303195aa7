"""Whether words that name no person are a standing wish on how to be answered: "when a village comes up, add its
district", "code first, talk after". Closed word lists only; asked of what a person proposes about themself."""

from __future__ import annotations

import re
from functools import cache

from ingatan.memories.wording import listed, pattern, single
from ingatan.text import fold, unaccent, words

WISH_WORDS_MAX = 32
FRAGMENT_WORDS_MAX = 12
"""A wish without an occasion and without a person is a note of so few words."""
SUBJECT_WORDS_MAX = 8
"""What a wish is about, where it comes first, is named in so few words."""


_THIS_ONE = re.compile(
    r"\b(?:your|this|the (?:next|following|above|below)) (?:\w+ )?(?:reply|response|answer|output"
    r"|text|message|summary)\b"
    r"|\b(?:jawaban|balasan|pesan|teks)(?:mu\b| (?:kamu|anda|ini|berikut)\b)"
    r"|(?:câu trả lời|tin nhắn|đoạn|văn bản) (?:của bạn|này|sau)(?!\w)|[\"\u201c\u201d\u00ab]"
)
"""One answer or text, or words to be put into it: a task, no wish that stands."""

_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|right now|for now|just once|this time|(?:this|these|those) \w+)\b"
    r"|\b(?:hari ini|besok|lusa|sekarang|nanti malam|kali ini|ini|tersebut|barusan|tadi)\b"
    r"|(?<!\w)(?:hôm nay|ngày mai|bây giờ|ngay|lần này|này|vừa rồi|sau đây)(?!\w)"
)
"""What is at hand: asked about it is a task for now."""

_ERRAND = re.compile(
    r"(?:(?:please|pls|tolong|mohon|xin|hãy) )?(?:(?:write|make|draft|compose|prepare|create|generate|send|get|find"
    r"|book|buy|order|pay|call|email|run me a|give me the \w+$|tell me the \w+$|show me the \w+$) (?!no\b)"
    r"|(?:summari[sz]e|describe|check|compare|explain) (?:the|my|our) (?:\w+ )?(?:report|document|text|letter|minutes"
    r"|article|file|contract|email|paper|table|budget|situation|problem|error)\b"
    r"|(?:translate|dịch|soạn|gửi|tìm|đặt|mua|gọi cho|buatkan|bikinin|bikinkan|kirim\w*|cari\w*|pesan\w*|hitung\w*"
    r"|terjemah\w*)(?!\w))"
)
"""An errand to be run now, whatever follows."""

_PERSONS = re.compile(
    r"\b(?:you|they|he|she|people|staff|everyone|anyone|nobody|companies|citizens|residents|tenants|applicants|visitors"
    r"|employees|drivers|owners|workers|officers|members|farmers|teachers|students|parents|children|guests|vendors"
    r"|customers|clients|contractors|pemohon|warga|pegawai|karyawan|masyarakat|petugas|orang|dia|mereka|penduduk"
    r"|pelamar|siswa|guru|dokter)\b|(?<!\w)(?:người|dân|cán bộ|nhân viên|khách hàng|họ|nó|công ty|học sinh|ai)(?!\w)"
)
"""Of whom it says what they ought to do: no wish on answers."""

_VERB_ID = r"(?!me|di(?!n)|ber|bukan|makan|ikan|akan|rekan|pekan|bahkan|silakan|sekalian)[a-z]{3,}kan"
"""An Indonesian verb in "-kan" without a prefix asks for what it says: "pisahkan", "sebutkan"."""


def _any(*names: str) -> str:
    entries = {entry for name in names for entry in listed(name)}
    return "|".join(map(re.escape, sorted(entries, key=len, reverse=True)))


@cache
def _occasion() -> re.Pattern[str]:
    """An occasion, then after a pause or a word that leads over to it what is to be done."""
    over = r"(?:,| -|:| thì| maka| ya| itu| is| wait| please| tolong| mohon| cứ)"
    return re.compile(
        rf"(?:{_any('occasion')})(?!\w)[^.!?;]{{2,160}}?{over}(?:\W+\w+){{0,2}}?\W+(?:{_any('wish_act')}|{_VERB_ID})(?!\w)"
    )


@cache
def _topic() -> re.Pattern[str]:
    """A subject matter, then after a pause or "thì" what is to be done about it."""
    politely = r"(?:\W+(?:please|always|just|never|do not|don't|tolong|mohon|selalu|cứ|hãy|luôn|nhớ|chỉ|toàn bộ)){0,2}"
    act = rf"(?:{_any('topic_act')}|{_VERB_ID})(?!\w)"
    named = rf"(?:{_any('topic')})(?!\w)[^.!?;,:]{{2,80}}(?:,| -|:)"
    return re.compile(rf"(?:{named}|[^.!?;:]{{2,80}}? thì){politely}\W+{act}")


@cache
def _topic_unmarked() -> re.Pattern[str]:
    """A subject matter, "thì" and what is to be done about it, in Vietnamese typed without marks."""
    acts = "|".join(sorted({re.escape(unaccent(act)) for act in listed("topic_act")}))
    return re.compile(rf"[^.!?;:]{{2,80}}? thi (?:nho |cu |hay |luon |chi )?(?:{acts})(?!\w)")


@cache
def _shape() -> re.Pattern[str]:
    """What is to be shown, and that it should be so and so, or in Indonesian and Vietnamese what is to be done with it:
    "margin figures should be rounded", "jarak lari tulis dalam kilometer", "biên bản họp viết theo mẫu"."""
    subject = rf"\w[\w'/+-]*(?: [\w'/+-]+){{0,{SUBJECT_WORDS_MAX - 1}}}?"
    ought = rf"(?:{_any('should')}) (?:\w+ ){{0,1}}?(?:{_any('should_be')})(?!\w)"
    done = (
        r"(?:tulis|buat|urut|bandingkan|pisahkan|kelompokkan|urutkan|tampilkan|sajikan|tuliskan|bulatkan|ringkas|sebutkan"
        r"|cantumkan) (?:dalam|singkat|ringkas|dari|menurut|berdasarkan|per|pakai|dengan|jadi|ke|secara|tanpa)(?!\w)"
        r"|(?:viết|ghi|trình bày|chia|xếp|sắp xếp|để|nêu|liệt kê|đánh số) (?:ở|theo|bằng|trong|thành|kiểu|dưới|ngắn|gọn"
        r"|từ|trước|sau)(?!\w)"
    )
    return re.compile(rf"{subject} (?:{ought}|{done})")


@cache
def _manner() -> re.Pattern[str]:
    """Something to be done, and when, where or how: so it holds for more than once."""
    politely = r"(?:(?:please|always|tolong|mohon|hãy|nhớ|xin|vui lòng|nên|cứ|luôn) )?"
    how = rf"(?:{_any('wish_when')}|{_any('wish_where')})"
    return re.compile(rf"{politely}(?:{_any('imperative')}|{_VERB_ID}) [^.!?;]{{2,160}}?(?<!\w){how}(?!\w)")


_FRAGMENT = re.compile(
    r"(?!an? |the |one |two |three |\d)\w[\w'-]*(?: [\w'/-]+){0,5} (?:in|with|without|as|by) [\w' /-]+,? please$"
)
"""What answers are to be like, by name only: "fares in dollars, please"."""


_REQUEST = re.compile(
    r"(?:could|can|would|will) you (?:please )?(?:always|never|by default|stick to|from now on)\b"
    r"|(?:bisakah|bisa|boleh)(?: (?:kamu|anda|tolong|nggak|tidak))? selalu\b|(?:bạn|em) (?:có thể )?luôn(?!\w)"
)
"""A wish that stands, asked as a question."""

_ORDER = re.compile(
    r"(?:[\w' -]{2,40}: )?[\w' -]{2,30} first, (?:then )?[\w' -]{2,40} (?:after|after \w+|second|last|later|next)$"
    r"|(?:[\w -]{2,40}: )?[\w -]{2,30} (?:dulu|dahulu), (?:baru [\w -]{2,40}|[\w -]{2,40} (?:belakangan|kemudian))$"
    r"|(?:[\w -]{2,40}: )?[\w -]{2,30} trước, [\w -]{2,40} sau$"
)
"""In which order things come, by name only: "forms first, fees after them"."""

_FOR_A_TOOL = re.compile(
    r"(?:write|give|use|show|viết|dùng|đưa|tulis|pakai|beri) (?:\w+ )?(?:commands|queries|snippets|formulas|scripts"
    r"|lệnh|câu lệnh|đoạn mã|truy vấn|công thức|perintah|kueri|rumus|contoh kode) (?:[\w.]+ ){0,3}?(?:for|in|with|cho"
    r"|với|bằng|theo|untuk|dengan|dalam) (?:macos|windows|linux|ubuntu|debian|zsh|bash|fish|powershell|excel"
    r"|libreoffice|calc|google sheets|postgres\w*|mysql|sqlite|python|typescript|javascript|kotlin|swift|rust|go)\b"
)
"""For which tool code is written."""


def is_wish(text: str) -> bool:
    """Whether ``text``, one sentence, says how answers are to look or what to do on an occasion that recurs."""
    folded = fold(text).strip(" .!-\u2022*\"'")
    found = words(folded)
    if not found or len(found) > WISH_WORDS_MAX:
        return False
    if _THIS_ONE.search(folded) or pattern("third_party").search(folded):
        return False
    if folded.endswith("?"):
        return _REQUEST.match(folded) is not None
    if pattern("rendering").match(folded) and _topic().match(folded) is None:
        return False
    if _occasion().match(folded):
        return True
    if _NOW.search(folded):
        return False
    if _FOR_A_TOOL.match(folded) or (not _ERRAND.match(folded) and _recurs(folded, found)):
        return True
    if len(found) > FRAGMENT_WORDS_MAX or pattern("task").match(folded):
        return False
    return pattern("shape_noun").search(folded) is not None and pattern("shape_word").search(folded) is not None


def _recurs(folded: str, found: list[str]) -> bool:
    """Whether it asks for something about a kind of thing, rather than about one."""
    asks = (_topic(), _manner(), _ORDER)
    if any(each.match(folded) for each in asks) or (unaccent(folded) == folded and _topic_unmarked().match(folded)):
        return True
    shaped = _shape().match(folded)
    if shaped is not None:
        return _PERSONS.search(shaped[0]) is None
    return found[0] not in single("task") | single("imperative") and _FRAGMENT.match(folded) is not None
