"""The fuse: more than a warehouse normally loses is not removed before a human has said so.

Two things blow it: more objects within a time window than `max_removals`, and the end of a directory that holds whole
databases, however few. It is whole again when a human approves, or when nothing that it holds is missing any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.paths import is_below
from hopshive.state import read_setting, write_setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hopshive.database import Transaction
    from hopshive.mirror.context import Context

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


def blow(context: Context, tx: Transaction, sentence: str) -> None:
    """Hold all removals from now on."""
    if why(tx) is None:
        write_setting(tx, SETTING, sentence[:LONGEST])
    context.metrics.fuse_blown.set(1)


def mend(context: Context, tx: Transaction, *, force: bool = False) -> bool:
    """Make it whole if it holds nothing any more, or by `force`; whether it is whole."""
    if not force and tx.value("SELECT EXISTS (SELECT 1 FROM {state}.recheck WHERE state = 'held')"):
        return False
    write_setting(tx, SETTING, None)
    context.metrics.fuse_blown.set(0)
    return True


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
