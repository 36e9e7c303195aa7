"""A third person as the subject of a sentence: "Pak Budi lives ...", "Anh Tuấn thích ...", "They are always ..."."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

_OWN_NAME = re.compile(
    r"(?i)\b(?:call(?:ed)? me|address(?:ed)? me|refer to me|my (?:full |real |nick|first |last )?name|i am|i'm"
    r"|nama (?:lengkap |panggilan )?(?:saya|aku|gue|gw|sy)|namaku"
    r"|(?:di)?panggil|kenalkan|perkenalkan|sapa|disapa|saya ini|(?:^|[,.] )(?:saya|aku|gue|sy)"
    r"|gọi|goi|xưng|tên (?:là|tôi|mình|em|của)|ten (?:la|toi|minh|em)|tên|(?:tôi|mình|em|tui) là)\b"
)


@cache
def _named() -> re.Pattern[str]:
    name = r"(?!I['’]|User\b)[A-ZĐÀ-Ỹ][\w'’-]+"
    title = (
        r"(?:Mrs?|Ms|Miss|Dr|Prof|Pak|Bu|Bapak|Ibu|Bang|Kak|Mas|Mbak|Mba|Ustaz|Ustadz|Teungku|Tgk|Cut|Om|Tante"
        r"|Ông|Bà"
        r"|Anh|Chị|Cô|Chú|Bác|Cậu|Dì|Thầy|pak|bu|bapak|ibu|bang|kak|mas|mbak|om|tante|si|ông|bà|anh|chị|cô|chú|bác"
        r"|cậu|dì|thầy|thằng|con)"
    )
    verb = (
        r"(?:lives?|works?|handles|manages|runs|sits|leads|suka marah|marah|thường"
        r"|comes|drinks|eats|likes|loves|prefers|hates|wants|needs|speaks|told|said|says|moved"
        r"|married|owns"
        r"|drives|earns|wrote|enjoys|studies|teaches|resigned|retired|plays|went|knows|thinks|stays|lived|worked"
        r"|joined"
        r"|was born|is (?:a|an|the|from|my|our|married|allergic|always|very|not|\d+)|has (?:a|an|two|been)"
        r"|tinggal|bekerja|kerja|suka|sukanya|lahir|menikah|pindah|punya|ingin|mau|benci|senang|bilang|orangnya"
        r"|berasal|sering"
        r"|sudah|udah|dari|menjabat|mengajar|itu|adalah|tidak|gak|sakit|lebih"
        r"|sống|làm|ở|thích|ghét|uống|ăn|học|dạy|chuyển|cưới|sinh|quê|bị|muốn|đang|đã|là|nói|bảo|có|không|tên|hay)"
    )
    plain_verb = (
        r"(?:lives|works|drinks|eats|likes|loves|hates|wants|speaks|told|moved|married|earns|wrote|enjoys|studies"
        r"|teaches|resigned|retired|went|lived|worked|joined|was born|is (?:married|allergic|\d+ years"
        r"|a (?:doctor|nurse|teacher|lawyer|colleague|friend|widow))"
        r"|tinggal|bekerja|menikah|lahir|bilang|sukanya|orangnya)"
    )
    return re.compile(
        rf"(?<!\w){title}\.? {name}(?: {name}){{0,3}},? (?:\w+ ){{0,5}}?{verb}\b"
        rf"|(?:^|[.!?:;\n]\s{{0,9}}|\b(?:that|bahwa|kalau|rằng|remember|note|ingat|catat|colleague"
        rf"|teman)[,:]? ){name}(?: {name}){{0,3}} (?:(?:always|never|usually|often|also|really|only"
        rf"|just) )?{plain_verb}\b"
        r"|(?:^|[.!?:;,\n]\s{0,9}|\b(?:that|bahwa|rằng) )"
        r"(?!(?:Most|Half|Some|Much|Many|Part|Parts|All|None|Each|Both|Plenty|Lots|Several|Few|Two|Three|Little|Enough"
        r"|Nothing|Everything|Everyone|Nobody|Anything) )"
        rf"{name} (?:in|from|at|on|of|over at) (?:our|my|the)"
        r" (?:\w+ ){1,3}?(?:is|was|has|\w{3,}s)\b"
        r"|(?:^|[.!?:;,\n]\s{0,9})(?!(?:Komputer|Laptop|Printer|Meja|Internet|Listrik|Ruangan|Semua|Pegawai|Python|Java|Redis|Docker|Linux"
        r"|Ubuntu|Debian|Excel|Word|Timeout|Server|Database|Basis|Wi-Fi|Wifi|Jam|Tim|Rapat)\b)(?![A-Z]\w*[A-Z\d])"
        rf"{name} (?:di|dari|ở|bên) (?:\w+ )?(?:unit|bagian|tim|kantor|tổ|phòng|đội|ban|nhóm|\w+)"
        r" (?:kami|kita|saya|gue|em|tôi|mình|tui)\b"
        r"|(?:^|[.!?:;,\n]\s{0,9})(?!(?:Komputer|Laptop|Printer|Semua|Pegawai|Saya|Aku|Kami|Kantor|Tugas)\b)"
        rf"{name} (?:di|dari) (?:bagian|bidang|seksi|unit|lantai|ruang|loket|divisi) \w+ (?:\w+ )?"
        r"(?:pakai|pake|suka|punya|kerja|tinggal|bisa)\b"
        rf"|\b(?:[Tt]he|[Oo]ur|[Mm]y) [\w ]{{3,40}}, {name}, \w+s\b"
    )


@cache
def _described() -> re.Pattern[str]:
    """A person by name whom the sentence goes on to describe, also where it gives the writer's own name."""
    title = r"(?:[Pp]ak|[Bb]u|[Bb]ang|[Kk]ak|[Aa]nh|[Cc]hị|[Mm]rs?\.?|[Mm]s\.?)"
    name = rf"{title}? ?[A-ZĐÀ-Ỹ][\w'’-]+(?: [A-ZĐÀ-Ỹ][\w'’-]+)?"
    return re.compile(
        rf"\b(?:with|for|under|alongside|beside|by|and) {name},? (?:who|whose)\b"
        rf"|\b(?:sama|bareng|bersama|dengan|dan) {name},? yang (?:sudah|udah|lagi|sedang|baru|suka|punya"
        r"|sakit|orangnya)\b"
        rf"|\b(?:cùng|với|chung với) (?:anh|chị|cô|chú|bác|ông|bà) {name},? (?:người|đã|đang|bị|vừa|mới|hay)\b"
    )


@cache
def _unnamed() -> re.Pattern[str]:
    """A text that opens with people whom it does not name: what follows is said of them."""
    return re.compile(
        r"\W*(?:(?:yes|well|and|but|also|remember(?: that)?|note(?: that)?|ya|dan|tapi|ingat|catat"
        r"|nhớ(?: là)?|à|ừ),? )?"
        r"(?:they(?:'re|'ve|'d|'ll)?|mereka|họ(?! (?:của|tên|và tên|là|tôi|mình|em|tui|hàng))|(?:tụi"
        r"|bọn|chúng) nó)(?!\w)"
    )


def _finds(view: View) -> bool:
    text = view.shown
    if _unnamed().match(view.text):
        return True
    if _described().search(text):
        return True
    if _OWN_NAME.search(text):
        return bool(re.search(r"\b(?:he|she|dia|beliau)\b", view.text))
    return bool(_named().search(text))


DETECTOR = Detector(name="named_person", reason=Reason.OTHER_PERSON, finds=_finds)
