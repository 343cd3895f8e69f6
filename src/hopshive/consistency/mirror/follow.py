"""Following: which of the NameNode's events concern us, and where we stand in its stream.

An event has no effect by itself. It becomes a recheck, in the transaction that also moves the position, and what is true is
asked of the NameNode when the recheck is due. So an event that is read twice does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import queue
from hopshive.consistency.mirror.pending_check import NOWHERE, PendingCheck, fitting
from hopshive.consistency.mirror.tree import rows_of
from hopshive.database import chunks
from hopshive.hdfs.paths import in_trash, is_below

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hopshive.consistency.mirror.context import Context
    from hopshive.database import Transaction
    from hopshive.hdfs.namenode import Event


@dataclass(frozen=True, slots=True)
class Position:
    """How far the events are applied. `compared`: seconds since the last full comparison, None while one is wanted."""

    txid: int
    compared: float | None


@dataclass(frozen=True, slots=True)
class Concern:
    """What some events ask for: rechecks of directories that went, and directories that came where something was missing.

    Of an arrival, whether something may lie beneath it: nothing does in a directory that was just made. `moves` are of
    what was moved before and is yet to be decided on, and of what is missing, in their order; `overwrites` are the
    transactions of those that came where something had been moved to.
    """

    rechecks: list[PendingCheck]
    arrivals: dict[str, bool]
    moves: list[Event]
    overwrites: set[int]

    def __bool__(self) -> bool:
        return bool(self.rechecks or self.arrivals or self.moves)


def concerning(context: Context, events: Iterable[Event]) -> Concern:
    """What is of our concern: of each directory that went, at most one recheck of each kind."""
    known, returns = context.known, context.returns
    wanted: dict[tuple[str, str], PendingCheck] = {}
    arrivals: dict[str, bool] = {}
    moves: list[Event] = []
    overwrites: set[int] = set()
    for event in events:
        arrived = event.target if event.kind == "rename" else event.path if event.kind == "mkdir" else ""
        went = event.kind != "mkdir" and (event.path in context.targets or event.path in context.missing)
        overwrote = event.kind == "rename" and event.target in context.targets
        if went or overwrote or arrived in context.missing:
            moves.append(event)
            if overwrote:
                overwrites.add(event.txid)
            if went and event.kind == "rename":
                context.targets.add(event.target)
        if event.kind != "mkdir" and event.path in known:
            kind = event.kind if event.kind == "unlink" else "trash" if in_trash(event.target) else "rename"
            _want(wanted, kind, event, event.path, event.target)
            if kind != "unlink":
                context.targets.add(event.target)
            context.renamed = context.renamed or (kind == "rename" and event.target in known)
            arrivals = {path: whole for path, whole in arrivals.items() if not is_below(path, event.path)}
        if event.kind == "rename" and event.target in returns:
            _want(wanted, "restore", event, event.target, event.path)
        if arrived in context.missing:
            arrivals[arrived] = event.kind == "rename"
        if event.kind == "rename" and arrived in known:  # what lay there was overwritten
            _want(wanted, "replace", event, arrived)
    return Concern(list(wanted.values()), arrivals, moves, overwrites)


def _want(wanted: dict[tuple[str, str], PendingCheck], kind: str, event: Event, path: str, target: str = "") -> None:
    at = datetime.fromtimestamp(event.time_ms / 1000, UTC).replace(tzinfo=None)
    recheck = PendingCheck(kind, path, fitting(target), txid=event.txid, event_at=at)  # type: ignore[arg-type]
    wanted[kind, path] = recheck


def wait_of(context: Context, kind: str) -> float:
    """Seconds from an event to its recheck."""
    mirror = context.config.mirror
    return {"rename": mirror.rename_grace, "restore": 0.0}.get(kind, mirror.grace)


def welcome(context: Context, concern: Concern) -> None:
    """Something came where it was missing: that goes back into the queue. Before `save`, so that a crash forgets nothing."""
    for path, whole in concern.arrivals.items():
        with context.database.reading() as tx:
            found = queue.missing_at(tx, path, whole=whole)
        for some in chunks(context.locked.free(found)):
            context.locked.spare(context.database, some, queue.look_at_once)


def save(context: Context, tx: Transaction, concern: Concern, txid: int, event_at: datetime | None) -> None:
    """Add rechecks and move the position, in one transaction."""
    rows = []
    mirrored = rows_of(tx, [recheck.path for recheck in concern.rechecks if recheck.kind != "restore"])
    for recheck in concern.rechecks:
        row = mirrored.get(recheck.path) if recheck.kind != "restore" else None
        rows.append((replace(recheck, inode=row[1] if row else None), wait_of(context, recheck.kind)))
        if recheck.kind in ("unlink", "trash") and recheck.path in context.missing:
            queue.hasten(tx, recheck.path, wait_of(context, recheck.kind))
        context.metrics.events.labels(recheck.kind).inc()
    queue.replace_returns(tx, [recheck.path for recheck in concern.rechecks if recheck.kind == "restore"])
    queue.add(tx, rows)
    for event in concern.moves:
        followed = event.path in context.targets
        if event.kind == "unlink" and followed:
            queue.lose_target(tx, event.path, event.txid)
        if event.txid in concern.overwrites:
            queue.lose_target(tx, event.target, event.txid)
        if event.kind == "rename" and followed:
            queue.follow_target(tx, event.path, event.target, event.txid)
        if event.kind != "mkdir":
            followed = followed and event.kind == "rename"
            queue.follow_missing(tx, event.path, event.target or NOWHERE, event.txid, followed=followed)
        if event.kind != "unlink":
            queue.arrived(tx, event.target or event.path, event.txid, whole=event.kind == "rename")
    tx.execute(
        "UPDATE {state}.position SET txid = %s, event_at = COALESCE(%s, event_at) WHERE id = 1", (txid, event_at)
    )


def read_position(tx: Transaction) -> Position | None:
    """Where we stand, or None at the very first start."""
    row = tx.row("SELECT txid, TIMESTAMPDIFF(SECOND, compared_at, UTC_TIMESTAMP()) FROM {state}.position WHERE id = 1")
    if row is None:
        return None
    txid, compared = row
    unfinished = queue.is_comparison_unfinished(tx)
    return Position(int(txid), None if compared is None or unfinished else max(0.0, float(compared)))


def start_at(tx: Transaction, txid: int) -> None:
    """Begin at a transaction of the NameNode; a full comparison is wanted, since what was before it is unknown."""
    tx.execute("DELETE FROM {state}.position WHERE id = 1")
    tx.execute("INSERT INTO {state}.position (id, txid) VALUES (1, %s)", (txid,))
