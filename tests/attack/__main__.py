"""`python -m tests.attack --label tenancy`: try to get around logins and permissions of a running lab. See docs/security.md."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

# The order of the table.
from tests.attack import (  # noqa: F401 - each adds its attempts
    gateway,
    hosts,
    leaving,
    names,
    ports,
    projects,
    sessions,
    settings,
    statements,
    tables,
    tokens,
)
from tests.attack.attempt import CATALOGUE, Attempt, Mark, Result, code, judged, short, summary
from tests.attack.inventory import read_inventory
from tests.attack.site import Site
from tests.warehouse.hdfs import HdfsError
from tests.warehouse.hiveserver2 import HiveError
from tests.warehouse.hosts import CommandError, find_lab


@click.command()
@click.option("--label", default="tenancy", show_default=True, help="The lab's label.")
@click.option(
    "--only", multiple=True, help="Only attempts with this in their name or group. May be given several times."
)
@click.option("--quick", is_flag=True, help="Without those that take long.")
@click.option("--list", "listed", is_flag=True, help="Print what is tried, and end.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("build/attack.json"), show_default=True)
def main(label: str, only: tuple[str, ...], quick: bool, listed: bool, output: Path) -> None:
    """Make each attempt, print what came of it, and end with 1 if one was not held.

    What is documented as not protected is shown as such, and does not count.
    """
    chosen = choose(CATALOGUE, only, quick)
    if not chosen:
        click.echo(f"no attempt has {' or '.join(map(repr, only))} in its name", err=True)
        sys.exit(2)
    if listed:
        for one in chosen:
            click.echo(f"{one.group}: {one.name}: {one.sentence}")
        return
    lab = find_lab(label)
    site = Site(lab, read_inventory(lab))
    results: list[Result] = []
    try:
        try:
            site.prepare()
        except (HiveError, HdfsError, CommandError, OSError) as error:
            raise click.ClickException(
                f"LABEL={label}: the lab is not as it must be before attempts: {error}"
            ) from error
        for one in chosen:
            results.append(made(one, site))
            click.echo(f"{results[-1].mark.value}: {one.group}: {one.name} ({results[-1].seconds:.1f} s)", err=True)
    finally:
        site.close()
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = [one.row() for one in results]
    output.write_text(json.dumps({"label": label, "attempts": rows}, indent=2) + "\n")
    show(results)
    sys.exit(code(results))


def choose(catalogue: list[Attempt], only: tuple[str, ...], quick: bool) -> list[Attempt]:
    """Those that are asked for, in the order of the catalogue."""
    return [
        one
        for one in catalogue
        if not (quick and one.slow) and (not only or any(part in one.name or part in one.group for part in only))
    ]


def made(one: Attempt, site: Site) -> Result:
    """The result of an attempt, with its seconds."""
    began = time.monotonic()
    mark, answer = judged(one, site)
    return Result(one, mark, answer, time.monotonic() - began)


def show(results: list[Result]) -> None:
    """The table, what was not held in full, and the count."""
    table = Table("attempt", "what was answered", "held")
    for one in results:
        table.add_row(f"{one.attempt.group}: {one.attempt.name}", short(one.answer), one.mark.value)
    Console(width=180, soft_wrap=False).print(table)
    for one in results:
        if one.mark in (Mark.BROKEN, Mark.UNTRIED):
            click.echo(f"{one.mark.value}: {one.attempt.name}: {one.attempt.sentence}\n  {short(one.answer, 2000)}")
    click.echo(summary(results))


if __name__ == "__main__":
    main()
