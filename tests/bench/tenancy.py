"""What logins, projects and TLS cost. `make bench-tenancy` runs it beside a running lab of inventories/lab_tenancy.

What is compared is measured in turns, in one run, since machines are noisy. `deploy` needs no lab: it makes hosts of its own,
twice, and runs only when `--only deploy` names it. Writes build/bench/tenancy.json; exit code 1 if a target is missed.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tests.bench import tenancy_deploy, tenancy_logins
from tests.bench.measurement import Measurement, show
from tests.bench.report import add, table, with_section
from tests.bench.tenancy_servers import pair
from tests.bench.tenancy_sessions import client, measure_results, measure_sessions
from tests.warehouse.hosts import ROOT
from tests.warehouse.people import PeopleLab

if TYPE_CHECKING:
    from typing import Any

RESULT = ROOT / "build" / "bench" / "tenancy.json"
PAGE = ROOT / "docs" / "tenancy.md"
HEADING = "## What it costs"
PARTS = ("logins", "sessions", "results", "deploy")


@click.command(help=__doc__)
@click.option("--label", default="tenancy", show_default=True, help="The lab's label.")
@click.option("--only", "names", type=click.Choice(PARTS), multiple=True, help="Only some of it.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Smaller sizes, for trying.")
@click.option("--docs/--no-docs", default=False, help="Write what build/bench/tenancy.json has into docs/tenancy.md.")
def main(label: str, names: tuple[str, ...], scale: float, docs: bool) -> None:
    """Measure, print and write."""
    found: list[Measurement] = []
    for name, measurements in _parts(label, names or PARTS[:-1], scale):
        found += measurements
        if scale == 1:  # Other sizes prove nothing.
            add(RESULT, name, measurements)
    if docs:
        PAGE.write_text(with_section(PAGE.read_text(), HEADING, section(json.loads(RESULT.read_text()))))
    if not all(one.ok for one in found):
        sys.exit(1)


def _parts(label: str, names: tuple[str, ...], scale: float) -> list[tuple[str, list[Measurement]]]:
    found = []

    def measured(name: str, began: float, measurements: list[Measurement]) -> None:
        rounded = [replace(one, value=float(f"{one.value:.4g}")) for one in measurements]
        show(f"{name}, measured in {time.monotonic() - began:.0f} s", rounded)
        found.append((name, rounded))

    with ExitStack() as stack:
        people = PeopleLab.find(label)
        if "logins" in names:
            measured("logins", time.monotonic(), tenancy_logins.measure(people, scale))
        if {"sessions", "results"} & set(names):
            stack.enter_context(pair(people))
            jdbc = stack.enter_context(client(people))
            if "sessions" in names:
                measured("sessions", time.monotonic(), measure_sessions(people, jdbc, scale))
            if "results" in names:
                measured("results", time.monotonic(), measure_results(people, jdbc, scale))
    if "deploy" in names:
        measured("deploy", time.monotonic(), tenancy_deploy.measure())
    return found


def section(content: dict[str, Any]) -> str:
    """The text below the heading, in Markdown."""
    load = max(row["load"] for row in content.values())
    processors = max(row["processors"] for row in content.values())
    return (
        f"`make bench-tenancy` measured these on a machine with {processors} processors, which all hosts of the lab and the\n"
        f"clients share. The load average was up to {load:g}. What is compared was measured in turns, within one run.\n"
        "Two HiveServer2s with the same JVM options run on one host for it: one as the lab's own, one without login,\n"
        "authorization and TLS, which also asks a metastore without them. Clients are Hive's JDBC driver in one JVM.\n\n"
        f"{table(content)}\n"
    )


if __name__ == "__main__":
    main()
