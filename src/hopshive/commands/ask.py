"""`hopshive sync` and `restore`, which the leader carries out, and how a command sends a request to the leader."""

from __future__ import annotations

import getpass
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from hopshive.commands.base import ERROR, NO_LEADER, OK, Site, moment, site_options
from hopshive.consistency import journal
from hopshive.consistency.mirror import queue_reports
from hopshive.daemon import request
from hopshive.daemon.lease import read_standing
from hopshive.database import Database, DatabaseUnavailable
from hopshive.hdfs.namenode import NameNodeUnavailable
from hopshive.wording import counted, nothing_to_restore, unknown_removal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from hopshive.consistency.mirror.pending_check import MovedDirectory
    from hopshive.daemon.request import Request, RequestKind

# Seconds between two reads of a request's row, or of another thing that a command waits for.
POLL_SECONDS = 0.2


class NoLeader(click.ClickException):
    """Exit code 4."""

    exit_code = NO_LEADER


@click.command(short_help="Compare all metadata with HDFS now, and update them.")
@site_options
def sync(site: Site) -> None:
    """Compare all metadata with the file system now, and remove metadata whose directory is gone.

    A line on standard error names directories that were moved elsewhere. Their metadata stay until
    cleaner_rename_grace has passed.
    """
    done = ask(site, "sync", {})
    with site.database().reading() as tx:
        moved = queue_reports.moved(tx)
    if moved:
        click.echo(printable(f"Not followed yet: {first_of(moved)}."), err=True)
    end(site, done)


@click.command(short_help="Restore metadata whose directory is back.")
@click.argument("removal", type=int, required=False)
@click.option("--name", help="An object with all in it: hive.db, hive.db.table, hive.db.table/part=1.")
@click.option("--path", help="A directory on HDFS, with all below it.")
@click.option("--dry-run", is_flag=True, help="Only list what would be restored.")
@site_options
def restore(site: Site, removal: int | None, name: str | None, path: str | None, dry_run: bool) -> None:
    """Restore metadata whose directory is back on HDFS: those of REMOVAL (see `hopshive journal`), of a name, of a path.

    With more than one of these, only metadata that match all of them.
    """
    if path is not None:
        path = site.path_of(path, "--path")
    given: dict[str, Any] = {"removal": removal, "name": name, "path": path}
    argument = {key: value for key, value in given.items() if value is not None}
    if not argument:
        raise click.UsageError("Give a REMOVAL, --name or --path.")
    if name is not None and "." not in name:
        raise click.UsageError("--name begins with the catalog, as in hive.db or hive.db.table.")
    if removal is not None:
        with site.database().reading() as tx:
            known = journal.one_removal(tx, removal) is not None
        if not known:
            raise click.ClickException(unknown_removal(removal))
    if dry_run:
        _show_restorable(site, argument)
    else:
        end(site, ask(site, "restore", argument))


def _show_restorable(site: Site, argument: Mapping[str, Any]) -> None:
    with site.database().reading() as tx:
        entries = journal.restorable(tx, **argument)
    if site.json:
        site.print_json(entries)
        return
    if not entries:
        raise click.ClickException(nothing_to_restore(**argument))
    table = Table(title=counted(len(entries), "object"))
    for heading in ("removal", "kind", "name", "path", "removed", "not restored because"):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        row = (str(entry.removal), entry.kind, entry.name, entry.path, moment(entry.removed), entry.message)
        table.add_row(*(shown(value) for value in row))
    site.console.print(table)


def printable(text: str) -> str:
    """The text for a terminal: names on HDFS may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shown(text: str) -> str:
    """The same for rich: names may look like rich's markup."""
    return printable(text).replace("[", "\\[")


# --- asking -----------------------------------------------------------------------------------------------------------


def first_of(moved: Sequence[MovedDirectory]) -> str:
    """The moved directory whose metadata go first, and how many more there are."""
    return str(moved[0]) + (f". And {len(moved) - 1} more" if len(moved) > 1 else "")


def ask(site: Site, kind: RequestKind, argument: Mapping[str, Any]) -> Request:
    """Send the leader a request and return it when it is over; a terminal shows a progress bar.

    After two leases without a leader, the request is withdrawn, and NoLeader is raised. A leader that reaches no
    NameNode begins no request: after the same time the request is withdrawn, and NameNodeUnavailable is raised. An
    interrupt withdraws the request unless a leader has begun it.
    """
    database = site.database()
    with database.transaction() as tx:
        number = request.ask(tx, kind, argument, f"{getpass.getuser()}@{os.uname().nodename}")
    try:
        with Bar(site.progress_console, kind) as bar:
            return wait(database, number, 2 * site.config.lease, bar.show, lambda: _reach(site))
    except KeyboardInterrupt:
        if _withdraw(database, number):
            raise click.ClickException("Interrupted; the request was withdrawn.") from None
        raise click.ClickException(f"Interrupted; the leader continues with the request {number}.") from None


def _reach(site: Site) -> None:
    """Raises NameNodeUnavailable."""
    namenode = site.namenode()
    if namenode is not None:
        with namenode:
            namenode.current_txid()


def wait(
    database: Database,
    number: int,
    patience: float,
    show: Callable[[Request], None],
    reach: Callable[[], None] = lambda: None,
) -> Request:
    """Wait until a request is over, and return it. `patience`: seconds without a leader, or until a leader begins it.

    Raises NoLeader. `reach` is called when no leader has begun the request within `patience`; a NameNodeUnavailable
    of `reach` is raised if the request could be withdrawn.
    """
    led_at = asked_at = time.monotonic()
    while True:
        try:
            with database.reading() as tx:
                found = request.read(tx, number)
                standing = read_standing(tx)
        except DatabaseUnavailable:
            # The leader waits for the database too; the request is not lost.
            if time.monotonic() - led_at > patience:
                raise
            time.sleep(POLL_SECONDS)
            continue
        if found is None:
            raise click.ClickException(f"The request {number} was removed from the database.")
        if found.over:
            return found
        show(found)
        if found.state == "waiting" and time.monotonic() - asked_at > patience:
            asked_at = time.monotonic()
            try:
                reach()
            except NameNodeUnavailable:
                if _withdraw(database, number):
                    raise
        if standing is not None and standing.led:
            led_at = time.monotonic()
        elif time.monotonic() - led_at > patience and _withdraw(database, number):
            raise NoLeader(
                f"No daemon has led for {patience:.0f} s. The request was withdrawn; nothing was done. "
                "Is the unit hopshive-cleaner running? See: journalctl -u hopshive-cleaner"
            )
        time.sleep(POLL_SECONDS)


def _withdraw(database: Database, number: int) -> bool:
    with database.transaction() as tx:
        return request.withdraw(tx, number)


def end(site: Site, done: Request) -> None:
    """Print the result, and exit with 0 or 1. Raises ClickException with what failed."""
    if site.json:
        site.print_json({"request": done.id, "kind": done.kind, "state": done.state, "message": done.message})
    elif done.state == "failed":
        raise click.ClickException(done.message)
    else:
        click.echo(done.message)
    sys.exit(OK if done.state == "done" else ERROR)


class Bar:
    """A request's progress bar, on a terminal."""

    def __init__(self, console: Console, what: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, now: Request) -> None:
        """Show the state and the progress of a request."""
        text = f"{now.kind} ({now.state})"
        self._progress.update(self._task, description=text, completed=now.done, total=now.total or None)

    def advance(self, done: int, total: int) -> None:
        """Show that `done` of `total` objects are done."""
        self._progress.update(self._task, completed=done, total=total or None)
