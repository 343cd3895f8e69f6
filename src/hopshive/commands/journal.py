"""`hopshive journal`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click
from rich.table import Table

from hopshive.commands.ask import shown
from hopshive.commands.base import Site, moment, site_options
from hopshive.consistency import journal as records
from hopshive.consistency.undo import lies_now
from hopshive.hdfs.namenode import NameNodeError
from hopshive.hdfs.paths import in_trash
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.consistency.journal import Entry, Removal

# A terminal with fewer columns gets blocks: a table of nine columns would break each word.
NARROW = 160
CAUSES = {
    "unlink": "deleted",
    "trash": "moved to the trash",
    "rename": "moved to",
    "missing": "was never there",
    "check": "found missing by a comparison",
}


@click.command(short_help="What was removed, when and why.")
@click.argument("removal", type=int, required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Removals, or objects of one.")
@site_options
def journal(site: Site, removal: int | None, limit: int) -> None:
    """What was removed, when and why, the newest first; with the number of a REMOVAL, its objects."""
    with site.database().reading() as tx:
        if removal is None:
            removals = records.history(tx, limit=limit)
            tops = {one.id: records.sample(tx, one.id) for one in removals if one.left}
            entries = None
        else:
            entries = records.objects(tx, removal, limit=limit)
    if entries is None:
        places = _places(site, removals, tops)
        if site.json:
            site.print_json([{**asdict(one), **asdict(places.get(one.id, NOWHERE))} for one in removals])
        else:
            site.console.print((_removals if site.console.width >= NARROW else _blocks)(removals, places))
    elif site.json:
        site.print_json(entries)
    elif entries:
        site.console.print(_objects(entries))
    else:
        raise click.ClickException(
            f"The journal has no removal {removal}: there was none, or it is older than cleaner_journal_expiry."
        )


def cause_of(kind: str, target: str) -> str:
    """What happened to a directory, as words."""
    if kind == "rename":
        return f"{CAUSES[kind]} {target}" if target else "moved elsewhere, and deleted there"
    return CAUSES.get(kind, kind)


def why(removal: Removal) -> str:
    """Why a removal happened, as words."""
    cause = cause_of(removal.kind, removal.target)
    return f"{cause}, transaction {removal.txid}" if removal.txid else cause


@dataclass(frozen=True, slots=True)
class Place:
    """Where the first restorable directory of a removal lies now, and until when the trash keeps it at least (UTC)."""

    lies: str | None
    until: datetime | None


NOWHERE = Place(None, None)


def _places(site: Site, removals: list[Removal], tops: Mapping[int, Entry | None]) -> dict[int, Place]:
    """The places of restorable removals, by number; empty while no NameNode answers."""
    namenode = site.namenode()
    found: dict[int, Place] = {}
    if namenode is None:
        return found
    try:
        with namenode:
            interval = timedelta(minutes=namenode.trash_interval())
            for one in removals:
                top = tops.get(one.id)
                if top is not None and top.inode is not None:
                    _, lies = lies_now(namenode, top)
                    # HDFS counts from the hour in which it renames the trash, which comes after the deletion.
                    keeps = lies is not None and in_trash(lies) and interval
                    found[one.id] = Place(lies, (one.event_at or one.begun) + interval if keeps else None)
    except NameNodeError as error:
        click.echo(f"The places of directories are unknown: {error}", err=True)
    return found


def _removals(removals: list[Removal], places: Mapping[int, Place]) -> Table:
    table = Table()
    for heading in (
        "removal",
        "when",
        "directory",
        "why",
        "what",
        "objects",
        "restorable",
        "lies now",
        "at least until",
    ):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("objects", "restorable") else "left")
    for removal in removals:
        objects = f"{removal.objects}" if removal.ended else f"{removal.objects} so far"
        row = (
            str(removal.id),
            moment(removal.event_at or removal.begun),
            removal.path,
            why(removal),
            removal.what,
            objects,
        )
        place = places.get(removal.id, NOWHERE)
        table.add_row(*(shown(value) for value in (*row, str(removal.left), place.lies or "", moment(place.until))))
    return table


def _blocks(removals: list[Removal], places: Mapping[int, Place]) -> Table:
    """The same, with a block of lines for each removal."""
    table = Table(show_lines=True)
    table.add_column("removal", justify="right", no_wrap=True)
    table.add_column("what went", overflow="fold")
    for removal in removals:
        place = places.get(removal.id, NOWHERE)
        objects = counted(removal.objects, "object") + ("" if removal.ended else " so far")
        lines = [
            removal.path,
            f"{moment(removal.event_at or removal.begun)}: {why(removal)}",
            f"{removal.what or 'forgotten'}; {objects}, {removal.left} restorable",
        ]
        if place.lies:
            until = f", at least until {moment(place.until)}" if place.until else ""
            lines.append(f"lies now: {place.lies}{until}")
        table.add_row(str(removal.id), "\n".join(shown(line) for line in lines))
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
