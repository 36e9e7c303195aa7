"""All detectors in the order of the reasons (CONTRACT §4)."""

from __future__ import annotations

from dataclasses import replace

from ingatan.screening import (
    credentials,
    delimiters,
    destinations,
    events,
    figures,
    identifiers,
    impersonal,
    medicines,
    minors,
    named_persons,
    obfuscation,
)
from ingatan.screening.detector import Detector, lexical
from ingatan.types import Reason

_ALL = ("en", "id", "vi")


def _sentences(detector: Detector, reads: str) -> Detector:
    """``detector`` of whole sentences: what is cut out of a code has no sentence around it."""
    return replace(detector, judges_readings=False, reads=reads, languages=_ALL)


CATALOGUE: tuple[Detector, ...] = (
    lexical("other_person", Reason.OTHER_PERSON),
    replace(
        _sentences(named_persons.DETECTOR, "a person by name whom the sentence describes"),
        example="a colleague's trait",
    ),
    lexical("health", Reason.HEALTH),
    medicines.DETECTOR,
    lexical("religion", Reason.RELIGION),
    lexical("ethnicity", Reason.ETHNICITY),
    lexical("politics", Reason.POLITICS),
    lexical("sexual_life", Reason.SEXUAL_LIFE),
    lexical("union", Reason.UNION),
    lexical("biometrics", Reason.BIOMETRICS),
    lexical("genetics", Reason.GENETICS),
    lexical("crime", Reason.CRIME),
    lexical("children", Reason.CHILDREN),
    minors.DETECTOR,
    lexical("finance", Reason.FINANCE),
    figures.FINANCE,
    *credentials.DETECTORS,
    figures.CREDENTIAL,
    *identifiers.DETECTORS,
    lexical("instruction", Reason.INSTRUCTION),
    delimiters.DETECTOR,
    destinations.DETECTOR,
    lexical("permission", Reason.PERMISSION),
    lexical("authority", Reason.AUTHORITY_CLAIM),
    obfuscation.DETECTOR,
    lexical("law_claim", Reason.LAW_CLAIM),
    lexical("document_fact", Reason.DOCUMENT_FACT),
    _sentences(impersonal.DETECTOR, "a sentence about the world in which nobody present occurs"),
    _sentences(events.DETECTOR, "what a person once did or went through"),
)
