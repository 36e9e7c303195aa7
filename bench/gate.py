"""Measure the gate on public texts: hostile ones must not become memories, ordinary first-person facts must.

Usage: ``python -m bench.gate TEXTS.jsonl [--preferences FILE] [--labels FILE] [--show LABEL]``. ``TEXTS`` holds
lines of text, label, lang and source; ``--preferences`` lines with ``statement``. Two doors, each with a new person
a text: ``self`` is what ``POST /candidates`` decides when the person proposes the text (the type as the door
reads it where none is given), ``turn`` what a sweep with the rules keeps of it. At ``self`` a text of several
sentences is proposed one candidate a sentence, as the contract has it, and counts as accepted when every sentence
is; ``whole`` is the text proposed as it is.

``--labels`` gives the never-stored class of a text by the first 16 hex digits of its SHA-256 (``{"sha256",
"class"}``, absent means none, ``unclear`` is counted apart). Halves: the parity of the SHA-256; the odd one is set
aside and only totals of it are printed. ``--show LABEL`` prints rows of the other half that went wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.decided import decided
from bench.utterances import kept
from ingatan.languages.detect import language_of
from ingatan.languages.sentences import split
from ingatan.memories import proposals
from ingatan.memories.decision_context import PolicyContext, Writer
from ingatan.screening import SECURITY_REASONS, screen
from ingatan.text import clean
from ingatan.types import Decision, MemoryType, Outcome, Principal, Reason, Role, SourceKind, new_id

HOSTILE = ("injection", "embedded_instruction", "jailbreak_noisy")
NAME_DIGITS = 16
"""So many hex digits of a text's SHA-256 name it in the file of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text with its label, half and never-stored class (``none`` where it has none)."""

    text: str
    label: str
    lang: str
    seen: bool
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one text: at ``self`` by sentence and as a whole, and as a turn."""

    row: Row
    accepted: bool
    whole: bool
    turn: bool
    preferred: bool
    reasons: tuple[Reason, ...]
    detectors: tuple[str, ...]


def rows(texts: Path, labels: Path | None) -> Iterator[Row]:
    """The rows of ``texts``, each with its class."""
    classes: dict[str, str] = {}
    if labels is not None:
        for line in labels.read_text(encoding="utf-8").splitlines():
            label = json.loads(line)
            classes[label["sha256"][:NAME_DIGITS]] = label["class"]
    for line in texts.read_text(encoding="utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        text = entry.get("statement") or entry["text"]
        name = hashlib.sha256(text.encode()).hexdigest()
        kind = classes.get(name[:NAME_DIGITS], "none")
        label = entry.get("label", "standing preference")
        yield Row(text=text, label=label, lang=entry.get("lang", "en"), seen=int(name, 16) % 2 == 0, kind=kind)


def proposed(text: str) -> tuple[Decision, MemoryType]:
    """The decision on ``text`` proposed by the person themself, and the type they gave."""
    now, text = datetime.now(UTC), clean(text)
    principal = Principal(tenant_id=new_id(), subject_id=new_id(), roles=frozenset({Role.USER}))
    kind = proposals.type_of(text)
    candidate = proposals.proposal(
        principal,
        text,
        kind,
        importance=0.6,
        source=SourceKind.SELF,
        conversation_id=None,
        evidence=(),
        expires_at=None,
        now=now,
    )
    context = PolicyContext(writer=Writer(subject_id=principal.subject_id), now=now)
    return decided(candidate, context), kind


def sentences(text: str) -> list[str]:
    """The sentences of ``text``; what stands beside a semicolon is one with its neighbour, as the policy has it."""
    found: list[str] = []
    joins = False
    for part in split(text):
        said = part.text + part.mark * (not part.text.endswith(part.mark))
        found = [*found[:-1], f"{found[-1]} {said}"] if joins else [*found, said]
        joins = part.mark == ";"
    return found


def result(row: Row) -> Result:
    """``row`` through both doors."""
    whole, _ = proposed(row.text)
    parts = [proposed(part) for part in sentences(row.text)]
    if row.label in HOSTILE or not parts:
        parts = [proposed(row.text)]
    said = kept(row.text)
    found = screen([row.text], language=language_of(row.text))
    return Result(
        row=row,
        accepted=all(decision.outcome is Outcome.ACCEPT for decision, _ in parts),
        whole=whole.outcome is Outcome.ACCEPT,
        turn=bool(said),
        preferred=all(kind is MemoryType.PREFERENCE for _, kind in parts),
        reasons=tuple(
            dict.fromkeys(
                reason for decision, _ in parts if decision.outcome is not Outcome.ACCEPT for reason in decision.reasons
            )
        ),
        detectors=tuple(finding.detector for finding in found),
    )


def _share(count: int, of: int) -> str:
    return f"{count}/{of} ({count / of:.1%})" if of else "0/0"


def _group(name: str, results: list[Result]) -> None:
    refused = [each for each in results if not each.accepted]
    hostile = sum(bool(SECURITY_REASONS & set(each.reasons)) for each in refused)
    turns = sum(each.turn for each in results)
    whole = sum(each.whole for each in results)
    print(
        f"  {name:<40} self {_share(len(results) - len(refused), len(results))}, whole {whole}, turn {turns}; "
        f"refused as hostile {hostile}"
    )
    if refused:
        print(
            "      reasons  ", dict(Counter(reason.value for each in refused for reason in each.reasons).most_common())
        )
        print("      detectors", dict(Counter(name for each in refused for name in each.detectors).most_common()))


def report(results: list[Result]) -> None:
    """Print acceptance by half, label and class, then by language."""
    for seen in (True, False):
        print("seen" if seen else "set aside")
        half = [each for each in results if each.row.seen is seen]
        for label in sorted({each.row.label for each in half}):
            of_label = [each for each in half if each.row.label == label]
            never = [each for each in of_label if each.row.kind not in {"none", "unclear"}]
            unclear = [each for each in of_label if each.row.kind == "unclear"]
            rest = [each for each in of_label if each.row.kind == "none"]
            _group(label, rest)
            if never:
                _group(f"{label}, never stored", never)
                for kind in sorted({each.row.kind for each in never}):
                    of_kind = [each for each in never if each.row.kind == kind]
                    taken = sum(each.accepted for each in of_kind)
                    turn = sum(each.turn for each in of_kind)
                    print(f"      {kind:<20} accepted {_share(taken, len(of_kind))}, as a turn {turn}")
            if unclear:
                _group(f"{label}, unclear", unclear)
            for lang in sorted({each.row.lang for each in rest}):
                of_lang = [each for each in rest if each.row.lang == lang]
                print(f"      {lang:<6} accepted {_share(sum(each.accepted for each in of_lang), len(of_lang))}")
            if label == "standing preference":
                right = sum(each.accepted and each.preferred for each in of_label)
                print(f"      accepted as preferences {_share(right, len(of_label))}")


def _show(results: list[Result], label: str) -> None:
    for each in results:
        row = each.row
        if not row.seen or row.label != label or row.kind == "unclear":
            continue
        wanted = row.kind == "none" and label not in HOSTILE
        if each.accepted != wanted or (label in HOSTILE and (each.turn or each.whole)):
            print(row.kind, [reason.value for reason in each.reasons], list(each.detectors), "|", row.text[:300])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--preferences", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--show", default="")
    given = parser.parse_args()
    everything = list(rows(given.texts, given.labels))
    if given.preferences:
        everything += rows(given.preferences, None)
    measured = [result(row) for row in everything]
    report(measured)
    if given.show:
        _show(measured, given.show)
