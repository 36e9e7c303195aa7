"""Tests by their name, for tables that say which test shows what."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def defined(file: str) -> frozenset[str]:
    """The names of the tests that ``file`` (from the root) defines; nothing where there is no such file of tests."""
    path = ROOT / file
    if not path.is_file() or not path.name.startswith("test_"):
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def exists(name: str) -> bool:
    """Whether ``tests/file.py::test_name`` is defined."""
    file, _, function = name.partition("::")
    return function in defined(file)
