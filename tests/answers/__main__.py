"""`python -m tests.answers --seed 7 --count 200`: a running warehouse against DuckDB. See docs/development.md."""

from __future__ import annotations

import random
import signal
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import click

from tests.answers import tpcds
from tests.answers.engines import make_tables
from tests.answers.generate import FEATURES
from tests.answers.local import local_server
from tests.answers.outcome import GUARD, KNOWN, UNREAD, askers
from tests.answers.run import Run
from tests.warehouse import Warehouse
from tests.warehouse.hiveserver2 import PORT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.answers.outcome import Tally
    from tests.answers.statements import Dialect

# More statements without an answer than this share of an engine's are a fault of the generator or of the guard.
MOST_REFUSED = 0.1


@click.command()
@click.option(
    "--seed",
    "seeds",
    type=int,
    multiple=True,
    help="Of the random statements, several times for several runs; drawn and printed if it is not given.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="How many random statements of each seed.",
)
@click.option(
    "--statement", "chosen", type=int, multiple=True, help="Only the statement of this number, several times."
)
@click.option("--only", type=click.Choice(["random", "tpcds"]), default=None, help="One of the two parts.")
@click.option(
    "--query", "queries", type=click.IntRange(1, 99), multiple=True, help="Only this query of TPC-DS, several times."
)
@click.option("--short", is_flag=True, help="Twenty queries of TPC-DS, those with most vertices among them.")
@click.option("--without", default="", help=f"Features that no statement has: {', '.join(sorted(FEATURES))}.")
@click.option("--set", "given", multiple=True, help="A setting of Hive for all statements, name=value, several times.")
@click.option("--label", default="lab", show_default=True, help="The lab's label.")
@click.option("--prefix", default="answers", show_default=True, help="Of the databases; keep nothing else under it.")
@click.option(
    "--local",
    is_flag=True,
    help="Ask a HiveServer2 of its own, which is started beside the lab's with the same configuration and runs the tasks of"
    " Tez itself.",
)
@click.option("--sessions", type=int, default=None, help="Sessions of HiveServer2 at a time; 2, with --local always 1.")
@click.option("--reduce/--no-reduce", default=True, help="Whether statements that differ are made smaller.")
def main(
    seeds: tuple[int, ...],
    count: int,
    chosen: tuple[int, ...],
    only: str | None,
    queries: tuple[int, ...],
    short: bool,
    without: str,
    given: tuple[str, ...],
    label: str,
    prefix: str,
    local: bool,
    sessions: int | None,
    reduce: bool,
) -> None:
    """Run, print what differs and a summary; end with 1 if an answer is wrong or too many are missing."""
    seeds = seeds or (random.SystemRandom().randrange(1_000_000),)
    if local and sessions not in (None, 1):
        raise click.BadParameter("statements disturb each other within one process", param_hint="--sessions")
    left_out = frozenset(filter(None, without.split(",")))
    if unknown := left_out - FEATURES:
        raise click.BadParameter(
            f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(FEATURES))}", param_hint="--without"
        )
    settings = dict(one.split("=", 1) for one in given)
    bad = False
    # A signal to end ends the HiveServer2 too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with ExitStack() as stack:
        warehouse = stack.enter_context(Warehouse.find(label))
        lab = warehouse.lab
        # The lab's own HiveServer2 makes the tables of random statements: another one starts, or is asked the queries of
        # TPC-DS, meanwhile.
        pool = stack.enter_context(askers(2))
        making = pool.submit(_rows, label, f"{prefix}_rows") if only != "tpcds" else None
        writing = pool.submit(_files, label, f"{prefix}_tpcds") if only != "random" else None
        server = stack.enter_context(local_server(lab)) if local else (lab.one("server2").address, PORT)
        if writing:
            numbers = queries or (tpcds.SHORT if short else ())
            bad |= _tpcds(warehouse, server, f"{prefix}_tpcds", writing.result(), numbers, settings)
        if making:
            click.echo(f"the tables of {prefix}_rows: {making.result():.0f} s")
            for seed in seeds:
                click.echo(f"seed {seed}, {len(chosen) or count} statements")
                begin = time.monotonic()
                run = Run(
                    warehouse,
                    server,
                    f"{prefix}_rows",
                    seed,
                    without=left_out,
                    settings=settings,
                    sessions=sessions or (1 if local else 2),
                    reduce=reduce,
                    say=click.echo,
                )
                with closing(run):
                    run.do(chosen or range(count))
                click.echo(f"seed {seed}: {time.monotonic() - begin:.0f} s")
                bad |= summary(run.tallies, run.different, KNOWN)
    sys.exit(bad)


def _rows(label: str, database: str) -> float:
    """Make the tables of random statements; the seconds that it took."""
    begin = time.monotonic()
    with Warehouse.find(label) as warehouse:
        make_tables(warehouse, database, click.echo)
    return time.monotonic() - begin


def _files(label: str, database: str) -> tpcds.Reference:
    """DuckDB with the tables of TPC-DS, whose files lie on HDFS."""
    reference = tpcds.Reference()
    with Warehouse.find(label) as warehouse:
        tpcds.write_files(warehouse, database, reference, click.echo)
    return reference


def _tpcds(
    warehouse: Warehouse,
    server: tuple[str, int],
    database: str,
    reference: tpcds.Reference,
    queries: Sequence[int],
    settings: Mapping[str, str],
) -> bool:
    """All queries or some; whether something is wrong."""
    begin = time.monotonic()
    tpcds.make_tables(warehouse, server, database, reference)
    made = time.monotonic() - begin
    run = tpcds.Run(warehouse, server, database, reference, settings, click.echo)
    with closing(run):
        run.do(queries or run.numbers)
    click.echo(f"TPC-DS: {time.monotonic() - begin:.0f} s, {made:.0f} s of them for the tables")
    return summary(run.tallies, run.different)


def summary(
    tallies: Mapping[Dialect, Tally], different: Sequence[int], known: Mapping[Dialect, Sequence[str]] | None = None
) -> bool:
    """Print a table by engine; whether something is wrong: an answer, or a refusal.

    `known`: what may be refused, by words of the reason; then the guard may refuse too, but not for an error of its own.
    Without it nothing may be refused.
    """
    heads = ("asked", "equal", "late", "guarded", "refused", "lost", "different", "seconds")
    click.echo(f"{'engine':8}" + "".join(f"{head:>10}" for head in heads))
    bad = bool(different)
    for engine, one in tallies.items():
        counts = (
            one.asked,
            one.equal,
            one.late,
            one.guarded,
            one.refusals,
            one.lost,
            one.different,
            round(one.seconds),
        )
        click.echo(f"{engine:8}" + "".join(f"{count:10}" for count in counts))
        bad |= one.lost > 0 or sum(one.refused.values()) > max(2, MOST_REFUSED * one.asked)
    for engine, one in tallies.items():
        may = () if known is None else (GUARD, *known.get(engine, ()))
        for why, count in one.refused.most_common():
            fault = UNREAD in why or not any(words in why for words in may)
            bad |= fault
            click.echo(f"{engine} refused {count}{', which is a fault' if fault else ''}: {why}")
    if different:
        click.echo(f"different: {', '.join(map(str, different))}")
    return bad


if __name__ == "__main__":
    main()
