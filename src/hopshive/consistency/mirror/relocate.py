"""The policy `follow`: the metastore's locations are moved along with a directory that was moved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import queue
from hopshive.consistency.mirror.binding import read_homes
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.tree import lock
from hopshive.database import GIVEN, given, marks
from hopshive.hdfs.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck
    from hopshive.consistency.mirror.tree import Bound
    from hopshive.database import Transaction

_URI = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*", re.IGNORECASE)


def moved(location: str, path: str, source: str, target: str) -> str | None:
    """The location that `location`, whose path is `path`, has after `source` became `target`; None if it lies elsewhere."""
    if not is_below(path, source):
        return None
    uri = _URI.match(location)
    return (uri.group() if uri else "") + target + path[len(source) :]


def relocate(context: Context, check: PendingCheck, pages: Iterable[Sequence[Bound]]) -> bool:
    """Move the locations of descriptors, page by page, and look again at once; False if some have no place to go to.

    The trigger puts each descriptor back in the queue, which binds it to its new place.
    """
    whole = True
    for page in pages:
        wanted: dict[int, str] = {}
        for one in page:
            path = context.file_system.path_of(one.location) or ""
            place = moved(one.location, path, check.path, check.target)
            if place:
                wanted[one.sd_id] = place
        paths = {sd_id: context.file_system.path_of(place) or "" for sd_id, place in wanted.items()}
        found = look(context.namenode, paths.values())
        there = {sd_id: place for sd_id, place in wanted.items() if paths[sd_id] in found.ids}
        whole = whole and len(there) == len(page)
        with context.database.transaction() as tx:
            free = lock(tx, {one.sd_id: one.location for one in page if one.sd_id in there})
            tx.many("UPDATE SDS SET LOCATION = %s WHERE SD_ID = %s", [(there[sd_id], sd_id) for sd_id in free])
            _move_paths(context, tx, check, free)
    if whole:
        with context.database.transaction() as tx:
            _move_databases(context, tx, check)
            queue.postpone(tx, [check.id], "waiting", "", wait=0)
    return whole


def _move_paths(context: Context, tx: Transaction, check: PendingCheck, sd_ids: Sequence[int]) -> None:
    """What Spark takes for the location of its tables (HiveExternalCatalog.restoreDataSourceTable)."""
    if not sd_ids:
        return
    rows = tx.rows(
        "SELECT p.SERDE_ID, p.PARAM_VALUE FROM SDS s JOIN SERDE_PARAMS p ON p.SERDE_ID = s.SERDE_ID"
        f" WHERE p.PARAM_KEY = 'path' AND s.SD_ID IN ({marks(sd_ids)}) FOR UPDATE",
        sd_ids,
    )
    places = {
        serde: place
        for serde, location in rows
        if (path := context.file_system.path_of(location))
        and (place := moved(location, path, check.path, check.target))
    }
    tx.many(
        "UPDATE SERDE_PARAMS SET PARAM_VALUE = %s WHERE SERDE_ID = %s AND PARAM_KEY = 'path'",
        [(place, serde) for serde, place in places.items()],
    )


def _move_databases(context: Context, tx: Transaction, check: PendingCheck) -> None:
    """Both locations of a database, of which it is bound to one."""
    homes = read_homes(context, tx, "NAME <> 'default'", ())
    db_ids = [home.db_id for home in homes if any(is_below(path, check.path) for _, path in home.locations)]
    if not db_ids:
        return
    sql = f"SELECT d.DB_ID, d.DB_LOCATION_URI, d.DB_MANAGED_LOCATION_URI FROM {GIVEN} STRAIGHT_JOIN DBS d ON d.DB_ID = v.id"
    for db_id, *locations in tx.rows(f"{sql} FOR UPDATE", [given(db_ids)]):
        places = []
        for location in locations:
            path = context.file_system.path_of(location)
            places.append((moved(location, path, check.path, check.target) if path else None) or location)
        tx.execute(
            "UPDATE DBS SET DB_LOCATION_URI = %s, DB_MANAGED_LOCATION_URI = %s WHERE DB_ID = %s", (*places, db_id)
        )
