"""`hopshive wait`: waits until the metastore shows all that has happened on HDFS."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from hopshive.commands.ask import POLL_SECONDS, NoLeader, printable
from hopshive.commands.base import Site, site_options
from hopshive.consistency.mirror import held
from hopshive.consistency.mirror.queue_reports import WaitedFor, newest
from hopshive.daemon.lease import read_standing
from hopshive.hdfs.paths import decoded, normal
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Database

# How long to wait without a leader, in leases.
PATIENCE_LEASES = 2


class TimedOut(click.ClickException):
    """Exit code 1."""


@click.command(short_help="Wait until the metastore follows HDFS.")
@click.option("--timeout", type=click.FloatRange(min=0), default=60, show_default=True, help="Seconds.")
@click.option("--path", "paths", multiple=True, help="Wait only for pending checks at, above or below it.")
@site_options
def wait(site: Site, timeout: float, paths: tuple[str, ...]) -> None:
    """Wait until the metastore shows all that has happened on HDFS so far, and until pending checks are done.

    With --path, which may be given several times, pending checks of other directories do not count.

    Exit code 0: the metastore follows; 1: not within --timeout, and a sentence says what is pending; 4: no daemon leads.
    Removals that a human must approve (`hopshive held`) do not count. A line on standard error has their number, and
    --json has it as `held`.
    """
    began = time.monotonic()
    wanted = [normal(site.path_of(path, "--path")) for path in paths]
    namenode = site.namenode()
    if namenode is None:
        raise click.ClickException(
            "With the source hopsfs the metastore follows at once: there is nothing to wait for."
        )
    with namenode:
        txid = namenode.current_txid()
    database = site.database()
    wait_for(database, txid, timeout, PATIENCE_LEASES * site.config.lease, wanted)
    waits = held.read(database, wanted)
    if waits:
        click.echo(f"{counted(len(waits), 'removal')} waiting for an approval. Look: hopshive held", err=True)
    seconds = time.monotonic() - began
    if site.json:
        site.print_json({"txid": txid, "seconds": round(seconds, 3), "held": len(waits)})
    else:
        click.echo(f"The metastore follows HDFS up to transaction {txid}, after {seconds:.1f} s.")


def wait_for(database: Database, txid: int, timeout: float, patience: float, paths: Sequence[str] = ()) -> None:
    """Wait until the metastore shows all transactions of the NameNode up to `txid`. Raises TimedOut and NoLeader.

    `patience`: seconds to wait without a leader. `paths`: pending checks of other directories do not count.
    """
    began = led_at = time.monotonic()
    waited: WaitedFor | None = None
    while True:
        now = time.monotonic()
        with database.reading() as tx:
            standing = read_standing(tx)
            # A full comparison begins with the position of its start, and takes effect at its end.
            at = int(tx.value("SELECT txid FROM {state}.position WHERE id = 1 AND compared_at IS NOT NULL") or 0)
            pending = 0
            if at >= txid and waited is None:
                waited = WaitedFor(newest(tx), paths)
            if waited is not None:
                pending = waited.count(tx)
        if waited is not None and not pending:
            return
        if standing is not None and standing.led:
            led_at = now
        elif now - led_at > patience or now - began > timeout:
            raise NoLeader(f"No daemon has led for {now - led_at:.0f} s. Is the unit hopshive-cleaner running?")
        if now - began > timeout:
            if waited is None:
                standing_at = f"the leader is at transaction {at} of {txid}" if at else "a full comparison is running"
                raise TimedOut(f"The metastore did not follow within {timeout:g} s: {standing_at}.")
            said = f"The metastore did not follow within {timeout:g} s: {counted(pending, 'check')} pending"
            with database.reading() as tx:
                first = waited.first(tx)
            raise TimedOut(f"{said}, {_first(*first)}." if first else f"{said}.")
        time.sleep(POLL_SECONDS)


def _first(path: bytes, kind: str, seconds: int) -> str:
    """The check that is due first, when it is due, and which setting makes it wait."""
    name = printable(decoded(path))
    moved = " (it was moved: cleaner_rename_grace)" if kind == "rename" else ""
    return f"the first is of {name}, due in {seconds} s{moved}"
