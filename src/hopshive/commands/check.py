"""`hopshive check`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.table import Table

from hopshive.commands.ask import Bar, ask, shown
from hopshive.commands.base import DIFFERENCES, OK, Site, complain, site_options
from hopshive.consistency import schema
from hopshive.consistency.check import differences
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.consistency.check import Difference
    from hopshive.daemon.request import RequestKind


@click.command(short_help="Compare metastore and file system; --fix repairs.")
@click.option("--fix", is_flag=True, help="Let the leader repair what it can, then compare again.")
@site_options
def check(site: Site, fix: bool) -> None:
    """Compare metastore and file system in both directions, and count garbage. Changes nothing without --fix.

    Exit code 0: no difference; 3: some. A directory without metadata is never removed, not even with --fix.
    """
    found = _compared(site)
    fixed = []
    if fix:
        for kind in remedies(found):
            done = ask(site, kind, {})
            fixed.append(done)
            if done.state == "failed":
                complain(done.message)
            else:
                click.echo(done.message, err=True)
        if fixed:
            found = _compared(site)
    if site.json:
        site.print_json({"differences": found, "fixed": [done.message for done in fixed]})
    elif found:
        site.console.print(_table(found))
    else:
        site.console.print("No difference.")
    sys.exit(DIFFERENCES if found else OK)


def remedies(found: Sequence[Difference]) -> list[RequestKind]:
    """The requests to the leader that repair some differences."""
    kinds = {difference.kind for difference in found}
    wanted: list[RequestKind] = []
    if kinds & {"no directory", "not bound", "bound elsewhere"}:
        wanted.append("sync")
    if "garbage" in kinds:
        wanted.append("collect")
    return wanted


def _compared(site: Site) -> list[Difference]:
    database = site.database()
    schema.check(database, site.config.source, site.config.hdfs.uris)
    namenode = site.namenode()
    try:
        with Bar(site.progress_console, "check") as bar:
            return list(differences(site.config, database, namenode, bar.advance))
    finally:
        if namenode is not None:
            namenode.close()


def _table(found: Sequence[Difference]) -> Table:
    table = Table(title=counted(len(found), "difference"))
    for heading in ("what", "object", "path", "detail"):
        table.add_column(heading, overflow="fold")
    for difference in found:
        row = (difference.kind, difference.object, difference.path, difference.detail)
        table.add_row(*(shown(value) for value in row))
    return table
