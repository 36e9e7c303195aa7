"""Replay what real model extractors once answered, as replies to ours, through ModelExtractor and the policy.

Usage: ``python -m bench.replies RECORDED_EXTRACTIONS [--locomo FILE] [--fewshots FILE] [--memtrust DIRECTORY]``

None of the recordings is in our format, so each is mapped, and the figures say as much about the mapping as about the
extractor. A recorded fact becomes an ``add`` of that text. Where the recording names the message (Graphiti, the
few-shots), the whole message is the quote; where it names none (mem0 and ChatGPT on LoCoMo), the turn of that speaker
(in mem0's case of that session) that shares most words with the fact stands in; a fact that shares none is left out.
The cap on additions is lifted, because theirs had none; how many replies it would have refused is counted.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.outcomes import Outcomes, run, turn
from ingatan.llm import ChatRequest
from ingatan.memories.extraction import ExtractionLimits
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.memories.support import content
from ingatan.types import MessageRole, Turn, new_id

UNCAPPED = ExtractionLimits(additions=1_000, active=10_000)
CAP = ExtractionLimits().additions


class Recorded:
    """A model that answers with what was recorded. Set ``facts`` before each question."""

    name = "recorded"
    facts: Sequence[str] = ()

    def answer(self, request: ChatRequest) -> str:
        """One ``add`` a fact, on the strength of the whole last turn."""
        label, said = re.findall(r"^(T\d+) \([^)]*\): (\".*\")$", request.user, re.MULTILINE)[-1]
        evidence = [{"turn": label, "quote": json.loads(said)[:4_000]}]
        added = [{"operation": "add", "text": fact, "importance": 0.6, "evidence": evidence} for fact in self.facts]
        return json.dumps({"operations": added})


def replay(said: Iterable[tuple[str, MessageRole, Sequence[str]]]) -> tuple[Outcomes, int, int]:
    """Replay messages with the facts recorded of each: outcomes, messages not shown to the model, replies over CAP."""
    model, outcomes, unshown, over = Recorded(), Outcomes(), 0, 0
    extractor = ModelExtractor(model, timeout_seconds=60, output_tokens=2_000)
    for text, role, facts in said:
        if role is not MessageRole.USER:
            unshown += 1
            continue
        model.facts = facts
        over += len(facts) > CAP
        subject = new_id()
        spoken: Turn = turn(text[:2_000], 1, subject, role=role)
        run(extractor, [spoken], subject, outcomes, limits=UNCAPPED)
    return outcomes, unshown, over


def graphiti(file: Path) -> Iterable[tuple[str, MessageRole, list[str]]]:
    """Each recorded message with the facts on its edges."""
    for episodes in json.loads(file.read_text(encoding="utf-8")).values():
        for each in episodes:
            role, _, text = each["episode"]["content"].partition(": ")
            yield text, MessageRole(role), [edge["fact"] for edge in each["edges"]]


def nearest(fact: str, lines: Sequence[str]) -> str | None:
    """The line that shares most content words with ``fact``, or None if none shares any."""
    wanted = set(content(fact))
    best = max(lines, key=lambda line: len(wanted & set(content(line))), default=None)
    return best if best is not None and wanted & set(content(best)) else None


def spoken(conversation: dict[str, Any], speaker: str, at: str | None = None) -> list[str]:
    """What ``speaker`` said in all sessions, or in the one that began ``at``."""
    sessions = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    return [
        line["text"]
        for name in sessions
        if at is None or conversation.get(f"{name}_date_time") == at
        for line in conversation[name]
        if line["speaker"] == speaker
    ]


def grouped(facts: Iterable[tuple[str, str | None]]) -> list[tuple[str, MessageRole, list[str]]]:
    """Facts under the line that stands in for their source; those without one are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for fact, line in facts:
        if line is not None:
            found[line].append(fact)
    return [(line, MessageRole.USER, given) for line, given in found.items()]


def mem0(file: Path, conversation: dict[str, Any]) -> list[tuple[str, MessageRole, list[str]]]:
    """The memories of both speakers that any of the recorded answers retrieved."""
    answers = json.loads(file.read_text(encoding="utf-8"))["0"]
    facts: list[tuple[str, str | None]] = []
    for field, speaker in (
        ("speaker_1_memories", conversation["speaker_a"]),
        ("speaker_2_memories", conversation["speaker_b"]),
    ):
        known = {(memory["memory"], memory["timestamp"]) for answer in answers for memory in answer[field]}
        facts += [(text, nearest(text, spoken(conversation, speaker, at))) for text, at in sorted(known)]
    return grouped(facts)


def chatgpt(file: Path, conversation: dict[str, Any]) -> list[tuple[str, MessageRole, list[str]]]:
    """Sentences that name one of the two speakers and not the other."""
    names = (conversation["speaker_a"], conversation["speaker_b"])
    facts: list[tuple[str, str | None]] = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", file.read_text(encoding="utf-8")):
        named = [name for name in names if name in sentence]
        if len(named) == 1:
            facts.append((sentence.strip(" -"), nearest(sentence, spoken(conversation, named[0]))))
    return grouped(facts)


def fewshots(file: Path) -> Iterable[tuple[str, MessageRole, list[str]]]:
    """The examples with messages; those that merge lists of memories have no words of a person to cite."""
    for line in file.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        if example["kind"].startswith("extract_user"):
            yield example["input"][0]["content"], MessageRole.USER, example["facts"]


def memtrust(directory: Path) -> Iterable[tuple[str, str, MessageRole, list[str]]]:
    """Content with whether it should be stored (as memtrust labels it), proposed verbatim."""
    cases = json.loads((directory / "extraction_quality_cases.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        label = "to be stored" if case["should_be_stored"] else "junk"
        yield label, case["content"], MessageRole.USER, [case["content"]]
    for case in json.loads((directory / "contradiction_cases.json").read_text(encoding="utf-8"))["cases"]:
        for name in ("initial_fact", "contradicting_fact"):
            yield name, case[name], MessageRole.USER, [case[name]]


def report(name: str, said: Iterable[tuple[str, MessageRole, Sequence[str]]]) -> None:
    """Replay and print one line."""
    outcomes, unshown, over = replay(said)
    print(f"{name}: {outcomes}; messages by others, not shown {unshown}; replies over the cap of {CAP}: {over}")


def main() -> None:
    """Replay whatever is given."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("recorded", type=Path)
    for name in ("locomo", "fewshots", "memtrust"):
        arguments.add_argument(f"--{name}", type=Path)
    given = arguments.parse_args()
    report("Graphiti on LongMemEval", graphiti(given.recorded / "graphiti" / "baseline_graph_results.json"))
    if given.locomo:
        conversations = [each["conversation"] for each in json.loads(given.locomo.read_text(encoding="utf-8"))]
        report("mem0 on LoCoMo 0", mem0(given.recorded / "mem0" / "mem0_results_top30_a.json", conversations[0]))
        files = sorted((given.recorded / "mem0").glob("openai_chatgpt_memories_conv*.txt"))
        pairs = list(zip(files, conversations, strict=False))
        report("ChatGPT on LoCoMo 0 to 4", [row for file, each in pairs for row in chatgpt(file, each)])
    if given.fewshots:
        report("mem0 few-shots", fewshots(given.fewshots))
    if given.memtrust:
        rows = list(memtrust(given.memtrust))
        for label in dict.fromkeys(row[0] for row in rows):
            report(f"memtrust, {label}", [row[1:] for row in rows if row[0] == label])


if __name__ == "__main__":
    main()
