"""How well the places of identifiers are found: python -m bench.spans [FILE].

FILE (default: the public set of synthetic sentences, https://github.com/microsoft/presidio-research, MIT, its even
templates) is a JSON list of {full_text, spans: [{entity_type, start_position, end_position}]}. Only the types that our
kinds claim are scored: a found place counts for a labelled one of its type if both overlap in at least half of their
union. Printed: precision, recall and F1 by type and over all claimed types, and how often our other kinds spoke.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ingatan.screening.identifiers import Span, spans

DATA = Path(os.environ.get("INGATAN_BENCH_DATA", "data")) / "presidio_research" / "synth_even_templates.json"
OVERLAP_MIN = 0.5
CLAIMED = {
    "card": "CREDIT_CARD",
    "phone": "PHONE_NUMBER",
    "email": "EMAIL_ADDRESS",
    "iban": "IBAN_CODE",
    "network": "IP_ADDRESS",
    "ssn": "US_SSN",
    "address": "STREET_ADDRESS",
}
"""Our kinds and the types of the set that they claim."""


def overlaps(found: Span, labelled: dict[str, Any]) -> bool:
    """Whether two places share at least OVERLAP_MIN of their union."""
    start, end = labelled["start_position"], labelled["end_position"]
    shared = min(found.end, end) - max(found.start, start)
    return bool(shared > 0 and shared / (max(found.end, end) - min(found.start, start)) >= OVERLAP_MIN)


def score(rows: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str], Counter[str], Counter[str]]:
    """True places, found places and labelled places by type, and how often each unclaimed kind spoke."""
    true, found, labelled, other = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        gold = [span for span in row["spans"] if span["entity_type"] in CLAIMED.values()]
        labelled.update(span["entity_type"] for span in gold)
        for span in spans(row["full_text"]):
            kind = CLAIMED.get(span.kind)
            if kind is None:
                other[span.kind] += 1
                continue
            found[kind] += 1
            match = next((each for each in gold if each["entity_type"] == kind and overlaps(span, each)), None)
            if match is not None:
                true[kind] += 1
                gold.remove(match)
    return true, found, labelled, other


def line(name: str, true: int, found: int, labelled: int) -> str:
    """One row of the table."""
    precision, recall = true / found if found else 0.0, true / labelled if labelled else 0.0
    both = 2 * precision * recall / (precision + recall) if true else 0.0
    return f"| {name} | {labelled} | {found} | {precision:.3f} | {recall:.3f} | {both:.3f} |"


def main() -> None:
    """Print the table."""
    rows = json.loads((Path(sys.argv[1]) if sys.argv[1:] else DATA).read_text(encoding="utf-8"))
    true, found, labelled, other = score(rows)
    print(f"{len(rows)} sentences\n\n| type | labelled | found | precision | recall | F1 |\n|---|---|---|---|---|---|")
    for kind in sorted(CLAIMED.values(), key=lambda kind: -labelled[kind]):
        print(line(kind, true[kind], found[kind], labelled[kind]))
    print(line("all claimed", true.total(), found.total(), labelled.total()))
    numbers = [kind for kind in CLAIMED.values() if kind != "STREET_ADDRESS"]
    print(line("without addresses", *(sum(count[kind] for kind in numbers) for count in (true, found, labelled))))
    print(f"\nOther kinds spoke: {dict(other.most_common())}")


if __name__ == "__main__":
    main()
