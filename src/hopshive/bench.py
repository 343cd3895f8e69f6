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
    """One line of a benchmark. `target` is the largest value that is well; None where nothing was promised."""

    what: str
    value: float
    unit: str
    target: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the value keeps the target."""
        return self.target is None or self.value <= self.target


def write(measurements: Sequence[Measurement], path: Path) -> None:
    """Write the measurements as JSON: a list of what, value, unit, target and ok."""
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
            "" if measurement.target is None else f"<= {measurement.target:g}",
            "yes" if measurement.ok else "NO",
        )
    (console or Console()).print(table)
