"""What a figure is, when two of them agree, and how the result is shown.

A figure is one value, or a table of groups: `{key: (value, ...)}`. Nothing here knows where a figure comes from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = int | float | str | None
Groups: TypeAlias = Mapping[str, Sequence[Value]]
Figure: TypeAlias = Value | Groups

TOLERANCE = 1e-9
"""Relative difference that two floating point figures may have: sums of doubles depend on the order of their rows."""


@dataclass(frozen=True)
class Check:
    """One figure, as pandas computed it from the source file and as the warehouse answered it."""

    name: str
    expected: Figure
    actual: Figure

    @property
    def ok(self) -> bool:
        return agree(self.expected, self.actual)


@dataclass
class Stage:
    """One part of the run: rows it wrote or read, and seconds of wall time."""

    name: str
    rows: int = 0
    seconds: float = 0.0
    checks: list[Check] = field(default_factory=list)


def agree(expected: Figure, actual: Figure) -> bool:
    """True when both are the same; only where both are floating point within TOLERANCE."""
    if isinstance(expected, Mapping) or isinstance(actual, Mapping):
        if not (isinstance(expected, Mapping) and isinstance(actual, Mapping)):
            return False
        return not differing_keys(expected, actual)
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=TOLERANCE)
    return type(expected) is type(actual) and expected == actual


def differing_keys(expected: Groups, actual: Groups) -> list[str]:
    """Keys that only one of two tables has, or whose rows differ, in order."""
    return sorted(
        key
        for key in expected.keys() | actual.keys()
        if key not in expected or key not in actual or not _rows_agree(expected[key], actual[key])
    )


def _rows_agree(expected: Sequence[Value], actual: Sequence[Value]) -> bool:
    return len(expected) == len(actual) and all(map(agree, expected, actual))


def first_difference(stages: Iterable[Stage]) -> Check | None:
    """The first check that failed, in the order of the run."""
    return next((check for stage in stages for check in stage.checks if not check.ok), None)


def explain(check: Check, limit: int = 3) -> str:
    """A sentence on a failed check: what differs, for a table its first keys."""
    expected, actual = check.expected, check.actual
    if not (isinstance(expected, Mapping) and isinstance(actual, Mapping)):
        return f"{check.name}: expected {show(expected)}, actual {show(actual)}"
    keys = differing_keys(expected, actual)
    parts = [
        f"{key} expected {_show_row(expected.get(key))}, actual {_show_row(actual.get(key))}" for key in keys[:limit]
    ]
    more = f"; and {len(keys) - limit} more" if len(keys) > limit else ""
    return f"{check.name}: {'; '.join(parts)}{more}"


def show(figure: Figure) -> str:
    """A figure in few characters; a table as its number of groups and the sum of its first column."""
    if isinstance(figure, Mapping):
        first = [row[0] for row in figure.values() if row and isinstance(row[0], int)]
        return f"{len(figure)} groups" + (f", {sum(first):,} in all" if first else "")
    if figure is None:
        return "null"
    if isinstance(figure, int):
        return f"{figure:,}"
    if isinstance(figure, float):
        return f"{figure:,.6f}"
    return figure


def _cell(figure: Figure, width: int = 40) -> str:
    text = show(figure).partition("\n")[0]
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _show_row(row: Sequence[Value] | None) -> str:
    return "nothing" if row is None else "(" + ", ".join(map(show, row)) + ")"


def render(stages: Sequence[Stage]) -> str:
    """The result as text: every check, then rows, checks and seconds per stage."""
    checks = [
        (check.name, _cell(check.expected), _cell(check.actual), "ok" if check.ok else "DIFFERS")
        for stage in stages
        for check in stage.checks
    ]
    failed = sum(1 for stage in stages for check in stage.checks if not check.ok)
    totals = [(stage.name, f"{stage.rows:,}", str(len(stage.checks)), f"{stage.seconds:.1f}") for stage in stages]
    totals.append(
        ("all", f"{sum(s.rows for s in stages):,}", str(len(checks)), f"{sum(s.seconds for s in stages):.1f}")
    )
    blocks = [
        _table(("check", "expected", "actual", ""), checks, right=(1, 2)),
        _table(("stage", "rows", "checks", "seconds"), totals, right=(1, 2, 3)),
        f"{len(checks) - failed} checks ok, {failed} differ",
    ]
    return "\n\n".join(blocks)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def write_json(path: Path, stages: Sequence[Stage]) -> None:
    """Write the result for programs: `checks`, `seconds` in all, and the same by stage."""
    document = {
        "checks": [
            {"name": check.name, "expected": check.expected, "actual": check.actual, "ok": check.ok}
            for stage in stages
            for check in stage.checks
        ],
        "seconds": round(sum(stage.seconds for stage in stages), 1),
        "stages": [
            {"name": stage.name, "rows": stage.rows, "checks": len(stage.checks), "seconds": round(stage.seconds, 1)}
            for stage in stages
        ],
        "tolerance": TOLERANCE,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
