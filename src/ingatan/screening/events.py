"""What a person once did or went through, outside of work, study and home: it is no profile, and what it tells is often
one of the classes that are never stored. English by tense, Indonesian and Vietnamese by their words for "once"."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.types import Reason


@cache
def _once() -> re.Pattern[str]:
    usual = (
        r"(?:moved|worked|lived|studied|graduated|joined|started|retired|trained|switched|changed|transferred|used"
        r"|based|preferred|liked|loved|wanted|needed|asked|learned|specialised|specialized|majored|decided|finished"
        r"|completed|returned|relocated|settled|enjoyed|hated|stayed|served|managed|handled|taught|grew|wrote|built"
        r"|drafted|designed|developed|audited|founded|opened|created|launched|configured|noticed|tried|chose|mentioned"
        r"|rescued|restored|repaired|painted|planted|knitted|composed|programmed|competed|qualified|enrolled|licensed|certified|apprenticed|organised|organized|hosted|produced|directed|acted|skated|hiked|biked|surfed|camped|updated|earned|volunteered|helped|prioritised|prioritized|married|turned|passed|won|bought|breed|embed|speed|proceed|succeed|exceed|bleed|weed|heed|seed|skipped|switched|booked|added|aimed|implemented|planned|set|adopted|collected|played|translated|edited"
        r"|migrated|picked|renamed|need|interned|resigned|closed|owned|supervised|led|feed|agreed|focused|appreciated"
        r"|disliked|published|coached|toured|travelled|traveled|visited|attended|celebrated|recorded|performed|cooked)"
    )
    past = (
        r"(?:[a-z]{2,14}ed|lost|took(?! over| on| part| up)|fell|hit|beat"
        r"|stole|broke|fought|caught|slept|bled|burnt|swore|shot|stabbed"
        r"|hid|fled|ran away|sued|cheated)"
    )
    home = (
        r"(?:kerja|bekerja|tinggal|kuliah|sekolah di|belajar|ngajar|mengajar|jadi|menjadi|ikut pelatihan|ikut diklat"
        r"|magang|bertugas|dinas|menjabat|ngekos|merantau|pegang|megang|menangani|di|nulis|menulis|pakai|pake|pindah)"
    )
    job = r"(?:làm|sống|ở|học|dạy|công tác|phụ trách|viết|dùng|giữ|lam|song|o|hoc|day|phu trach|tốt nghiệp|quản lý)"
    return re.compile(
        rf"\bi (?:have |had )?(?:once |just |also |recently |never |always |already )?(?!{usual}\b){past}\b"
        rf"|\b(?:saya|aku|gue|gua|gw|sy|kami) (?:juga |dulu )?pernah (?!{home}\b)\w"
        rf"|(?<!\w)(?:tôi|mình|em|tui|anh|chị|toi|minh) (?:cũng |đã )?(?:từng|tung) (?!{job}(?!\w))\w"
    )


DETECTOR = Detector(name="event", reason=Reason.NOT_A_STATEMENT, finds=lambda view: bool(_once().search(view.text)))
"""Something that once happened."""
