"""Prompts: one file a prompt, with its name and version in front, loaded by name and filled in place by place.

A changed wording is a new version: what a model was told when it proposed something can be read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A text with places to fill in. ``version`` grows by one with each change of wording."""

    name: str
    version: int
    text: str

    def filled(self, **values: object) -> str:
        """The text with every place filled. A missing value is a KeyError, so none is forgotten."""
        return Template(self.text).substitute({name: str(value) for name, value in values.items()})


@cache
def load(name: str) -> Prompt:
    """The prompt ``name`` from ``name.md``. Its head holds ``name`` and ``version``, its body is the text."""
    source = resources.files("ingatan.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
    _, head, text = source.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    if fields["name"] != name:
        raise ValueError(f"{name}.md calls itself {fields['name']}.")
    return Prompt(name=name, version=int(fields["version"]), text=text.strip())
