"""What the metastore's database costs: MariaDB and NDB Cluster in one run. `make bench-database` runs it.

It starts servers of its own in a temporary directory, with the settings of the roles: both databases, HDFS, metastores, two
HiveServer2s. No lab is needed. Databases take turns, since machines are noisy. Prints a table, writes build/bench/database.json
and docs/bench-database.svg; exit code 1 if a target is missed.
HOPSHIVE_NDB_TARBALL names the tarball of NDB Cluster (docs/ndb.md).
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.bench import calls, chart, plans
from tests.bench.measurement import Measurement, show
from tests.bench.report import add
from tests.bench.rig import open_rig
from tests.bench.sites import start_mariadb, start_ndb
from tests.bench.tpcds import DAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.rig import Rig
    from tests.bench.sites import Site

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "build" / "bench" / "database.json"
CHART = ROOT / "docs" / "bench-database.svg"


@click.command(help=__doc__)
@click.option("--only", "names", type=click.Choice(["plans", "calls"]), multiple=True, help="Only some of it.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Fewer rounds, for trying.")
@click.option("--days", type=click.IntRange(min=7), default=DAYS, help="Partitions of each table of sales, for trying.")
@click.option(
    "--directory", type=click.Path(path_type=Path), help="For servers and logs; kept. Default: a temporary one."
)
def main(names: tuple[str, ...], scale: float, days: int, directory: Path | None) -> None:
    """Measure, print, write and draw; exit 1 if a target is missed."""
    found: list[Measurement] = []
    with open_rig(directory) as rig:
        sites = [start_mariadb(rig), start_ndb(rig)]
        rows: dict[str, Callable[[Rig, list[Site]], list[Measurement]]] = {
            "plans": lambda rig, sites: plans.measure(rig, sites, days, scale),
            "calls": lambda rig, sites: calls.measure(rig, sites, scale),
        }
        for name in names or rows:
            began = time.monotonic()
            measurements = [replace(one, value=float(f"{one.value:.4g}")) for one in rows[name](rig, sites)]
            show(f"{name}, measured in {time.monotonic() - began:.0f} s", measurements)
            found += measurements
            if scale == 1 and days == DAYS:  # other sizes prove nothing
                add(RESULT, name, measurements)
                chart.draw(RESULT, CHART)
    if not all(one.ok for one in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
