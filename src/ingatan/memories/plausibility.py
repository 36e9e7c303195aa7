"""Plausibility: can these words be a value of this attribute at all? A false reading must not replace a true value.

Closed lists over folded and unaccented text. What is implausible is kept without the attribute, beside what fills it.
"""

from __future__ import annotations

import re

from ingatan.memories.slots import Slot
from ingatan.text import fold, unaccent

_NEEDED = {
    Slot.NAME: re.compile(
        r"^(?:\W*(?:hi|hello|halo|hai|chao|yes|ya|please|tolong|so|oh)\W+)*(?:my |the |a |to |just |you can )*"
        r"(?:full |first |nick)?(?:name|call|i am|i'm|im|this is|it's|known|nama|namaku|panggil|saya|aku|gue|gw"
        r"|kenalkan|perkenalkan|ten|goi|toi|minh|em|tui|to)\b|\b(?:here|name|call me|nama|panggil|ten|goi)\b"
    ),
    Slot.WORKING_HOURS: re.compile(
        r"\d|\b(?:mornings?|afternoons?|evenings?|nights?|noon|shifts?|weekdays?|weekends?|(?:mon|tues|wednes|thurs|fri"
        r"|satur|sun)days?|pagi|siang|sore|malam|senin|selasa|rabu|kamis|jumat|sabtu|minggu|sang|chieu|toi|dem|thu|ca)\b"
    ),
}
"""What a value must hold: a name is introduced as one, hours name a time."""
_REFUSED = {
    Slot.NAME: re.compile(
        r"\bi'?m called (?:often|when|if|by|up|out|in)\b|^(?:con|kantor|cong ty|my (?:office|company))\b"
    ),
    Slot.WORKPLACE: re.compile(
        r"\bwork(?:ing|s)? (?:at (?:nights?|dawn|weekends|home|speed|once)|in (?:excel|word|python|silence|teams|shifts"
        r"|the (?:morning|evening|afternoon))|from|on|with|late|early|hard)\b"
        r"|\b(?:kerja|bekerja) (?:malam|siang|lembur|dari rumah)\b|\blam viec (?:ban dem|o nha|cham chi)\b"
    ),
    Slot.ROLE: re.compile(r"\bearly riser\b|\bnight owl\b|\bmy job is (?:at|in|with)\b"),
    Slot.RESIDENCE: re.compile(r"\b(?:i|we) lived\b|\bused to live\b|\bdulu tinggal\b|\bsong (?:rat|that|kha)\b"),
    Slot.TEAM: re.compile(r"\bchannel\b|\bmeeting room\b"),
}
"""What looks like a value and is none: a time instead of a place, the past instead of now."""


def plausible(slot: str, text: str) -> bool:
    """Whether ``text`` can be a value of ``slot``; True for a slot without a list."""
    if slot not in set(Slot):
        return True
    said, attribute = unaccent(fold(text)), Slot(slot)
    refused, needed = _REFUSED.get(attribute), _NEEDED.get(attribute)
    if refused is not None and refused.search(said):
        return False
    return needed is None or needed.search(said) is not None
