"""What waits for a human, held by the fuse or reported by the policy: what it is, and how a human releases it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import queue_reports
from hopshive.consistency.mirror.pending_check import NOWHERE
from hopshive.consistency.mirror.tree import rows_of, subtree
from hopshive.hdfs.paths import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from hopshive.database import Database

# Rows of one page of a walk.
PAGE_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Held:
    """A directory that waits for a human. `since` is UTC.

    Of the kind `missing`, which may be a million, one stands for all that lie in the directory `path`. `objects`: how many
    databases, tables and partitions refer to it, or lie below.
    """

    path: str
    kind: str
    state: str
    target: str
    objects: int
    since: datetime
    why: str


def read(database: Database, paths: Sequence[str] = ()) -> list[Held]:
    """All that waits, or what lies at or below one of some paths; what is held first comes first.

    What has no object any more (dropped since) does not wait: the leader lets go of it when it looks again.
    """
    with database.reading() as tx:
        rows = queue_reports.held_directories(tx, paths)
        missing = queue_reports.held_missing(tx, paths)
    found = [
        Held(decoded(path), kind, is_, _place(target), _objects(database, decoded(path), inode), since, why)
        for path, kind, is_, target, inode, since, why in rows
    ]
    return [one for one in found if one.objects] + [
        Held(decoded(path), "missing", is_, "", int(count), since, why) for path, is_, count, since, why in missing
    ]


def shown_until(held: Iterable[Held]) -> str:
    """What an approval names beside paths: the leader holds one thing after the other, so what it holds later is not meant."""
    return max(one.since for one in held).isoformat(sep=" ", timespec="milliseconds")


def _place(target: bytes) -> str:
    """Where a directory lies; empty if that is unknown, or nowhere."""
    return "" if decoded(target) == NOWHERE else decoded(target)


def _objects(database: Database, path: str, inode: int | None) -> int:
    with database.reading() as tx:
        row = rows_of(tx, [path]).get(path)
    sd_ids = [one.sd_id for page in subtree(database, row[0] if row else None, inode, PAGE_ROWS) for one in page]
    return len(sd_ids)
