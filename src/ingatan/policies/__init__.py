"""The policy documents that ship: one file a profile, loaded by name. ``memories/policy_document.py`` defines them."""

from __future__ import annotations

from importlib import resources

PROFILES = ("assistant", "governed")


def source(name: str) -> str:
    """The YAML text of a profile. Raises KeyError for a name that is none of PROFILES."""
    if name not in PROFILES:
        raise KeyError(name)
    return resources.files("ingatan.policies").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
