"""`hopshive status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.table import Table

from hopshive.commands.ask import first_of, shown
from hopshive.commands.base import DIFFERENCES, ERROR, NO_LEADER, OK, Site, complain, duration, moment, site_options
from hopshive.consistency import status as report
from hopshive.wording import counted, size

if TYPE_CHECKING:
    from hopshive.consistency.status import Status
    from hopshive.hdfs.namenode.report import Replica


@click.command(short_help="The leader, its lag, and what waits for a human.")
@site_options
def status(site: Site) -> None:
    """The leader, how far the metastore follows HDFS, the state of HDFS, and what waits for a human.

    Exit code 0: all is well; 1: database or NameNode does not answer; 3: something waits for a human; 4: no daemon leads.
    """
    namenode = site.namenode()
    found = report.read(site.config, site.database(), namenode)
    if namenode is not None:
        namenode.close()
    if site.json:
        site.print_json(found.plain())
    else:
        site.console.print(_table(found))
        for problem in found.problems:
            if problem not in found.unreachable:
                site.console.print(problem, style="bold red")
        for problem in found.unreachable:
            complain(problem)
    sys.exit(exit_code(found))


def exit_code(found: Status) -> int:
    """The exit code of the worst finding."""
    if found.unreachable:
        return ERROR
    if not found.led:
        return NO_LEADER
    return DIFFERENCES if found.waiting_for_humans or found.hdfs_problems else OK


def _table(found: Status) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    stored = found.stored
    rows: list[tuple[str, str]] = []
    if stored is not None:
        standing = stored.standing
        if standing and standing.led:
            rows.append(("leader", f"{standing.holder}, epoch {standing.epoch}, lease for {duration(standing.left)}"))
        else:
            last = f"; the last was {standing.holder}" if standing and standing.holder else ""
            rows.append(("leader", f"none{last}"))
        rows.append(("applied up to", "" if stored.txid is None else f"transaction {stored.txid}"))
    if found.lag_events is not None:
        seconds = f", {duration(found.lag_seconds)}" if found.lag_seconds else ""
        rows.append(("lag", f"{counted(found.lag_events, 'event')}{seconds}"))
    if stored is not None:
        rows += [
            ("bound", f"{stored.bound}, {stored.unbound} wait"),
            ("pending checks", _counts(stored.pending_checks)),
            *((("moved", shown(first_of(stored.moved))),) if stored.moved else ()),
            ("fuse", "blown" if stored.fuse is not None else "holds" if stored.held is not None else "whole"),
            ("garbage candidates", str(stored.candidates)),
            ("restorable", counted(stored.restorable, "object")),
            ("last comparison", moment(stored.compared_at) or "none yet"),
            ("requests", _counts(stored.requests)),
        ]
    if stored is not None and stored.binary_log is not None:
        at = stored.binary_log
        rows.append(("binary log", f"{at.place}, {at.file}:{at.offset}, read {duration(at.lag)} ago"))
    if found.file_system is not None:
        rows.append(("file system", found.file_system.cluster_id))
    if found.hdfs is not None:
        rows.append(("NameNodes", ", ".join(_namenode(one) for one in found.hdfs.namenodes)))
    if found.hdfs is not None and found.hdfs.space is not None:
        space = found.hdfs.space
        states = {"live": space.live, "silent": space.silent, "dead": space.dead, "full": space.full}
        rows += [
            ("DataNodes", ", ".join(f"{len(of)} {state}" for state, of in states.items() if of or state == "live")),
            ("space", f"{size(space.remaining)} of {size(space.capacity)} left"),
        ]
    for name, value in rows:
        table.add_row(name, value)
    return table


def _namenode(one: Replica) -> str:
    what = [one.state or "no answer"]
    what += ["full"] if one.full else []
    what += ["safe mode"] if one.safe_mode else []
    return f"{one.address} {', '.join(what)}" if len(what) == 1 else f"{one.address} {what[0]} ({', '.join(what[1:])})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"
