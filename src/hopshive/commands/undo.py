"""`hopshive undo`: moves a directory back from where it lies now; its metadata come back with it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from hopshive.commands.ask import POLL_SECONDS, NoLeader, ask, printable
from hopshive.commands.base import Site, site_options
from hopshive.consistency import journal
from hopshive.consistency.mirror import held, queue_reports
from hopshive.consistency.mirror.identity import GONE
from hopshive.consistency.undo import CannotUndo, carry_out, plan
from hopshive.daemon.lease import read_standing
from hopshive.hdfs.paths import in_trash, is_below, normal
from hopshive.wording import counted, unknown_removal

if TYPE_CHECKING:
    from collections.abc import Collection

    from hopshive.consistency.journal import Entry
    from hopshive.consistency.mirror.held import Held
    from hopshive.consistency.undo import Plan
    from hopshive.database import Database
    from hopshive.hdfs.namenode import NameNode


@click.command(short_help="Move a directory back, and wait for its metadata.")
@click.argument("removal", type=int, required=False)
@click.option("--path", help="The newest removal of a directory on HDFS, or of something below it.")
@click.option("--dry-run", is_flag=True, help="Only print what would be moved.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=60, show_default=True, help="Seconds to wait for the metadata."
)
@site_options
def undo(site: Site, removal: int | None, path: str | None, dry_run: bool, timeout: float) -> None:
    """Move back the directories of REMOVAL (see `hopshive journal`) from where they lie now, and wait for their metadata.

    Moves nothing if another file or directory has taken the place, or if the trash was emptied.
    """
    if (removal is None) == (path is None):
        raise click.UsageError("Give either a REMOVAL or --path.")
    if path is not None:
        path = site.path_of(path, "--path")
    namenode = site.namenode()
    if namenode is None:
        raise click.ClickException("With the source hopsfs there is no journal: nothing can be undone.")
    database = site.database()
    with namenode:
        # The journal describes only the file system that it was written for.
        namenode.identity()
        number, entries, gone = _entries(database, namenode, removal, path)
        with database.reading() as tx:
            found = journal.one_removal(tx, number)
            standing = read_standing(tx)
        if found is None or found.ended is None:
            raise click.ClickException(_under_way(number))
        try:
            with database.reading() as tx:
                others = [one for one in journal.restorable(tx, path=found.path) if one.removal != number]
            planned = plan(namenode, found, entries, path, {one.inode for one in others if one.inode})
        except CannotUndo as error:
            raise click.ClickException(str(error)) from None
        if not dry_run:
            if standing is None or not standing.led:
                raise NoLeader("No daemon leads: nothing was moved. Is the unit hopshive-cleaner running?")
            for move in planned.moves:
                carry_out(namenode, move)
    lost = f" {counted(gone, 'object')} cannot come back: deleted past the trash." if gone else ""
    if dry_run:
        _say(site, number, planned, f"{counted(len(entries), 'object')} would come back.{lost}", "would move")
        return
    # The daemon itself tries again only later to restore metadata whose directory did not move.
    if not site.config.journal.automatic or all(move.source == move.target for move in planned.moves):
        done = ask(site, "restore", {"removal": number, **({"path": path} if path else {})})
        # An object whose directory is gone fails too; it counts in `lost`.
        if done.state == "failed" and _left(database, number, {entry.id for entry in entries}):
            raise click.ClickException(done.message)
    else:
        _wait(database, number, entries, timeout)
    _say(site, number, planned, f"{counted(len(entries), 'object')} came back.{lost}", "moved")


def _entries(
    database: Database, namenode: NameNode, removal: int | None, path: str | None
) -> tuple[int, list[Entry], int]:
    """The removal, its entries that can come back, and the number of objects whose directory was deleted for good."""
    with database.reading() as tx:
        entries = journal.restorable(tx, removal=removal, path=path)
        known = removal is None or journal.one_removal(tx, removal) is not None
    if removal is not None and not known:
        raise click.ClickException(unknown_removal(removal))
    waiting = [] if entries or path is None else _waiting(database, normal(path))
    if waiting:
        one = waiting[0]
        where = f" It lies at {one.target}. Move it back to end the wait." if one.target else ""
        raise click.ClickException(
            f"{one.path} waits for an approval, and none of its metadata was removed.{where} Look: hopshive held"
        )
    if not entries:
        raise click.ClickException(
            _nothing_of_removal(database, removal)
            if removal is not None
            else _nothing_at(database, namenode, path or "/")
        )
    number = max(entry.removal for entry in entries)
    mine = [entry for entry in entries if entry.removal == number]
    # The other objects come back without those whose directory was deleted past the trash.
    there = [entry for entry in mine if entry.inode != GONE]
    return (number, there, len(mine) - len(there)) if there else (number, mine, 0)


def _under_way(number: int) -> str:
    return f"The removal {number} is still running. Try again when it has ended."


def _nothing_of_removal(database: Database, number: int) -> str:
    """Why nothing of a removal can come back."""
    with database.reading() as tx:
        found = journal.one_removal(tx, number)
        known = journal.objects(tx, number, limit=1)
    if found is not None and found.ended is None:
        return _under_way(number)
    if not known:
        return (
            f"Nothing of the removal {number} can come back: its objects are older than cleaner_journal_expiry, and the"
            " journal no longer has them. Look: hopshive journal"
        )
    return f"Nothing of the removal {number} can come back: all of it is back already. Look: hopshive journal {number}"


def _nothing_at(database: Database, namenode: NameNode, path: str) -> str:
    """Why nothing at or below a path can come back."""
    place = normal(path)
    stands = namenode.entry(place) is not None
    with database.reading() as tx:
        last = journal.latest(tx, path, "restored")
        moved = [one for one in queue_reports.moved(tx) if is_below(one.path, place) or is_below(place, one.path)]
    if moved and not stands:
        return (
            f"{printable(str(moved[0]))}. None of its metadata was removed. Move the directory back, or undo when its"
            " metadata is gone."
        )
    if last is None and in_trash(place):
        return f"{path} lies in the trash. Name the path from which it was deleted. Look: hopshive journal"
    if last is None and stands:
        return (
            f"{path} is on HDFS, and the journal has no removal of it, or of anything below it: there is nothing to"
            " undo. Look: hopshive journal"
        )
    again = "" if stands else " If it was deleted just now, run hopshive wait, and undo again."
    if last is None:
        return f"The journal has no removal of {path}, or of anything below it.{again} Look: hopshive journal"
    return (
        f"Nothing of {path} can come back: all that the journal has of it is back already. Its last removal was"
        f" {last.removal}.{again} Look: hopshive journal {last.removal}"
    )


def _waiting(database: Database, path: str) -> list[Held]:
    """Removals that wait for an approval at, below or above a path."""
    return [one for one in held.read(database) if is_below(one.path, path) or is_below(path, one.path)]


def _wait(database: Database, number: int, entries: list[Entry], timeout: float) -> None:
    # An entry whose directory is unknown comes back only if `alike` finds the directory, which may never happen.
    wanted = {entry.id for entry in entries if entry.inode or not entry.path}
    deadline = time.monotonic() + timeout
    while True:
        left = _left(database, number, wanted)
        if not left:
            return
        if time.monotonic() > deadline:
            why = next((f" {entry.name}: {entry.message}" for entry in left if entry.message), "")
            raise click.ClickException(
                f"The directories are back, but {len(left)} of {counted(len(wanted), 'object')} did not come back within"
                f" {timeout:g} s.{why} Look: hopshive journal {number}"
            )
        time.sleep(POLL_SECONDS)


def _left(database: Database, number: int, wanted: Collection[int]) -> list[Entry]:
    """Entries of a removal that are not back, of those with the ids `wanted`."""
    with database.reading() as tx:
        return [entry for entry in journal.restorable(tx, removal=number) if entry.id in wanted]


def _say(site: Site, number: int, planned: Plan, result: str, verb: str) -> None:
    if site.json:
        content: dict[str, Any] = {
            "removal": number,
            "moves": planned.moves,
            "stays": planned.stays,
            "message": result,
        }
        site.print_json(content)
        return
    for move in planned.moves:
        if move.source == move.target:
            click.echo(printable(f"{move.target} is in its place."))
        else:
            click.echo(printable(f"{verb} {move.source} to {move.target}"))
    for stay in planned.stays:
        click.echo(printable(f"{stay.source} stays: {stay.why}"))
    click.echo(result)
