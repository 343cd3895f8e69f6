"""Removing objects whose directory is gone: leaves first, in transactions of a bounded number of objects.

Each transaction locks the owner rows, reads all that the deletion will take (hopshive.metastore.closure) and what belongs to
the objects by name (hopshive.metastore.transactional), writes it into the journal, and deletes the storage descriptors: the
foreign keys do the rest. What has been done is in the database and nowhere else, so a removal that was interrupted is simply
continued.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopshive.consistency.drops import owned
from hopshive.consistency.journal.batch import NAME_BYTES, TABLE_OF, Object, ObjectKind, choose, describe, unowned
from hopshive.consistency.journal.content import encode, fragment
from hopshive.database import DatabaseError, chunks, marks
from hopshive.hdfs.paths import path_hash
from hopshive.metastore import transactional
from hopshive.metastore.closure import (
    BINDING,
    OWNERS,
    Graph,
    SharedObject,
    TableRows,
    collect,
    delete,
    finish,
    graph,
    referred,
    select,
)
from hopshive.metastore.transactional import Scope, replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from hopshive.database import Transaction
    from hopshive.hdfs.paths import FileSystem


@dataclass(frozen=True, slots=True)
class Cause:
    """Why objects are removed. `target`: where a directory was moved to. `txid`: of the NameNode's event, 0 without one."""

    kind: Literal["unlink", "trash", "rename", "missing", "check"]
    path: str
    target: str = ""
    txid: int = 0
    event_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Removed:
    """An object that is gone. `name`: hive.db, hive.db.table, hive.db.table/part=1. `path`: empty for a view."""

    kind: ObjectKind
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one transaction. `done`: no object that owns any of the descriptors is left."""

    removed: list[Removed]
    done: bool


class Unknown(Exception):
    """It is to be found first which directories lay last where some descriptors point, by sd_id. Nothing was done."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        super().__init__(f"The last directories of {len(paths)} descriptors are unknown")
        self.paths = paths


def begin_removal(tx: Transaction, cause: Cause) -> int:
    """A row that what is removed for one reason stands under; its number."""
    tx.execute(
        "INSERT INTO {state}.removal (kind, path, target, txid, event_at, begun)"
        " VALUES (%s, %s, %s, %s, %s, UTC_TIMESTAMP(3))",
        (cause.kind, _bytes(cause.path), _bytes(cause.target), cause.txid, cause.event_at),
    )
    return tx.last_id


def end_removal(tx: Transaction, removal: int) -> None:
    """All its batches are done."""
    tx.execute("UPDATE {state}.removal SET ended = UTC_TIMESTAMP(3) WHERE id = %s AND ended IS NULL", (removal,))


def remove_next(
    tx: Transaction,
    removal: int,
    sd_ids: Sequence[int],
    fs: FileSystem,
    limit: int,
    inodes: Mapping[int, int | None] | None = None,
) -> Progress:
    """Remove up to `limit` objects that own the descriptors, or depend on one that does.

    `inodes`: which directory lay last where each descriptor points; without, the journal gets those of bound ones.
    Objects that are gone already are fine. A database `default` is never removed. Raises ClosureError, Unknown if
    `inodes` lacks some, and Contention if another session holds or writes the same rows: the transaction must be rolled back, and
    the same may succeed later.
    """
    keys = graph(tx)
    removed: list[Removed] = []
    for some in chunks(sorted(set(sd_ids))):
        batch, complete = choose(tx, keys, some, limit - len(removed))
        removed += _remove(tx, keys, removal, "partition", batch.partitions, fs, inodes)
        removed += _remove(tx, keys, removal, "table", batch.tables, fs, inodes)
        removed += _remove(tx, keys, removal, "database", batch.databases, fs, inodes)
        if complete:
            _offer(tx, "SDS", unowned(tx, some))
        if not complete or len(removed) >= limit:
            break
    else:
        complete = True
    if removed:
        tx.execute("UPDATE {state}.removal SET objects = objects + %s WHERE id = %s", (len(removed), removal))
    return Progress(removed, complete and len(removed) < limit)


def _remove(
    tx: Transaction,
    keys: Graph,
    removal: int,
    kind: ObjectKind,
    ids: Sequence[int],
    fs: FileSystem,
    inodes: Mapping[int, int | None] | None,
) -> list[Removed]:
    """Journal and delete objects of one kind that nothing depends on any more."""
    if not ids:
        return []
    objects = describe(tx, kind, ids)
    table = TABLE_OF[kind]
    locations = _hold(tx, keys, objects)
    _bound(tx, objects)
    if inodes is not None:
        _note_last(objects, locations, fs, inodes)
    kept = _kept(tx, keys, table, objects)
    seeds = {
        table: {one.id: number for number, one in enumerate(objects)},
        "SDS": {one.sd_id: n for n, one in enumerate(objects) if one.sd_id is not None and one.sd_id not in kept},
    }
    views = _materialized(tx, objects) if kind == "table" else {}
    if views:
        seeds["MV_CREATION_METADATA"] = views
    found = collect(tx, keys, seeds)
    _add_of_views(tx, keys, found, views)
    _locate(kind, objects, found, locations, fs)
    _unbind(found)
    shared = referred(tx, keys, found)
    for number, one in enumerate(objects):
        if one.sd_id is not None and one.sd_id in kept:
            shared.setdefault(number, []).extend(kept[one.sd_id])
    named = transactional.take(tx, keys, _scopes(kind, objects))
    _write(tx, removal, keys.version, objects, found, shared, named)
    _offer_shared(tx, shared)
    for key in keys.children("MV_CREATION_METADATA") if views else []:
        delete(tx, keys.tables[key.table], key.column, views)
    delete(tx, keys.tables["MV_CREATION_METADATA"], "MV_CREATION_METADATA_ID", views)
    if kind == "table":
        owned.forget(tx, [one.id for one in objects])
    _delete(tx, keys, table, objects, found)
    return [Removed(one.kind, one.name, one.path) for one in objects]


def _delete(
    tx: Transaction, keys: Graph, table: str, objects: Sequence[Object], found: Mapping[str, TableRows]
) -> None:
    """Delete the descriptors, and with them all else; and the owners without a descriptor of their own."""
    sds = set(found["SDS"].column("SD_ID")) if "SDS" in found else set()
    owners, key = keys.tables[table], OWNERS[table]
    gone = delete(tx, keys.tables["SDS"], "SD_ID", sds)
    alone = [one.id for one in objects if one.sd_id not in sds]
    gone += delete(tx, owners, key, alone)
    if keys.forgetful:
        finish(tx, keys, found)
    left = select(tx, owners, (key,), key, [one.id for one in objects])
    meant = len(sds) + len(alone)
    if left or gone != meant:
        # The rows were locked: this cannot happen while the foreign keys are what was read.
        raise DatabaseError(
            f"The deletion of {len(objects)} rows of {table}, {objects[0].name} first, took others than the foreign keys say"
            f" ({gone} of {meant} deleted, {len(left)} of {table} left): nothing was removed."
            " Was the schema changed while hopshive ran? Restart it."
        )


def _hold(tx: Transaction, keys: Graph, objects: Sequence[Object]) -> dict[int | None, str | None]:
    """The locations of the descriptors. Locked from now on, so no other session can take one of them."""
    sds = [one.sd_id for one in objects if one.sd_id is not None]
    return dict(select(tx, keys.tables["SDS"], ("SD_ID", "LOCATION"), "SD_ID", sds, "FOR UPDATE"))


def _kept(tx: Transaction, keys: Graph, table: str, objects: Sequence[Object]) -> dict[int, list[SharedObject]]:
    """Descriptors that more than one object owns. They stay, and are put back like other shared rows, with what is theirs."""
    sds = {one.sd_id for one in objects if one.sd_id is not None}
    mine = {one.id for one in objects}
    seen: set[int] = set()
    kept: dict[int, list[SharedObject]] = {}
    for owner, key in OWNERS.items():
        for sd_id, id_ in select(tx, keys.tables[owner], ("SD_ID", key), "SD_ID", sorted(sds)):
            if sd_id in seen or owner != table or id_ not in mine:
                kept[sd_id] = []
            seen.add(sd_id)
    for sd_id, parts in kept.items():
        rows = collect(tx, keys, {"SDS": {sd_id: 0}})
        _unbind(rows)
        parts += [*referred(tx, keys, rows).get(0, []), SharedObject("SDS", sd_id, rows)]
    return kept


def _bound(tx: Transaction, objects: Sequence[Object]) -> None:
    """Find the inodes."""
    by_sd = {one.sd_id: one for one in objects if one.sd_id is not None}
    for some in chunks(by_sd):
        sql = (
            "SELECT s.SD_ID, i.id FROM SDS s JOIN {inodes} i ON i.partition_id = s.PARTITION_ID"
            f" AND i.parent_id = s.PARENT_ID AND i.name = s.NAME WHERE s.SD_ID IN ({marks(some)})"
        )
        for sd_id, inode in tx.rows(sql, some):
            by_sd[sd_id].inode = inode


def _note_last(
    objects: Sequence[Object],
    locations: Mapping[int | None, str | None],
    fs: FileSystem,
    inodes: Mapping[int, int | None],
) -> None:
    """Note which directories lay there last: a bound one may have been replaced since. Raises Unknown."""
    unknown: dict[int, str] = {}
    for one in objects:
        path = fs.path_of(locations.get(one.sd_id))
        if one.sd_id is None or path is None:
            continue
        if one.sd_id not in inodes:
            unknown[one.sd_id] = path
        elif one.inode is None:
            one.inode = inodes[one.sd_id]
        elif inodes[one.sd_id] != one.inode:
            # None, or zero, where it is not there any more.
            one.replacement = inodes[one.sd_id] or None
    if unknown:
        raise Unknown(unknown)


def _locate(
    kind: ObjectKind,
    objects: Sequence[Object],
    found: Mapping[str, TableRows],
    locations: Mapping[int | None, str | None],
    fs: FileSystem,
) -> None:
    """Find the paths."""
    for one in objects:
        one.path = fs.path_of(locations.get(one.sd_id)) or ""
    if kind == "database":
        uris = found["DBS"].column("DB_LOCATION_URI")
        for one, uri in zip((objects[number] for number in found["DBS"].owners), uris, strict=True):
            one.path = one.path or fs.path_of(uri) or ""


def _materialized(tx: Transaction, objects: Sequence[Object]) -> dict[int, int]:
    """Metadata of materialized views among tables: it has their name only."""
    number = {one.id: at for at, one in enumerate(objects)}
    sql = (
        "SELECT m.MV_CREATION_METADATA_ID, t.TBL_ID FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID"
        " JOIN MV_CREATION_METADATA m ON m.TBL_NAME = t.TBL_NAME AND m.DB_NAME = d.NAME AND m.CAT_NAME = d.CTLG_NAME"
        " WHERE t.TBL_TYPE = 'MATERIALIZED_VIEW' AND t.TBL_ID"
    )
    return {
        view: number[table] for some in chunks(number) for view, table in tx.rows(f"{sql} IN ({marks(some)})", some)
    }


def _add_of_views(tx: Transaction, keys: Graph, found: dict[str, TableRows], views: Mapping[int, int]) -> None:
    """What refers to the metadata of materialized views: its keys do not cascade."""
    for key in keys.children("MV_CREATION_METADATA") if views else []:
        columns = keys.tables[key.table].columns
        rows = found.setdefault(key.table, TableRows(columns))
        known = set(rows.rows)
        at = columns.index(key.column)
        for row in select(tx, keys.tables[key.table], columns, key.column, views, "FOR UPDATE"):
            if row not in known:
                rows.rows.append(row)
                rows.owners.append(views[row[at]])


def _scopes(kind: ObjectKind, objects: Sequence[Object]) -> list[Scope]:
    """What has transactional state: Hive clears it for transactional tables, and for every database."""
    return [
        Scope(number, *one.names[1:])
        for number, one in enumerate(objects)
        if one.names[0] == transactional.CATALOG and one.names[1] and (one.transactional or kind == "database")
    ]


def _unbind(found: Mapping[str, TableRows]) -> None:
    """Forget the inode that descriptors are bound to: it is of the moment."""
    if "SDS" in found:
        rows = found["SDS"]
        unbound = {rows.columns.index(column): None for column in BINDING}
        rows.rows = [replaced(row, unbound) for row in rows.rows]


def _write(
    tx: Transaction,
    removal: int,
    version: str,
    objects: Sequence[Object],
    found: Mapping[str, TableRows],
    shared: Mapping[int, Sequence[SharedObject]],
    named: Mapping[int, Mapping[str, TableRows]],
) -> None:
    """One entry for each object."""
    rows: list[dict[str, TableRows]] = [{} for _ in objects]
    for table, all_rows in found.items():
        for row, owner in zip(all_rows.rows, all_rows.owners, strict=True):
            rows[owner].setdefault(table, TableRows(all_rows.columns)).rows.append(row)
    texts: dict[tuple[str, int], str] = {}
    for parts in shared.values():
        for part in parts:
            if (part.table, part.id) not in texts:
                texts[part.table, part.id] = fragment(part.rows)
    now = tx.value("SELECT UTC_TIMESTAMP(3)")
    tx.many(
        "INSERT INTO {state}.journal (removal, kind, name, path, path_hash, inode, replacement, removed, state, content)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            (
                removal,
                one.kind,
                _bytes(one.name)[:NAME_BYTES],
                _bytes(one.path),
                path_hash(one.path),
                one.inode,
                one.replacement,
                now,
                "removed",
                encode(
                    version,
                    one.names,
                    fragment(rows[number]),
                    list(dict.fromkeys(texts[part.table, part.id] for part in shared.get(number, ()))),
                    fragment(named.get(number, {})),
                ),
            )
            for number, one in enumerate(objects)
        ],
    )


def _offer_shared(tx: Transaction, shared: Mapping[int, Iterable[SharedObject]]) -> None:
    """Note what may be unused now: the collector looks."""
    by_table: dict[str, set[int]] = {}
    for parts in shared.values():
        for part in parts:
            by_table.setdefault(part.table, set()).add(part.id)
    for table, ids in by_table.items():
        _offer(tx, table, ids)


def _offer(tx: Transaction, table: str, ids: Collection[int]) -> None:
    tx.many("INSERT IGNORE INTO {state}.candidate (kind, id) VALUES (%s, %s)", [(table, id_) for id_ in sorted(ids)])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
