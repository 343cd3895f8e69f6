"""How well the metastore follows the file system, and what that costs. `make bench-consistency` runs it.

It starts servers of its own in a temporary directory (MariaDB, HDFS, metastores, a HiveServer2, the daemon); no lab is needed.
What is compared is measured in turns, in one run, since machines are noisy. Prints a table, writes
build/bench/consistency.json; exit code 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.bench import collection, comparison, deletions, operations, repair, restoring, stream
from tests.bench.measurement import Measurement, show
from tests.bench.report import add
from tests.bench.rig import open_rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.rig import Rig

RESULT = Path(__file__).parents[2] / "build" / "bench" / "consistency.json"

ROWS: dict[str, Callable[[Rig, float], list[Measurement]]] = {
    "deletions": deletions.measure,
    "repair": repair.measure,
    "operations": operations.measure,
    "events": stream.measure,
    "comparison": comparison.measure,
    "garbage": collection.measure,
    "restore": restoring.measure,
}


@click.command(help=__doc__)
@click.option("--only", "names", type=click.Choice(list(ROWS)), multiple=True, help="Only some of it.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Smaller sizes, for trying.")
@click.option(
    "--directory", type=click.Path(path_type=Path), help="For servers and logs; kept. Default: a temporary one."
)
def main(names: tuple[str, ...], scale: float, directory: Path | None) -> None:
    """Measure, print and write; exit 1 if a target is missed."""
    found: list[Measurement] = []
    with open_rig(directory) as rig:
        for name in names or ROWS:
            began = time.monotonic()
            measurements = [replace(one, value=float(f"{one.value:.4g}")) for one in ROWS[name](rig, scale)]
            show(f"{name}, measured in {time.monotonic() - began:.0f} s", measurements)
            found += measurements
            if scale == 1:  # other sizes prove nothing
                add(RESULT, name, measurements)
    if len(names) != 1:
        show("Consistency", found)
    if not all(one.ok for one in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
