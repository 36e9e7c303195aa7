"""All detectors in the order of the reasons (CONTRACT §4)."""

from __future__ import annotations

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

CATALOGUE: tuple[Detector, ...] = (
    lexical("other_person", Reason.OTHER_PERSON),
    named_persons.DETECTOR,
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
    credentials.DETECTOR,
    figures.CREDENTIAL,
    identifiers.DETECTOR,
    figures.IDENTIFIER,
    lexical("instruction", Reason.INSTRUCTION),
    delimiters.DETECTOR,
    destinations.DETECTOR,
    lexical("permission", Reason.PERMISSION),
    lexical("authority", Reason.AUTHORITY_CLAIM),
    obfuscation.DETECTOR,
    lexical("law_claim", Reason.LAW_CLAIM),
    lexical("document_fact", Reason.DOCUMENT_FACT),
    impersonal.DETECTOR,
    events.DETECTOR,
)
