"""`python -m tests.answers.cost`: what the settings for right answers cost, measured with the queries of TPC-DS."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from tests.answers import tpcds
from tests.answers.engines import PATIENT, Hive
from tests.answers.local import local_server
from tests.answers.outcome import Refused
from tests.answers.statements import HIVE
from tests.bench.report import with_section
from tests.warehouse import Warehouse
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What upstream has in place of the role's settings that docs/answers.md names, but for the cache of results.
UPSTREAM = {
    "hive.optimize.topnkey": "true",
    "hive.auto.convert.anti.join": "true",
    "hive.vectorized.complex.types.enabled": "true",
    "hive.vectorized.execution.ptf.enabled": "true",
    "hive.vectorized.input.format.supports.enabled": "decimal_64",
    "hive.vectorized.reuse.scratch.columns": "true",
    "hive.semantic.analyzer.hook": "",
    "hive.exec.pre.hooks": "",
}
PAGE = ROOT / "docs" / "answers.md"
HEADING = "## What the settings cost"
RESULT = ROOT / "build" / "bench" / "answers-cost.json"
# Queries in a row of the table.
WIDTH = 3
# A query that loses or gains less is not named beside the table.
NOTABLE = 1.25
# Runs more of one that loses or gains as much, each way.
MORE = 6


@click.command()
@click.option("--label", default="lab", show_default=True, help="The lab's label.")
@click.option("--prefix", default="answers", show_default=True, help="Of the database, as `make answers` has it.")
@click.option("--rounds", default=2, show_default=True, help="Runs of each query each way; the fastest counts.")
@click.option("--query", "queries", type=click.IntRange(1, 99), multiple=True, help="Only this query, several times.")
@click.option("--docs/--no-docs", default=False, help="Write the table into docs/answers.md.")
def main(label: str, prefix: str, rounds: int, queries: tuple[int, ...], docs: bool) -> None:
    """Ask a HiveServer2 beside a lab's own each query both ways, in turns; once before it counts."""
    found: dict[int, tuple[float, float]] = {}
    failed: dict[int, str] = {}
    with Warehouse.find(label) as warehouse, local_server(warehouse.lab) as server:
        reference = tpcds.Reference()
        tpcds.write_files(warehouse, f"{prefix}_tpcds", reference, click.echo)
        tpcds.make_tables(warehouse, server, f"{prefix}_tpcds", reference)
        with closing(Hive(server, f"{prefix}_tpcds", {}, PATIENT)) as hive:
            for number in queries or tuple(reference.queries):
                try:
                    found[number] = measured(hive, tpcds.translated(reference.queries[number], HIVE), rounds)
                except Refused as error:
                    failed[number] = error.reason
                    click.echo(f"query {number}: {error.reason}")
                else:
                    click.echo(line(number, found[number]))
            # A query takes a second or two: a moment in which the machine is busy is a factor of two.
            for number in [number for number, seconds in found.items() if notable(seconds)]:
                more = measured(hive, tpcds.translated(reference.queries[number], HIVE), MORE)
                found[number] = (min(found[number][0], more[0]), min(found[number][1], more[1]))
                click.echo(line(number, found[number]))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"seconds": found, "failed": failed}, indent=2) + "\n")
    text = section(found, failed)
    click.echo(text)
    if docs:
        PAGE.write_text(with_section(PAGE.read_text(), HEADING, text))


def line(number: int, seconds: tuple[float, float]) -> str:
    return f"query {number}: {seconds[0]:.2f} s, with upstream's settings {seconds[1]:.2f} s"


def notable(seconds: tuple[float, float]) -> bool:
    return not 1 / NOTABLE < seconds[0] / seconds[1] < NOTABLE


def measured(hive: Hive, sql: str, rounds: int) -> tuple[float, float]:
    """Seconds of a query with our settings, and with upstream's. Raises Refused."""
    ways: Sequence[Mapping[str, str]] = ({}, UPSTREAM)
    seconds: list[list[float]] = [[], []]
    for turn in range(rounds + 1):
        for way in (0, 1) if turn % 2 else (1, 0):
            # What changes the settings is not counted.
            hive.run("SET hive.execution.engine", ways[way])
            begin = time.monotonic()
            hive.run(sql, ways[way])
            if turn:
                seconds[way].append(time.monotonic() - begin)
    return min(seconds[0]), min(seconds[1])


def section(found: Mapping[int, tuple[float, float]], failed: Mapping[int, str]) -> str:
    """The text below the heading, in Markdown."""
    ours, theirs = (sum(one[way] for one in found.values()) for way in (0, 1))
    named = [
        f"query {number} {one[0] / one[1]:.2f} times as long"
        for number, one in sorted(found.items(), key=lambda item: item[1][1] / item[1][0])
        if notable(one)
    ]
    lines = [
        f"`make bench-answers` asks the queries of TPC-DS (scale {tpcds.SCALE:g}) with the settings and the guard, and with",
        "upstream's values, in turns. One HiveServer2 plans the queries and runs their tasks in its own process.",
        f"All together take {ours:.0f} s with the settings and {theirs:.0f} s with upstream's values:",
        f"{ours / theirs:.2f} times as long.",
        "The fastest run counts. A query that seems to differ by a factor of",
        f"{NOTABLE:g} is asked {MORE} times more each way.",
        f"Beyond that factor: {', '.join(named) or 'none'}.",
        *(f"Not measured: query {number}, {why}." for number, why in failed.items()),
        "",
        "|" + " query | ours, s | upstream, s |" * WIDTH,
        "|" + "---:|---:|---:|" * WIDTH,
    ]
    cells = [f" {number} | {one[0]:.2f} | {one[1]:.2f} |" for number, one in found.items()]
    height = -(-len(cells) // WIDTH)
    for row in range(height):
        mine = cells[row::height]
        lines.append("|" + "".join(mine) + " | | |" * (WIDTH - len(mine)))
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    main()
