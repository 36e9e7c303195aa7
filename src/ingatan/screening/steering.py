"""What would steer the assistant in words that no list knows: a fitted second opinion (``classifier``).

It only ever adds to what the lists find. Of a decoded reading it judges those that are no guess: letters turned round
at random look like nothing it was fitted on.
"""

from __future__ import annotations

from ingatan.languages import CODES
from ingatan.screening.classifier import GRANTS, STEERS
from ingatan.screening.detector import Detector
from ingatan.types import Reason

_READS = "how much a sentence resembles {}, by a model fitted on labelled texts of our own"

DETECTORS = (
    Detector(
        name="classifier.instruction",
        reason=Reason.INSTRUCTION,
        finds=lambda view: view.steering == STEERS,
        reads=_READS.format("an order to steer, conceal, redirect or replicate"),
        languages=CODES,
        example="a wish to name one vendor to whoever asks",
    ),
    Detector(
        name="classifier.authority",
        reason=Reason.AUTHORITY_CLAIM,
        finds=lambda view: view.steering == GRANTS,
        reads=_READS.format("a grant, an exemption or a claim of authority"),
        languages=CODES,
        example="a rank that is said to lift a check",
    ),
)
