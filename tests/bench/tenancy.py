"""What logins, projects and TLS cost. `make bench-tenancy` runs it beside a running lab of inventories/lab_tenancy.

What is compared is measured in turns, in one run, since machines are noisy. `deploy` needs no lab: it makes hosts of its own,
twice, and runs only when `--only deploy` names it. Writes build/bench/tenancy.json; exit code 1 if a target is missed.
"""

from __future__ import annotations

import json
import sys
import time
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
    from collections.abc import Callable, Iterator
    from typing import Any

RESULT = ROOT / "build" / "bench" / "tenancy.json"
PAGE = ROOT / "docs" / "tenancy.md"
HEADING = "## What it costs"
# Behind the name of a part that was measured with the compilers of production.
PRODUCTION = " with both compilers"
PARTS = ("logins", "sessions", "results", "deploy")


@click.command(help=__doc__)
@click.option("--label", default="tenancy", show_default=True, help="The lab's label.")
@click.option("--only", "names", type=click.Choice(PARTS), multiple=True, help="Only some of it.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Smaller sizes, for trying.")
@click.option(
    "--both-compilers", is_flag=True, help="With the JVM's compilers of production, and so without a gateway."
)
@click.option("--docs/--no-docs", default=False, help="Write what build/bench/tenancy.json has into docs/tenancy.md.")
def main(label: str, names: tuple[str, ...], scale: float, both_compilers: bool, docs: bool) -> None:
    """Measure, print and write."""
    found: list[Measurement] = []
    for name, measurements in _parts(label, names or PARTS[:-1], scale, both_compilers):
        found += measurements
        if scale == 1:  # Other sizes prove nothing.
            add(RESULT, name, measurements)
    if docs:
        PAGE.write_text(with_section(PAGE.read_text(), HEADING, section(json.loads(RESULT.read_text()))))
    if not all(one.ok for one in found):
        sys.exit(1)


def _parts(
    label: str, names: tuple[str, ...], scale: float, both_compilers: bool
) -> Iterator[tuple[str, list[Measurement]]]:
    """Each part as soon as it is measured."""
    if "logins" in names:
        yield _measured("logins", lambda: tenancy_logins.measure(PeopleLab.find(label), scale))
    if {"sessions", "results"} & set(names):
        people = PeopleLab.find(label)
        with pair(people, both_compilers=both_compilers), client(people, gateway=not both_compilers) as jdbc:
            production = PRODUCTION if both_compilers else ""
            if "sessions" in names:
                yield _measured(f"sessions{production}", lambda: measure_sessions(people, jdbc, scale))
            if "results" in names:
                yield _measured(f"results{production}", lambda: measure_results(jdbc, scale))
    if "deploy" in names:
        yield _measured("deploy", tenancy_deploy.measure)


def _measured(name: str, measure: Callable[[], list[Measurement]]) -> tuple[str, list[Measurement]]:
    began = time.monotonic()
    measurements = [replace(one, value=float(f"{one.value:.4g}")) for one in measure()]
    show(f"{name}, measured in {time.monotonic() - began:.0f} s", measurements)
    return name, measurements


def section(content: dict[str, Any]) -> str:
    """The text below the heading, in Markdown."""
    load = max(row["load"] for row in content.values())
    processors = max(row["processors"] for row in content.values())
    production = {name: row for name, row in content.items() if name.endswith(PRODUCTION)}
    others = {name: row for name, row in content.items() if name not in production}
    text = (
        f"`make bench-tenancy` measured these on a machine with {processors} processors, which all hosts of the lab and the\n"
        f"clients share. The load average was up to {load:g}. What is compared was measured in turns, within one run.\n"
        "Two HiveServer2s with the same JVM options run on one host for it: one as the lab's own, one without login,\n"
        "authorization and TLS, which also asks a metastore without them. Clients are Hive's JDBC driver in one JVM.\n"
    )
    if others:
        text += f"\n{table(others)}"
    if production:
        text += (
            "\nJVMs of a lab have one compiler, and take no instructions of the processor for AES. With both compilers, as in\n"
            f'production (`ARGS="--both-compilers"`):\n\n{table(production)}'
        )
    return f"{text}\n"


if __name__ == "__main__":
    main()
