"""All detectors in the order of the reasons (CONTRACT §4)."""

from __future__ import annotations

from dataclasses import replace

from ingatan.languages import CODES
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
    steering,
)
from ingatan.screening.detector import Detector, lexical
from ingatan.types import Reason


def _sentences(detector: Detector, reads: str, example: str) -> Detector:
    """``detector`` of whole sentences: what is cut out of a code has no sentence around it."""
    return replace(detector, judges_readings=False, reads=reads, languages=CODES, example=example)


CATALOGUE: tuple[Detector, ...] = (
    lexical("other_person", Reason.OTHER_PERSON, "where a relative works"),
    _sentences(named_persons.DETECTOR, "a person by name whom the sentence describes", "a colleague's trait"),
    lexical("health", Reason.HEALTH, "an illness of one's own"),
    medicines.DETECTOR,
    lexical("religion", Reason.RELIGION, "what a person believes"),
    lexical("ethnicity", Reason.ETHNICITY, "the people one belongs to"),
    lexical("politics", Reason.POLITICS, "how a person votes"),
    lexical("sexual_life", Reason.SEXUAL_LIFE, "whom a person loves"),
    lexical("union", Reason.UNION, "membership of a union"),
    lexical("biometrics", Reason.BIOMETRICS, "a fingerprint"),
    lexical("genetics", Reason.GENETICS, "a result of a gene test"),
    lexical("crime", Reason.CRIME, "a conviction"),
    lexical("children", Reason.CHILDREN, "a child's school"),
    minors.DETECTOR,
    lexical("finance", Reason.FINANCE, "debts"),
    figures.FINANCE,
    *credentials.DETECTORS,
    figures.CREDENTIAL,
    *identifiers.DETECTORS,
    lexical("instruction", Reason.INSTRUCTION, "an order to ignore the rules"),
    delimiters.DETECTOR,
    destinations.DETECTOR,
    lexical("permission", Reason.PERMISSION, "a right to see all files"),
    lexical("authority", Reason.AUTHORITY_CLAIM, "what an administrator is said to have approved"),
    *steering.DETECTORS,
    obfuscation.DETECTOR,
    lexical("law_claim", Reason.LAW_CLAIM, "what a law is said to demand"),
    lexical("document_fact", Reason.DOCUMENT_FACT, "what a document is said to state"),
    _sentences(impersonal.DETECTOR, "a sentence about the world in which nobody present occurs", "a rule"),
    _sentences(events.DETECTOR, "what a person once did or went through, in chat", "an accident"),
)
