"""The fuse: more than a warehouse normally loses is not removed before a human has said so.

More objects within a time window than `max_removals` blow it: then it holds all removals. It is whole again when a human has
approved what it holds, or when nothing of that is missing any more. The end of a directory that holds whole databases,
however few, is held alone: others are followed meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency.mirror import queue
from hopshive.database.state import read_setting, write_setting
from hopshive.hdfs.paths import is_below, prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hopshive.consistency.mirror.context import Context
    from hopshive.database import Transaction

SETTING = "fuse"
# Characters of a sentence; a path in it may have 4000.
LONGEST = 1000
# Since when removals count, as the database writes a time, UTC: what a human has approved does not.
SINCE = "fuse_since"


def allowance(context: Context, tx: Transaction) -> int:
    """How many objects may be removed now: none while the fuse is blown."""
    if why(tx) is not None:
        return 0
    spent = tx.value(
        "SELECT COALESCE(SUM(objects), 0) FROM {state}.removal"
        " WHERE ended IS NULL OR ended > GREATEST(UTC_TIMESTAMP(3) - INTERVAL %s SECOND, CAST(%s AS DATETIME(3)))",
        (context.config.mirror.fuse_window, read_setting(tx, SINCE) or "1970-01-01"),
    )
    return max(0, context.config.mirror.max_removals - int(spent))


def why(tx: Transaction) -> str | None:
    """Why it is blown, a sentence; None if it is whole."""
    return read_setting(tx, SETTING)


def blow(context: Context, tx: Transaction, sentence: str) -> bool:
    """Hold all removals from now on; False if the fuse had blown before."""
    whole = why(tx) is None
    if whole:
        write_setting(tx, SETTING, sentence[:LONGEST])
    context.metrics.fuse_blown.set(1)
    return whole


def mend(context: Context, tx: Transaction) -> None:
    """Make it whole if it holds nothing any more but directories above whole databases, which are held alone."""
    above = sorted({parent for home in read_protected(context, tx) for parent in _above(home)})
    if queue.is_any_held(tx, but=above):
        return
    write_setting(tx, SETTING, None)
    show(context, tx)


def show(context: Context, tx: Transaction) -> None:
    """Tell by the metric whether something is held."""
    context.metrics.fuse_blown.set(int(queue.is_any_held(tx) or why(tx) is not None))


def _above(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[:depth]) for depth in range(len(parts))]


def begin_anew(tx: Transaction) -> None:
    """A human has approved what went until now: it does not count."""
    write_setting(tx, SINCE, str(tx.value("SELECT UTC_TIMESTAMP(3)")))


def read_protected(context: Context, tx: Transaction) -> list[str]:
    """The directories of all databases: one that lies above any of them is not an object's own directory.

    Of `default`, which is never removed, the directory itself counts as one above.
    """
    paths = []
    for name, *locations in tx.rows("SELECT NAME, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS"):
        for location in locations:
            path = context.file_system.path_of(location)
            if path:
                paths.append(path + "/default" if name == "default" else path)
    return paths


def is_protected(path: str, homes: Iterable[str]) -> bool:
    """Whether a directory lies above a database's."""
    return any(home != path and is_below(home, path) for home in homes)


def protected_above(path: str, homes: Iterable[str]) -> list[str]:
    """The directories above a path that hold whole databases, the highest first."""
    return [prefix for prefix in list(prefixes(path))[:-1] if is_protected(prefix, homes)]
