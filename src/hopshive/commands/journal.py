"""`hopshive journal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.table import Table

from hopshive import journal as records
from hopshive.commands.ask import shown
from hopshive.commands.base import Site, moment, site_options

if TYPE_CHECKING:
    from hopshive.journal import Entry, Removal

CAUSES = {
    "unlink": "deleted",
    "trash": "moved to the trash",
    "rename": "moved to",
    "missing": "was never there",
    "check": "found missing by a comparison",
}


@click.command()
@click.argument("removal", type=int, required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Removals, or objects of one.")
@site_options
def journal(site: Site, removal: int | None, limit: int) -> None:
    """What was removed, when and why, the newest first; with the number of a REMOVAL, its objects."""
    with site.database().reading() as tx:
        if removal is None:
            removals = records.history(tx, limit=limit)
            entries = None
        else:
            entries = records.objects(tx, removal, limit=limit)
    if site.json:
        site.print_json(removals if entries is None else entries)
    elif entries is None:
        site.console.print(_removals(removals))
    elif entries:
        site.console.print(_objects(entries))
    else:
        raise click.ClickException(
            f"The journal has nothing of a removal {removal}: it never was, or is older than journal.expiry."
        )


def why(removal: Removal) -> str:
    """Why it happened, for humans."""
    cause = CAUSES.get(removal.kind, removal.kind)
    if removal.kind == "rename":
        cause = f"{cause} {removal.target}"
    return f"{cause}, transaction {removal.txid}" if removal.txid else cause


def _removals(removals: list[Removal]) -> Table:
    table = Table()
    for heading in ("removal", "when", "directory", "why", "objects", "restorable"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("objects", "restorable") else "left")
    for removal in removals:
        objects = f"{removal.objects}" if removal.ended else f"{removal.objects} so far"
        row = (str(removal.id), moment(removal.event_at or removal.begun), removal.path, why(removal), objects)
        table.add_row(*(shown(value) for value in row), str(removal.left))
    return table


def _objects(entries: list[Entry]) -> Table:
    table = Table()
    for heading in ("kind", "name", "directory", "removed", "state"):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        state = f"{entry.state}: {entry.message}" if entry.message else entry.state
        row = (entry.kind, entry.name, entry.path, moment(entry.removed), state)
        table.add_row(*(shown(value) for value in row))
    return table
