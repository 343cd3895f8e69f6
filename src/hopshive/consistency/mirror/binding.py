"""Binding: descriptors that no leader has looked at are a work queue; each gets its foreign key, or a pending check.

The metastore takes no part in this and never waits: rows that it has locked are left for the next turn.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.drops import owned
from hopshive.consistency.mirror import queue
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.pending_check import PendingCheck
from hopshive.consistency.mirror.tree import MISSING, NOT_OURS, bind, lock, mark, write_chains
from hopshive.database import marks
from hopshive.errors import Refused
from hopshive.hdfs.paths import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.decision import Rebind
    from hopshive.consistency.mirror.survey import Spared
    from hopshive.consistency.mirror.tree import Found, Replaced
    from hopshive.database import Transaction

log = logging.getLogger(__name__)
_QUEUE = "PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL"


# Whether a storage descriptor is a table's or a partition's.
_TAKEN = "SELECT (SELECT COUNT(*) FROM TBLS WHERE SD_ID = %s) + (SELECT COUNT(*) FROM PARTITIONS WHERE SD_ID = %s)"


@dataclass(frozen=True, slots=True)
class Home:
    """A database: where its directories may be on our file system, as (location, path), and its location on another one."""

    db_id: int
    locations: tuple[tuple[str, str], ...]
    elsewhere: str | None

    @property
    def sd_id(self) -> int:
        """Of its storage descriptor: the metastore counts on above zero (hopshive.consistency.schema sees to that)."""
        return -self.db_id


def bind_some(context: Context) -> int:
    """One batch of the queue; how many left it. Raises NameNodeError and DatabaseError."""
    return _bind_descriptors(context) + _bind_databases(context)


def _bind_descriptors(context: Context) -> int:
    locations = _queue(context)
    if not locations:
        return 0
    paths = {sd_id: context.file_system.path_of(location) for sd_id, location in locations.items()}
    found = look(context.namenode, [path for path in paths.values() if path])
    return _bind_those(context, locations, paths, found)


def _queue(context: Context) -> dict[int, str]:
    """A batch of the queue: sd_id to location."""
    limit = context.config.mirror.batch
    sql = f"SELECT SD_ID, LOCATION FROM SDS WHERE {_QUEUE} LIMIT %s"
    if context.database.skips_locked:
        with context.database.reading() as tx:
            # A batch of what another session has locked would keep all that comes after it waiting.
            return {int(sd_id): location for sd_id, location in tx.rows(f"{sql} FOR UPDATE SKIP LOCKED", (limit,))}
    with context.database.reading() as tx:
        rows = {int(sd_id): location for sd_id, location in tx.rows(sql, (limit + len(context.locked),))}
    return {sd_id: rows[sd_id] for sd_id in context.locked.free(rows)[:limit]}


def _bind_those(context: Context, locations: Mapping[int, str], paths: Mapping[int, str | None], found: Found) -> int:
    """Bind some descriptors that no session has locked; how many left the queue."""

    def work(tx: Transaction, sd_ids: Sequence[int]) -> list[int]:
        free = lock(tx, {sd_id: locations[sd_id] for sd_id in sd_ids})
        mark(tx, [sd_id for sd_id in free if paths[sd_id] is None], NOT_OURS)
        for sd_id in free:
            if context.file_system.has_no_room(locations[sd_id]):
                log.warning("%.200s... is not followed: its path has more than %d bytes.", locations[sd_id], MOST_BYTES)
        bind_locked(context, tx, {sd_id: path for sd_id in free if (path := paths[sd_id]) is not None}, found)
        return free

    free = [sd_id for some in context.locked.spare(context.database, locations, work) for sd_id in some]
    for sd_id in free:
        if path := paths[sd_id]:
            context.known.add(path)
            context.renamed = context.renamed or path in context.targets
    return len(free)


def bind_locked(context: Context, tx: Transaction, paths: Mapping[int, str], found: Found) -> list[int]:
    """Bind those of some locked descriptors, sd_id to path, whose directory is there, and note the others as missing.

    Returns the missing ones. What changed while the NameNode was asked is neither, and stays in the queue.
    """
    keys = {sd_id: key for sd_id, path in paths.items() if (key := found.key(path))}
    replaced = write_chains(tx, found, {paths[sd_id] for sd_id in keys})
    _check_replaced(context, tx, replaced)
    bind(tx, keys)
    owned.note(tx, {sd_id: (paths[sd_id], found.ids[paths[sd_id]]) for sd_id in keys})
    mark(tx, [sd_id for sd_id, path in paths.items() if path == "/"], NOT_OURS)  # it never goes
    absent = {sd_id: path for sd_id, path in paths.items() if path not in found.ids}
    note_missing(context, tx, absent)
    context.metrics.bindings.inc(len(keys))
    return list(absent)


def note_missing(context: Context, tx: Transaction, paths: Mapping[int, str]) -> None:
    """Take descriptors out of the queue until their grace has passed: sd_id to path."""
    mark(tx, sorted(paths), MISSING)
    for path in paths.values():
        context.missing.add(path)
    noted = queue.by_descriptor(tx, sorted(paths))
    fresh = {sd_id: path for sd_id, path in paths.items() if noted.get(sd_id) != path}
    queue.forget(tx, [sd_id for sd_id in fresh if sd_id in noted])
    wait = context.config.mirror.unbound_grace
    queue.add(tx, [(PendingCheck("missing", path, sd_id=sd_id), wait) for sd_id, path in fresh.items()])


def rebind(context: Context, wanted: Rebind) -> bool:
    """Bind descriptors to what their directories are now; False if other transactions had locked some of them."""
    if not wanted.keys:
        return True
    with context.database.transaction() as tx:
        free = lock(tx, wanted.moved)
        replaced = write_chains(tx, wanted.found, set(wanted.paths.values()))
        _check_replaced(context, tx, replaced)
        bind(tx, {sd_id: wanted.keys[sd_id] for sd_id in free})
        owned.note(tx, {sd_id: (path, wanted.found.ids[path]) for sd_id, path in wanted.paths.items()})
    return len(free) == len(wanted.moved)


def _check_replaced(context: Context, tx: Transaction, replaced: Iterable[Replaced]) -> None:
    """Add a check of each directory that was replaced and below which something is mirrored."""
    grace = context.config.mirror.grace
    queue.add(tx, [(PendingCheck("unlink", one.path, inode=one.inode), grace) for one in replaced])


# --- databases --------------------------------------------------------------------------------------------------------


def _bind_databases(context: Context) -> int:
    limit = context.config.mirror.batch
    with context.database.reading() as tx:
        condition = "SD_ID IS NULL AND NAME <> 'default' LIMIT %s"
        read = read_homes(context, tx, condition, (limit + len(context.locked_databases),))
    homes = {home.db_id: home for home in read}
    db_ids = context.locked_databases.free(homes)[:limit]
    if not db_ids:
        return 0
    found = look(context.namenode, [path for db_id in db_ids for _, path in homes[db_id].locations])

    def work(tx: Transaction, some: Sequence[int]) -> int:
        # Those that were dropped, or moved, while the NameNode was asked are left for the next turn.
        condition = f"SD_ID IS NULL AND DB_ID IN ({marks(some)}) FOR UPDATE SKIP LOCKED"
        free = [home for home in read_homes(context, tx, condition, some) if home == homes[home.db_id]]
        for home in free:
            bind_database(context, tx, home, found)
            tx.execute("UPDATE DBS SET SD_ID = %s WHERE DB_ID = %s", (home.sd_id, home.db_id))
        return len(free)

    return sum(context.locked_databases.spare(context.database, db_ids, work))


def read_homes(context: Context, tx: Transaction, condition: str, arguments: Iterable[object]) -> list[Home]:
    """Databases that fulfil a condition."""
    sql = f"SELECT DB_ID, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS WHERE {condition}"
    homes = []
    for db_id, *locations in tx.rows(sql, tuple(arguments)):
        placed = [(text, context.file_system.path_of(text)) for text in locations if text]
        ours = tuple((text, path) for text, path in placed if path is not None)
        homes.append(Home(int(db_id), ours, next((text for text, path in placed if path is None), None)))
    return homes


def bind_database(context: Context, tx: Transaction, home: Home, found: Found) -> bool:
    """Write a database's storage descriptor and bind it to a directory that is there; whether one is, or is not ours."""
    for _, path in home.locations:
        context.known.add(path)
    location, path = next(((text, path) for text, path in home.locations if path in found.ids), (home.elsewhere, ""))
    if location is None and home.locations:
        location, path = home.locations[0]
    there = tx.row("SELECT LOCATION FROM SDS WHERE SD_ID = %s FOR UPDATE", (home.sd_id,))
    if there is None:
        tx.execute(
            "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)"
            " VALUES (%s, b'0', b'0', 0, %s)",
            (home.sd_id, location),
        )
    elif tx.value(_TAKEN, (home.sd_id, home.sd_id)):
        raise Refused(
            f"In SDS the number {home.sd_id} is that of the database {home.db_id}, but the metastore has given it to a table or"
            " partition. Nothing was changed: run site.yml, which lets it count on above zero, then drop and add that one."
        )
    elif there[0] != location:
        # The trigger unbinds what has another location now; so binding is a statement of its own.
        tx.execute("UPDATE SDS SET LOCATION = %s WHERE SD_ID = %s", (location, home.sd_id))
    if not path:
        mark(tx, [home.sd_id], NOT_OURS)
        return True
    return not bind_locked(context, tx, {home.sd_id: path}, found)


def spare(context: Context, spared: Spared) -> None:
    """Bind databases that have lost one directory to the other one."""
    if spared.homes:
        with context.database.transaction() as tx:
            for home in spared.homes:
                bind_database(context, tx, home, spared.found)
