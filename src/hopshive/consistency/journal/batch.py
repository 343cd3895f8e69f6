"""Which objects one transaction removes: leaves first, as many as it can hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hopshive.database import chunks, marks
from hopshive.metastore.closure import (
    Graph,
    select,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hopshive.database import Transaction
    from hopshive.metastore.closure import Table


ObjectKind = Literal["partition", "table", "database"]
# Bytes of journal.name; what is longer is cut there, and whole in the content.
NAME_BYTES = 1100
# Rows that go with the objects of one transaction, which are held in memory: statistics of a wide table are thousands for a few
# partitions. Some tens of megabytes.
MOST_ROWS = 10_000
TABLE_OF: Mapping[ObjectKind, str] = {"database": "DBS", "table": "TBLS", "partition": "PARTITIONS"}


@dataclass(slots=True)
class Object:
    """An object of a batch; its number is its place in it."""

    kind: ObjectKind
    id: int
    sd_id: int | None
    names: tuple[str, ...]
    transactional: bool = False
    path: str = ""
    inode: int | None = None
    replacement: int | None = None

    @property
    def name(self) -> str:
        return object_name(self.names)


@dataclass(slots=True)
class Batch:
    """Ids of what one transaction removes."""

    partitions: list[int] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    databases: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.partitions) + len(self.tables) + len(self.databases)


def object_name(names: Sequence[str]) -> str:
    """`hive.db.table/part=1` from its parts."""
    return ".".join(names[:3]) + "".join(f"/{part}" for part in names[3:])


def choose(tx: Transaction, keys: Graph, sd_ids: Sequence[object], limit: int) -> tuple[Batch, bool]:
    """Up to `limit` objects, locked from the root down: who holds a parent's row keeps others from adding children to it.

    Also whether nothing is left of these descriptors after them.
    """
    among = marks(sd_ids)
    found = select(tx, keys.tables["DBS"], ("DB_ID", "NAME"), "SD_ID", sd_ids, "FOR UPDATE")
    databases = sorted(id_ for id_, name in found if name != "default")
    tables = _ids(tx, f"SELECT TBL_ID FROM TBLS WHERE SD_ID IN ({among}) LIMIT %s", [*sd_ids, limit])
    if databases and len(tables) < limit:
        of_databases = f"SELECT TBL_ID FROM TBLS WHERE DB_ID IN ({marks(databases)}) LIMIT %s"
        # Some may be among those by descriptor.
        more = _ids(tx, of_databases, [*databases, limit])
        tables = list(dict.fromkeys([*tables, *more]))[:limit]
    all_tables = len(tables) < limit
    tables = _lock(tx, keys.tables["TBLS"], tables)
    partitions = _ids(tx, f"SELECT PART_ID FROM PARTITIONS WHERE SD_ID IN ({among}) LIMIT %s", [*sd_ids, limit])
    if tables and len(partitions) < limit:
        of_tables = f"SELECT PART_ID FROM PARTITIONS WHERE TBL_ID IN ({marks(tables)}) LIMIT %s"
        more = _ids(tx, of_tables, [*tables, limit])
        partitions = list(dict.fromkeys([*partitions, *more]))[:limit]
    locked = _lock(tx, keys.tables["PARTITIONS"], partitions)
    batch = Batch(partitions=_light(tx, keys, "PARTITIONS", locked))
    if len(partitions) == limit or len(batch) < len(locked):
        return batch, False
    # Fewer than asked for: none of these tables has another.
    batch.tables = _light(tx, keys, "TBLS", tables[: limit - len(batch)])
    if not all_tables or len(batch.tables) < len(tables):
        return batch, False
    batch.databases = databases[: limit - len(batch)]
    return batch, len(batch.databases) == len(databases)


def _ids(tx: Transaction, sql: str, arguments: Sequence[object]) -> list[int]:
    return [row[0] for row in tx.rows(sql, arguments)]


def _lock(tx: Transaction, table: Table, ids: Collection[int]) -> list[int]:
    """Those that are still there, in order, so that two transactions lock them in the same."""
    return [row[0] for row in select(tx, table, table.key, table.key[0], sorted(ids), "FOR UPDATE")]


def _light(tx: Transaction, keys: Graph, table: str, ids: list[int]) -> list[int]:
    """The first of some objects, at least one, that do not have more rows together than one transaction takes."""
    rows, weight = 0, weights(tx, keys, table, ids)
    for number, id_ in enumerate(ids):
        rows += weight.get(id_, 0)
        if rows > MOST_ROWS and number:
            return ids[:number]
    return ids


def unowned(tx: Transaction, sd_ids: Sequence[object]) -> list[int]:
    """Descriptors without an owner, which the collector takes."""
    return _ids(
        tx,
        "SELECT s.SD_ID FROM SDS s LEFT JOIN PARTITIONS p ON p.SD_ID = s.SD_ID LEFT JOIN TBLS t ON t.SD_ID = s.SD_ID"
        " LEFT JOIN DBS d ON d.SD_ID = s.SD_ID WHERE p.PART_ID IS NULL AND t.TBL_ID IS NULL AND d.DB_ID IS NULL"
        f" AND s.SD_ID IN ({marks(sd_ids)})",
        sd_ids,
    )


def describe(tx: Transaction, kind: ObjectKind, ids: Sequence[int]) -> list[Object]:
    """Names and descriptors, in the order of the ids."""
    database = "COALESCE(d.CTLG_NAME, ''), COALESCE(d.NAME, '')"
    acid = "(SELECT PARAM_VALUE FROM TABLE_PARAMS a WHERE a.TBL_ID = t.TBL_ID AND a.PARAM_KEY = 'transactional')"
    match kind:
        case "database":
            sql = f"SELECT d.DB_ID, d.SD_ID, 'true', {database} FROM DBS d WHERE d.DB_ID"
        case "table":
            sql = (
                f"SELECT t.TBL_ID, t.SD_ID, {acid}, {database}, t.TBL_NAME"
                " FROM TBLS t LEFT JOIN DBS d ON d.DB_ID = t.DB_ID WHERE t.TBL_ID"
            )
        case "partition":
            sql = (
                f"SELECT p.PART_ID, p.SD_ID, {acid}, {database}, COALESCE(t.TBL_NAME, ''), p.PART_NAME FROM PARTITIONS p"
                " LEFT JOIN TBLS t ON t.TBL_ID = p.TBL_ID LEFT JOIN DBS d ON d.DB_ID = t.DB_ID WHERE p.PART_ID"
            )
    rows = [row for some in chunks(ids) for row in tx.rows(f"{sql} IN ({marks(some)})", some)]
    place = {id_: number for number, id_ in enumerate(ids)}
    rows.sort(key=lambda row: place[row[0]])
    return [
        # TxnUtils.isTransactionalTable: in whatever case.
        Object(kind, id_, sd_id, tuple(names), (transactional or "").lower() == "true")
        for id_, sd_id, transactional, *names in rows
    ]
