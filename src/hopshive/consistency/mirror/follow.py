"""Following: which of the NameNode's events concern us, and where we stand in its stream.

An event has no effect by itself. It becomes a pending check, in the transaction that also moves the position, and the NameNode is
asked what is true when the check is due. So an event that is read twice does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    from hopshive.consistency.mirror.pending_check import CheckKind
    from hopshive.database import Transaction
    from hopshive.hdfs.namenode import Event


@dataclass(frozen=True, slots=True)
class Position:
    """How far the events are applied. `compared`: seconds since the last full comparison, None while one is wanted."""

    txid: int
    compared: float | None


@dataclass(slots=True)
class Concern:
    """What some events ask for.

    `checks`: the pending checks of directories that went or came back, at most one of each kind for a path. `arrivals`:
    directories that came where one was missing; True if something may lie below, which is not so of one that was just made.
    `moves`: the events, in their order, about what was moved before and is not decided yet, and about what is missing.
    `overwrites`: the transactions of those that replaced what had been moved there.
    """

    checks: dict[tuple[CheckKind, str], PendingCheck] = field(default_factory=dict)
    arrivals: dict[str, bool] = field(default_factory=dict)
    moves: list[Event] = field(default_factory=list)
    overwrites: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.checks or self.arrivals or self.moves)

    def want(self, kind: CheckKind, event: Event, path: str, target: str = "") -> None:
        """Add a check; a later event of its kind and path replaces an earlier one."""
        at = datetime.fromtimestamp(event.time_ms / 1000, UTC).replace(tzinfo=None)
        self.checks[kind, path] = PendingCheck(kind, path, fitting(target), txid=event.txid, event_at=at)

    def leave(self, path: str) -> None:
        """Forget what arrived at or below a directory that went."""
        self.arrivals = {place: whole for place, whole in self.arrivals.items() if not is_below(place, path)}


def concerning(context: Context, events: Iterable[Event]) -> Concern:
    """What some events ask for. The paths that they move directories to are known to the context afterwards."""
    concern = Concern()
    for event in events:
        match event.kind:
            case "mkdir":
                if event.path in context.missing:
                    concern.moves.append(event)
                    concern.arrivals[event.path] = False
            case "unlink":
                if event.path in context.targets or event.path in context.missing:
                    concern.moves.append(event)
                if event.path in context.known:
                    concern.want("unlink", event, event.path)
                    concern.leave(event.path)
            case "rename":
                _left(context, concern, event)
                _arrived(context, concern, event)
    return concern


def _left(context: Context, concern: Concern, event: Event) -> None:
    """What a rename means for the place that a directory went from."""
    went = event.path in context.targets or event.path in context.missing
    overwrote = event.target in context.targets
    if went or overwrote or event.target in context.missing:
        concern.moves.append(event)
    if overwrote:
        concern.overwrites.add(event.txid)
    if went:
        context.targets.add(event.target)
    if event.path in context.known:
        kind: CheckKind = "trash" if in_trash(event.target) else "rename"
        concern.want(kind, event, event.path, event.target)
        concern.leave(event.path)
        context.targets.add(event.target)
        context.renamed = context.renamed or (kind == "rename" and event.target in context.known)


def _arrived(context: Context, concern: Concern, event: Event) -> None:
    """What a rename means for the place that a directory came to."""
    if event.target in context.returns:
        concern.want("restore", event, event.target, event.path)
    if event.target in context.missing:
        concern.arrivals[event.target] = True
    if event.target in context.known:  # what lay there was overwritten
        concern.want("replace", event, event.target)


def wait_of(context: Context, kind: str) -> float:
    """Seconds from an event until its check is due."""
    mirror = context.config.mirror
    return {"rename": mirror.rename_grace, "restore": 0.0}.get(kind, mirror.grace)


def welcome(context: Context, concern: Concern) -> None:
    """Put what was missing where something arrived back into the queue. Call it before `save`: a crash then forgets nothing."""
    for path, whole in concern.arrivals.items():
        with context.database.reading() as tx:
            found = queue.missing_at(tx, path, whole=whole)
        for some in chunks(context.locked.free(found)):
            context.locked.spare(context.database, some, queue.look_at_once)


def save(context: Context, tx: Transaction, concern: Concern, txid: int, event_at: datetime | None) -> None:
    """Add pending checks and move the position, in one transaction."""
    rows = []
    checks = list(concern.checks.values())
    mirrored = rows_of(tx, [check.path for check in checks if check.kind != "restore"])
    for check in checks:
        row = mirrored.get(check.path) if check.kind != "restore" else None
        rows.append((replace(check, inode=row[1] if row else None), wait_of(context, check.kind)))
        if check.kind in ("unlink", "trash") and check.path in context.missing:
            queue.hasten(tx, check.path, wait_of(context, check.kind))
        context.metrics.events.labels(check.kind).inc()
    queue.replace_returns(tx, [check.path for check in checks if check.kind == "restore"])
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
