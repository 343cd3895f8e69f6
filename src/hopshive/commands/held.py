"""`hopshive held`: removals that wait for a human; `hopshive approve`: carry them out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click
from rich.table import Table

from hopshive.commands.ask import ask, end, shown
from hopshive.commands.base import Site, moment, site_options
from hopshive.commands.journal import cause_of
from hopshive.consistency.mirror.held import read, shown_until
from hopshive.hdfs.paths import normal
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.consistency.mirror.held import Held

# The most characters of paths, as JSON, in one approval.
MOST_CHARACTERS = 6000


@click.command(short_help="Removals that the fuse holds, and since when.")
@site_options
def held(site: Site) -> None:
    """Removals that wait for a human: those that the fuse holds, and those that the policy only reports."""
    found = read(site.database())
    if site.json:
        site.print_json(found)
    elif found:
        site.console.print(_table(found))
    else:
        site.console.print("Nothing waits for an approval.")


@click.command(short_help="Carry out removals that the fuse holds.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only list the removals.")
@click.option("--yes", is_flag=True, help="Approve without a question.")
@site_options
def approve(site: Site, paths: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Carry out the removals that wait at or below each PATH (see `hopshive held`). Without a PATH: all, after a question.

    Removals that are held after the list was read stay held. Without a terminal, approving all takes --yes.
    """
    wanted = list(dict.fromkeys(normal(site.path_of(path, path)) for path in paths))
    if len(json.dumps(wanted)) > MOST_CHARACTERS:
        raise click.UsageError("Too many paths for one approval. Name fewer paths, or the directory above them.")
    asks = not (paths or yes or dry_run)
    if asks and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask at. Name each PATH, or give --yes to approve all.")
    found = read(site.database(), wanted)
    for path in wanted:
        if not read(site.database(), [path]):
            raise click.ClickException(f"Nothing waits for an approval at {path}. Look: hopshive held")
    if dry_run and site.json:
        site.print_json(found)
        return
    if not found:
        if site.json:
            site.print_json({"kind": "approve", "state": "done", "message": "Nothing waits for an approval."})
        else:
            click.echo("Nothing waits for an approval.")
        return
    if not site.json:
        site.console.print(_table(found))
    if dry_run:
        return
    if asks and not _agrees():
        raise click.ClickException("Nothing was approved.")
    end(site, ask(site, "approve", {"paths": wanted, "until": shown_until(found)}))


def _agrees() -> bool:
    """The answer at the terminal. The end of the input and an interrupt mean no."""
    try:
        return click.confirm("The metadata of all of these are removed. Continue?", err=True)
    except click.Abort:
        click.echo(err=True)
        return False


def _table(found: Sequence[Held]) -> Table:
    table = Table(title=f"{counted(len(found), 'directory', 'directories')}")
    for heading in ("path", "kind", "objects", "since", "why"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "objects" else "left")
    for one in found:
        kind = cause_of(one.kind, one.target)
        path = f"{one.path.rstrip('/')}/..." if one.kind == "missing" else one.path
        row = (path, kind, str(one.objects), moment(one.since), one.why)
        table.add_row(*(shown(value) for value in row))
    return table
