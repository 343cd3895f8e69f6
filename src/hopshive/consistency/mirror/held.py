"""What waits for a human, held by the fuse or reported by the policy: what it is, and how it is let go of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.mirror.queue import NOWHERE
from hopshive.consistency.mirror.tree import rows_of, subtree
from hopshive.database import state
from hopshive.hdfs.paths import decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from hopshive.database import Database, Transaction

# Rows of one page of a walk.
PAGE = 1000
_WAITS = "state IN ('held', 'reported')"
# The directory above a path.
_PARENT = "LEFT(path, GREATEST(1, LENGTH(path) - LOCATE('/', REVERSE(path))))"


@dataclass(frozen=True, slots=True)
class Held:
    """A directory that waits for a human. `since` is UTC.

    Of the kind `missing`, which may be a million, one stands for all that lie in the directory `path`. `objects`: how many
    databases, tables and partitions refer to it, or lie beneath.
    """

    path: str
    kind: str
    state: str
    target: str
    objects: int
    since: datetime
    why: str


def read(database: Database, paths: Sequence[str] = ()) -> list[Held]:
    """All that waits, or what lies at or beneath one of some paths; what is held first comes first.

    What has no object any more (dropped since) does not wait: the leader lets go of it when it looks again.
    """
    where, arguments = _condition(paths)
    with database.reading() as tx:
        rows = tx.rows(
            "SELECT path, kind, state, target, inode, held_at, message FROM {state}.recheck"
            f" WHERE kind <> 'missing' AND {where} ORDER BY held_at, id",
            arguments,
        )
        missing = tx.rows(
            f"SELECT {_PARENT}, 'missing', state, '', COUNT(*), MAX(held_at), MIN(message) FROM {{state}}.recheck"
            f" WHERE kind = 'missing' AND {where} AND EXISTS (SELECT 1 FROM SDS s WHERE s.SD_ID = recheck.sd_id)"
            " GROUP BY 1, state ORDER BY 6, 1",
            arguments,
        )
    found = [
        Held(decoded(path), kind, is_, _place(target), _objects(database, decoded(path), inode), since, why)
        for path, kind, is_, target, inode, since, why in rows
    ]
    return [one for one in found if one.objects] + [
        Held(decoded(path), kind, is_, "", int(count), since, why) for path, kind, is_, _, count, since, why in missing
    ]


def approve(tx: Transaction, paths: Sequence[str], until: str | None) -> int:
    """Let go of what lies at or beneath some paths, without any of all; not of what is held since later than `until`."""
    where, arguments = _condition(paths)
    return tx.execute(
        f"UPDATE {{state}}.recheck SET state = 'approved', held_at = NULL, due = UTC_TIMESTAMP(3) WHERE {where}"
        " AND (%s IS NULL OR held_at <= CAST(%s AS DATETIME(3)))",
        [*arguments, until, until],
    )


def shown_until(held: Iterable[Held]) -> str:
    """What an approval names beside paths: the leader holds one thing after the other, so what it holds later is not meant."""
    return max(one.since for one in held).isoformat(sep=" ", timespec="milliseconds")


def _condition(paths: Sequence[str]) -> tuple[str, list[object]]:
    if not paths:
        return _WAITS, []
    where, arguments = state.at_or_beneath([encoded(path) for path in paths])
    return f"{_WAITS} AND {where}", [*arguments]


def _place(target: bytes) -> str:
    """Where a directory lies; empty if that is unknown, or nowhere."""
    return "" if decoded(target) == NOWHERE else decoded(target)


def _objects(database: Database, path: str, inode: int | None) -> int:
    with database.reading() as tx:
        row = rows_of(tx, [path]).get(path)
    sd_ids = [one.sd_id for page in subtree(database, row[0] if row else None, inode, PAGE) for one in page]
    return len(sd_ids)
