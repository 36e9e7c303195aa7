"""The report: totals by suite, language and kind, and every case that went wrong; as JSON and as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ingatan_evals.cases import Suite
from ingatan_evals.runner import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: how many of ``total`` cases went as expected."""

    name: str
    passed: int
    total: int

    @property
    def share(self) -> float:
        """In [0, 1]; 1 where there is no case."""
        return self.passed / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results with what they were made with: the version, extractor, embedder and ranking in force."""

    results: Sequence[Result]
    made_with: dict[str, str]

    def rows(self, key: Callable[[Result], str]) -> list[Row]:
        """Totals by ``key``, in order of its values."""
        groups: dict[str, list[Result]] = {}
        for result in self.results:
            groups.setdefault(key(result), []).append(result)
        return [
            Row(name=name, passed=sum(each.passed for each in group), total=len(group))
            for name, group in sorted(groups.items())
        ]

    @property
    def passed(self) -> int:
        """How many cases went as expected."""
        return sum(result.passed for result in self.results)

    @property
    def kept_wrongly(self) -> int:
        """Cases of must_not_write after which something was remembered that may not be: the number that must be 0."""
        return sum(result.case.suite is Suite.MUST_NOT_WRITE and bool(result.memories) for result in self.results)

    @property
    def tables(self) -> dict[str, list[Row]]:
        """The tables of the report."""
        return {
            "suite": self.rows(lambda result: result.case.suite.value),
            "suite and language": self.rows(lambda result: f"{result.case.suite.value} · {result.case.language}"),
            "suite and kind": self.rows(lambda result: f"{result.case.suite.value} · {result.case.kind}"),
        }

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "made_with": self.made_with,
            "passed": self.passed,
            "total": len(self.results),
            "kept_wrongly": self.kept_wrongly,
            "tables": {
                name: [{"name": row.name, "passed": row.passed, "total": row.total} for row in rows]
                for name, rows in self.tables.items()
            },
            "cases": [
                {
                    "id": result.case.id,
                    "passed": result.passed,
                    "faults": list(result.faults),
                    "memories": list(result.memories),
                    "reasons": list(result.reasons),
                    "milliseconds": round(result.milliseconds, 1),
                }
                for result in self.results
            ],
        }

    def as_text(self) -> str:
        """``as_json`` as indented text."""
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"

    def as_html(self) -> str:
        """One page without scripts or anything from elsewhere."""
        pages = Environment(
            loader=PackageLoader("ingatan_evals", "."), autoescape=select_autoescape(), undefined=StrictUndefined
        )
        return pages.get_template("report.html").render(
            report=self, failed=[result for result in self.results if not result.passed]
        )
