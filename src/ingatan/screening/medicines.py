"""Names of medicines by the endings that their substances share: what a person takes tells what they have."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _substances() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)[a-z]{2,12}(?:olol|opril|april|sartan|statin|prazole|conazole|cillin|mycin|micin|floxacin|cycline"
        r"|oxetine|triptyline|zepam|zolam|thazine|promazine|tirazine|idone|tidine|gliptin|gliflozin|glutide|glitazone|formin|triptan"
        r"|profen|coxib|isone|asone|solone|terol|phylline|heparin|oxaparin|warfarin|xaban|clovir|navir|buvir|fovir|vudine|zumab|tumab|ximab|tinib|dronate|thyroxine|gabalin|gabapentin"
        r"|barbital|zolamide|dipine|thiazide|semide|lukast|setron|azepam|goxin)(?:e|a)?(?!\w)"
    )


def _finds(view: View) -> bool:
    return bool(_substances().search(view.text))


DETECTOR = Detector(
    name="medicine",
    reason=Reason.HEALTH,
    finds=_finds,
    reads="names of substances by their endings",
    example="a medicine that a person takes",
)
"""A medicine by its name."""
