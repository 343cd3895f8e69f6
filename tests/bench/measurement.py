"""What every benchmark has in common: its result, the table that it prints and the file that it writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Measurement:
    """One line of a benchmark. `target` is the largest value that is well, or with `at_least` the smallest; None: no promise."""

    what: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    @property
    def ok(self) -> bool:
        """Whether the value keeps the target."""
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def promise(self) -> str:
        """The target as it is shown: `<= 5`, `>= 20`, or nothing."""
        if self.target is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {self.target:g}"


def write(measurements: Sequence[Measurement], path: Path) -> None:
    """Write the measurements as JSON: a list of what, value, unit, target, at_least and ok."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(measurement) | {"ok": measurement.ok} for measurement in measurements]
    path.write_text(json.dumps(rows, indent=2) + "\n")


def show(title: str, measurements: Sequence[Measurement], console: Console | None = None) -> None:
    """Print the measurements as a table."""
    table = Table(title=title)
    for heading in ("what", "value", "unit", "target", "ok"):
        table.add_column(heading, justify="right" if heading in ("value", "target") else "left")
    for measurement in measurements:
        table.add_row(
            measurement.what,
            f"{measurement.value:g}",
            measurement.unit,
            measurement.promise,
            "yes" if measurement.ok else "NO",
        )
    (console or Console()).print(table)
