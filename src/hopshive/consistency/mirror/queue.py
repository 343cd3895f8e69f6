"""The table of pending checks: everything between an event and its effect, so that a crash forgets nothing.

All statements of the mirror on that table are here; `queue_reports` has those of commands, which only read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hopshive.consistency import journal
from hopshive.consistency.mirror.pending_check import HELD_AGAIN, NOWHERE, PendingCheck, fitting
from hopshive.consistency.mirror.tree import MISSING, requeue
from hopshive.database import chunks, marks, state
from hopshive.hdfs.paths import MOST_BYTES, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hopshive.consistency.journal import Cause
    from hopshive.consistency.mirror.pending_check import CheckState
    from hopshive.database import Row, Transaction

# Descriptors that are put back into the queue in one transaction.
MOST_AT_ONCE = 10_000
# Kinds whose target is where the directory lies.
_MOVED = "'trash', 'rename'"
_AT = "head = %s AND path = %s"
# The value of held_at for a new state; the new state is its argument twice.
_HELD_AT = (
    "CASE WHEN %s NOT IN ('held', 'reported') THEN NULL"
    " WHEN state = %s THEN COALESCE(held_at, UTC_TIMESTAMP(3)) ELSE UTC_TIMESTAMP(3) END"
)
_COLUMNS = "id, kind, path, target, inode, sd_id, txid, event_at, state, removal"


def add(tx: Transaction, checks: Sequence[tuple[PendingCheck, float]]) -> None:
    """Add some, each with the seconds until it is due."""
    if not checks:
        return
    now = tx.value("SELECT UTC_TIMESTAMP(3)")
    tx.many(
        "INSERT INTO {state}.recheck (kind, path, target, inode, sd_id, txid, event_at, due, state)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            (
                one.kind,
                encoded(one.path),
                encoded(one.target),
                one.inode,
                one.sd_id,
                one.txid,
                one.event_at,
                now + timedelta(seconds=wait),
                one.state,
            )
            for one, wait in checks
        ],
    )


def due(tx: Transaction, limit: int, states: Sequence[CheckState]) -> list[PendingCheck]:
    """Those of directories whose time has come, the oldest first."""
    rows = tx.rows(
        f"SELECT {_COLUMNS} FROM {{state}}.recheck WHERE state IN ({marks(states)}) AND due <= UTC_TIMESTAMP(3)"
        " AND kind <> 'missing' ORDER BY due, id LIMIT %s",
        (*states, limit),
    )
    return [_made(row) for row in rows]


def due_missing(tx: Transaction, limit: int, state: CheckState) -> list[PendingCheck]:
    """Those of the kind `missing` in one state, in any order: there may be very many."""
    rows = tx.rows(
        f"SELECT {_COLUMNS} FROM {{state}}.recheck WHERE state = %s AND due <= UTC_TIMESTAMP(3) AND kind = 'missing' LIMIT %s",
        (state, limit),
    )
    return [_made(row) for row in rows]


def by_descriptor(tx: Transaction, sd_ids: Sequence[int]) -> dict[int, str]:
    """The descriptors that have a check of the kind `missing` already, with the path that was missing."""
    if not sd_ids:
        return {}
    sql = f"SELECT sd_id, path FROM {{state}}.recheck WHERE sd_id IN ({marks(sd_ids)})"
    return {int(sd_id): decoded(path) for sd_id, path in tx.rows(sql, sd_ids)}


def hasten(tx: Transaction, path: str, wait: float) -> None:
    """What is missing at or below a path was seen to go: it waits the shorter time."""
    tx.execute(
        "UPDATE {state}.recheck SET due = LEAST(due, UTC_TIMESTAMP(3) + INTERVAL %s SECOND)"
        f" WHERE kind = 'missing' AND ({_AT} OR {state.BELOW})",
        (wait, *_at(path), *state.below(encoded(path))),
    )


def missing_at(tx: Transaction, path: str, *, whole: bool) -> list[int]:
    """Storage descriptors that are missing at a path, with `whole` also below it; `MOST_AT_ONCE` at most."""
    rows = tx.rows(
        f"SELECT sd_id FROM {{state}}.recheck WHERE kind = 'missing' AND ({_AT} OR %s AND {state.BELOW}) LIMIT %s",
        (*_at(path), whole, *state.below(encoded(path)), MOST_AT_ONCE),
    )
    return [int(sd_id) for (sd_id,) in rows]


def look_at_once(tx: Transaction, sd_ids: Sequence[int]) -> None:
    """What was missing goes back into the queue and keeps its time; what another session has locked waits until then."""
    sql = f"SELECT SD_ID FROM SDS WHERE SD_ID IN ({marks(sd_ids)}) AND NAME = %s FOR UPDATE SKIP LOCKED"
    requeue(tx, [int(sd_id) for (sd_id,) in tx.rows(sql, (*sd_ids, MISSING))])


def _at(path: str) -> tuple[bytes, bytes]:
    """The arguments of _AT."""
    return encoded(path)[: state.HEAD], encoded(path)


def targets(tx: Transaction) -> list[str]:
    """The targets of moves that are not decided on yet."""
    sql = (
        f"SELECT target FROM {{state}}.recheck WHERE kind IN ({_MOVED}, 'missing') AND target NOT IN ('', '{NOWHERE}')"
    )
    return [decoded(target) for (target,) in tx.rows(sql)]


def follow_target(tx: Transaction, source: str, target: str, txid: int) -> None:
    """What was moved to a path, or below it, before a transaction of the NameNode was moved on in that."""
    rows = tx.rows(
        f"SELECT id, target FROM {{state}}.recheck WHERE kind IN ({_MOVED}) AND txid < %s AND (target = %s OR target LIKE %s)",
        (txid, encoded(source), _beneath(source)),
    )
    moved = [(encoded(fitting(target + decoded(place)[len(source) :])), number) for number, place in rows]
    tx.many("UPDATE {state}.recheck SET target = %s WHERE id = %s", moved)


def lose_target(tx: Transaction, path: str, txid: int) -> None:
    """Note that a path was deleted or overwritten in a transaction of the NameNode.

    What had been moved to that path, or below it, has no place any more.
    """
    tx.execute(
        f"UPDATE {{state}}.recheck SET target = '{NOWHERE}', txid = IF(kind = 'missing', %s, txid)"
        f" WHERE kind IN ({_MOVED}, 'missing') AND txid < %s AND (target = %s OR target LIKE %s)",
        (txid, txid, encoded(path), _beneath(path)),
    )


def believed_moves(tx: Transaction) -> list[PendingCheck]:
    """Directories that went, and of which it is known where they went."""
    sql = f"SELECT {_COLUMNS} FROM {{state}}.recheck WHERE kind IN ({_MOVED}) AND target NOT IN ('', '{NOWHERE}')"
    return [_made(row) for row in tx.rows(sql)]


def forget_targets(tx: Transaction, ids: Sequence[int]) -> None:
    """Forget where the directories of some checks lie."""
    if ids:
        tx.execute(f"UPDATE {{state}}.recheck SET target = '' WHERE id IN ({marks(ids)})", ids)


def forget_missing(tx: Transaction) -> bool:
    """The same of directories that are missing, of `MOST_AT_ONCE` at most; whether there may be more."""
    sql = "SELECT id FROM {state}.recheck WHERE kind = 'missing' AND target NOT IN ('', %s) LIMIT %s"
    ids = [int(number) for (number,) in tx.rows(sql, (NOWHERE, MOST_AT_ONCE))]
    for some in chunks(ids):
        forget_targets(tx, some)
    return len(ids) == MOST_AT_ONCE


def follow_missing(tx: Transaction, source: str, target: str, txid: int, *, followed: bool) -> None:
    """What is missing went along with a directory that was moved, or deleted: `target` is NOWHERE.

    `followed`: whether some target may be at the path or below it. No index finds those.

    `target` of a check says where its directory lies, as far as events told. It went from its own path if nothing has told
    before that it went, or if the event is about exactly that path: then something had come there again.
    """
    was, now = encoded(source), encoded(target)
    own = f"kind = 'missing' AND txid < %s AND ({_AT} OR target = '' AND {state.BELOW})"
    at_target = "kind = 'missing' AND txid < %s AND (target = %s OR target LIKE %s)"
    for column, where, arguments in (
        *([("target", at_target, (was, _beneath(source)))] if followed else []),
        ("path", own, (*_at(source), *state.below(was))),
    ):
        place = "%s" if target == NOWHERE else f"CONCAT(%s, SUBSTRING({column}, %s))"
        there = (now,) if target == NOWHERE else (now, len(was) + 1)
        tx.execute(
            f"UPDATE {{state}}.recheck SET txid = %s,"
            f" target = IF({place} = path OR LENGTH({place}) > {MOST_BYTES}, '', {place}) WHERE {where}",
            (txid, *there, *there, *there, txid, *arguments),
        )


def arrived(tx: Transaction, path: str, txid: int, *, whole: bool) -> None:
    """Something came where it was missing, with `whole` perhaps also below: from now on it lies there."""
    tx.execute(
        "UPDATE {state}.recheck SET target = '', txid = %s"
        f" WHERE kind = 'missing' AND txid < %s AND target <> '' AND ({_AT} OR %s AND {state.BELOW})",
        (txid, txid, *_at(path), whole, *state.below(encoded(path))),
    )


def missing_places(tx: Transaction, sd_ids: Sequence[int]) -> dict[int, str]:
    """Where the directories of missing descriptors lie, as far as events told."""
    found: dict[int, str] = {}
    for some in chunks(sd_ids):
        sql = f"SELECT sd_id, target FROM {{state}}.recheck WHERE kind = 'missing' AND sd_id IN ({marks(some)})"
        found |= {int(sd_id): decoded(target) for sd_id, target in tx.rows(sql, some)}
    return found


def departures(tx: Transaction, paths: Collection[str]) -> list[PendingCheck]:
    """Checks of directories at some paths that went, the oldest first."""
    found = []
    for some in chunks([encoded(path) for path in paths]):
        rows = tx.rows(
            f"SELECT {_COLUMNS} FROM {{state}}.recheck WHERE kind IN ('unlink', {_MOVED}) AND txid > 0"
            f" AND head IN ({marks(some)}) AND path IN ({marks(some)})",
            (*(path[: state.HEAD] for path in some), *some),
        )
        found += [_made(row) for row in rows]
    return sorted(found, key=lambda one: one.txid)


def _beneath(path: str) -> bytes:
    """A pattern for LIKE."""
    return encoded(path).replace(b"\\", b"\\\\").replace(b"%", b"\\%").replace(b"_", b"\\_") + b"/%"


def forget(tx: Transaction, sd_ids: Sequence[int]) -> None:
    """What was missing of some storage descriptors is no longer of interest."""
    if sd_ids:
        _delete(tx, f"sd_id IN ({marks(sd_ids)})", sd_ids)


def finish(tx: Transaction, ids: Sequence[int]) -> None:
    """Their time is over."""
    if ids:
        _delete(tx, f"id IN ({marks(ids)})", ids)


def _delete(tx: Transaction, where: str, arguments: Sequence[int]) -> None:
    """With them, the removals that they have begun are over."""
    for removal in _begun(tx, where, arguments):
        journal.end_removal(tx, removal)
    tx.execute(f"DELETE FROM {{state}}.recheck WHERE {where}", arguments)


def postpone(tx: Transaction, ids: Sequence[int], state: CheckState, message: str, wait: float = HELD_AGAIN) -> None:
    """Give some checks a state, which may be the one that they have, and look at them again after `wait` seconds."""
    if ids:
        tx.execute(
            # From left to right: the time since when a check is held is noted once, although it is looked at again and again.
            # A check that is held keeps its sentence while its rows are locked.
            f"UPDATE {{state}}.recheck SET held_at = {_HELD_AT}, state = %s,"
            " message = IF(%s = '' AND %s IN ('held', 'reported'), message, %s),"
            f" due = UTC_TIMESTAMP(3) + INTERVAL %s SECOND WHERE id IN ({marks(ids)})",
            (state, state, state, message[:1000], state, message[:1000], wait, *ids),
        )


def begin(tx: Transaction, ids: Sequence[int], cause: Cause) -> int:
    """The removal of some checks, one or more; after a crash, or a lock held too long, the one that they have begun."""
    where = f"id IN ({marks(ids)})"
    removal = next(iter(_begun(tx, where, ids)), None) or journal.begin_removal(tx, cause)
    tx.execute(f"UPDATE {{state}}.recheck SET removal = %s WHERE {where} AND removal IS NULL", (removal, *ids))
    return removal


def _begun(tx: Transaction, where: str, arguments: Sequence[int]) -> list[int]:
    sql = f"SELECT DISTINCT removal FROM {{state}}.recheck WHERE {where} AND removal IS NOT NULL ORDER BY removal"
    return [int(removal) for (removal,) in tx.rows(sql, arguments)]


def restores(tx: Transaction) -> list[str]:
    """Paths at and below which something is to come back."""
    return [decoded(path) for (path,) in tx.rows("SELECT DISTINCT path FROM {state}.recheck WHERE kind = 'restore'")]


def replace_returns(tx: Transaction, paths: Collection[str]) -> None:
    """Something came to some paths again: what waits for something since an earlier return there is tried with that."""
    for some in chunks([encoded(path) for path in paths]):
        where = f"head IN ({marks(some)}) AND path IN ({marks(some)})"
        tx.execute(
            f"DELETE FROM {{state}}.recheck WHERE kind = 'restore' AND state = 'waiting' AND message <> '' AND {where}",
            (*(path[: state.HEAD] for path in some), *some),
        )


def look_for_returns(tx: Transaction) -> None:
    """Something came back, or gave a name free: what waits for it may come back too."""
    tx.execute("UPDATE {state}.recheck SET due = UTC_TIMESTAMP(3) WHERE kind = 'restore' AND state = 'waiting'")


# --- a full comparison ------------------------------------------------------------------------------------------------


def is_comparison_unfinished(tx: Transaction) -> bool:
    """Whether a former leader has not finished a full comparison."""
    return bool(tx.value("SELECT EXISTS (SELECT 1 FROM {state}.recheck WHERE state = 'comparing')"))


def forget_comparison(tx: Transaction) -> None:
    """Delete what an unfinished comparison found."""
    tx.execute("DELETE FROM {state}.recheck WHERE state = 'comparing'")


def count_compared(tx: Transaction) -> int:
    """How many descriptors without a directory the comparison has found."""
    return int(tx.value("SELECT COUNT(*) FROM {state}.recheck WHERE state = 'comparing'"))


def end_comparison(tx: Transaction, state: CheckState, message: str, wait: float) -> None:
    """Give what the comparison found a state, to be decided after `wait` seconds."""
    tx.execute(
        f"UPDATE {{state}}.recheck SET held_at = {_HELD_AT}, state = %s, message = %s,"
        " due = UTC_TIMESTAMP(3) + INTERVAL %s SECOND WHERE state = 'comparing'",
        (state, state, state, message, wait),
    )


# --- what waits for a human -------------------------------------------------------------------------------------------


def is_any_held(tx: Transaction, but: Sequence[str] = ()) -> bool:
    """Whether a check is held, other than those of the directories `but`; all of the kind `missing` count."""
    others = f" AND NOT (kind <> 'missing' AND path IN ({marks(but)}))" if but else ""
    sql = f"SELECT EXISTS (SELECT 1 FROM {{state}}.recheck WHERE state = 'held'{others})"
    return bool(tx.value(sql, [encoded(path) for path in but]))


def approve(tx: Transaction, paths: Sequence[str], until: str | None) -> int:
    """Approve what waits at or below some paths, without any everything; not what waits since later than `until`.

    Returns how many checks those are.
    """
    where, arguments = waiting_for_humans(paths)
    return tx.execute(
        f"UPDATE {{state}}.recheck SET state = 'approved', held_at = NULL, due = UTC_TIMESTAMP(3) WHERE {where}"
        " AND (%s IS NULL OR held_at <= CAST(%s AS DATETIME(3)))",
        [*arguments, until, until],
    )


def waiting_for_humans(paths: Sequence[str]) -> tuple[str, list[object]]:
    """The condition, and its arguments, for what is held or reported; with paths only at or below one of them."""
    waits = "state IN ('held', 'reported')"
    if not paths:
        return waits, []
    where, arguments = state.at_or_below([encoded(path) for path in paths])
    return f"{waits} AND {where}", [*arguments]


def _made(row: Row) -> PendingCheck:
    number, kind, path, target, inode, sd_id, txid, event_at, state, removal = row
    return PendingCheck(kind, decoded(path), decoded(target), inode, sd_id, txid, event_at, state, number, removal)
