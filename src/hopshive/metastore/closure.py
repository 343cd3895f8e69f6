"""The foreign keys of the metastore's database, and the rows that go with an object.

An object (partition, table, database) is deleted through its storage descriptor; what the server takes along is what the
keys with ON DELETE CASCADE lead to. `collect` reads exactly those rows and locks them on the way down, from a parent to its
children: a row that is locked can get no further children, so nothing can slip in between the reading and the deletion.
The keys are read from information_schema, never from a list: a site's own tables are followed too.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hopshive.database import GIVEN, chunks, given, marks
from hopshive.database.foreign_keys import INODE_KEY, ForeignKey, outgoing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hopshive.database import Row, Transaction

# What a directory stands for, each with its key.
OWNERS: Mapping[str, str] = {"DBS": "DB_ID", "TBLS": "TBL_ID", "PARTITIONS": "PART_ID"}
# Many descriptors may refer to one of these; the garbage collector deletes them when none does.
SHARED = ("CDS", "SERDES", "SKEWED_STRING_LIST")
# Columns of SDS that bind it to an inode. A row that comes back gets new values.
BINDING = ("PARTITION_ID", "PARENT_ID", "NAME")
# Graphs that are remembered, one a connection, and for how many seconds: a site may add a table of its own at any time.
_REMEMBERED = 16
FRESH = 60.0


class ClosureError(Exception):
    """The schema lacks what hopshive needs; the message is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns in their order; `key`: the primary key, empty without one; `unique`: the other unique keys.

    `needed` must be given on an INSERT; in `folded` upper and lower case are one. `indexes`: one that begins with a column.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    needed: frozenset[str] = frozenset()
    folded: frozenset[str] = frozenset()
    indexes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """The tables and their foreign keys. `version`: of the metastore's schema; `order`: parents before children.

    `forgetful`: the server may leave out a cascade and report success. NDB 9.7 does, for rows that a data node which is starting
    has just become the first one for.
    """

    version: str
    tables: Mapping[str, Table]
    keys: tuple[ForeignKey, ...]
    forgetful: bool = False
    order: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", parents_first(self.tables, self.keys))

    def children(self, parent: str, *, cascading: bool = False) -> list[ForeignKey]:
        """Keys that lead to a table."""
        return [key for key in self.keys if key.to == parent and (key.cascades or not cascading)]

    def parents(self, child: str) -> list[ForeignKey]:
        """Keys of a table."""
        return [key for key in self.keys if key.table == child]

    def contents(self, shared: str) -> list[ForeignKey]:
        """Tables that hold a part of a shared object: they refer to it and to nothing else."""
        return [key for key in self.children(shared) if len(self.parents(key.table)) == 1]


@dataclass(slots=True)
class TableRows:
    """Rows of one table, each with the number of the object that it belongs to."""

    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    def column(self, name: str) -> Iterator[Any]:
        """One value of each row."""
        at = self.columns.index(name)
        return (row[at] for row in self.rows)


def parents_first(tables: Collection[str], keys: Sequence[ForeignKey]) -> tuple[str, ...]:
    """An order in which rows can be inserted. Keys that form a circle do not count."""
    waiting = {name: {key.to for key in keys if key.table == name and key.to != name} for name in tables}
    order: list[str] = []
    while waiting:
        free = sorted(name for name, parents in waiting.items() if not parents & waiting.keys())
        for name in free or sorted(waiting):
            order.append(name)
            del waiting[name]
    return tuple(order)


# --- reading the schema -----------------------------------------------------------------------------------------------

_graphs: OrderedDict[Row, tuple[float, Graph]] = OrderedDict()


def graph(tx: Transaction) -> Graph:
    """The keys of the transaction's database, read once in a while for a connection.

    Raises ClosureError if hopshive's schema is not on it, or if a key has more than one column.
    """
    (place,) = tx.rows("SELECT @@datadir, @@port, CONNECTION_ID(), DATABASE()")
    read_at, known = _graphs.get(place, (-FRESH, None))
    now = time.monotonic()
    if known is None or now - read_at >= FRESH:
        known = read(tx)
        _graphs[place] = now, known
        while len(_graphs) > _REMEMBERED:
            _graphs.popitem(last=False)
    return known


def read(tx: Transaction) -> Graph:
    """The same as `graph`, from information_schema."""
    tables = _tables(tx)
    # The table of inodes may stand in the same database.
    keys = tuple(key for key in outgoing(tx) if key.to in tables and key.name != INODE_KEY)
    for key in keys:
        if len(key.columns) > 1:
            raise ClosureError(
                f"The foreign key {key.name} of {key.table} has more than one column: hopshive cannot follow it."
            )
    version = tx.value("SELECT SCHEMA_VERSION FROM VERSION") if "VERSION" in tables else None
    found = Graph(version=str(version or ""), tables=tables, keys=keys, forgetful=tx.is_ndb())
    lacking = sorted(OWNERS.keys() - {key.table for key in found.children("SDS", cascading=True)})
    if lacking:
        raise ClosureError(
            f"No cascading foreign key leads from SDS to {', '.join(lacking)} in the database {tx.value('SELECT DATABASE()')}:"
            " hopshive's schema is not applied to it, or was removed."
        )
    return found


def _tables(tx: Transaction) -> dict[str, Table]:
    """The tables of the transaction's database, without views."""
    unique, indexes = _indexes(tx)
    return {
        name: Table(
            name=name,
            columns=tuple(row[0] for row in rows),
            key=tuple(unique.get((name, "PRIMARY"), ())),
            unique=tuple(tuple(c) for (table, index), c in unique.items() if table == name and index != "PRIMARY"),
            needed=frozenset(
                row[0] for row in rows if row[1] == "NO" and row[2] is None and "auto_increment" not in row[3].lower()
            ),
            folded=frozenset(row[0] for row in rows if str(row[4]).endswith("_ci")),
            indexes=indexes.get(name, {}),
        )
        for name, rows in _columns(tx).items()
    }


def _columns(tx: Transaction) -> dict[str, list[Row]]:
    """For each table the name, IS_NULLABLE, default, EXTRA and collation of its columns, in their order."""
    views = {
        row[0] for row in tx.rows("SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()")
    }
    columns: dict[str, list[Row]] = {}
    for table, *rest in tx.rows(
        "SELECT TABLE_NAME, COLUMN_NAME, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLLATION_NAME FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION"
    ):
        if table not in views:
            columns.setdefault(table, []).append(tuple(rest))
    return columns


def _indexes(tx: Transaction) -> tuple[dict[tuple[str, str], list[str]], dict[str, dict[str, str]]]:
    """The columns of each unique index, by table and index; for each table an index that begins with a column."""
    unique: dict[tuple[str, str], list[str]] = {}
    beginning: dict[str, dict[str, str]] = {}
    for table, index, column, is_unique, place in tx.rows(
        "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE = 0, SEQ_IN_INDEX FROM information_schema.STATISTICS"
        " WHERE TABLE_SCHEMA = DATABASE() AND INDEX_TYPE = 'BTREE'"
        " ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
    ):
        if is_unique:
            unique.setdefault((table, index), []).append(column)
        if place == 1:
            beginning.setdefault(table, {}).setdefault(column, index)
    return unique, beginning


# --- reading rows -----------------------------------------------------------------------------------------------------


def select(
    tx: Transaction, table: Table, columns: Sequence[str], by: str, values: Collection[object], lock: str = ""
) -> list[Row]:
    """Rows whose column `by` has one of the values. `lock`: FOR UPDATE, LOCK IN SHARE MODE."""
    wanted = ", ".join(f"t.`{column}`" for column in columns)
    found: list[Row] = []
    for some in chunks(values):
        rows, argument = _found_by(table, by, some)
        found += tx.rows(f"SELECT {wanted} FROM {rows} {lock}", argument)
    return found


def delete(tx: Transaction, table: Table, by: str, values: Collection[object]) -> int:
    """Delete rows whose column `by` has one of the values; how many there were."""
    gone = 0
    for some in chunks(values):
        rows, argument = _found_by(table, by, some)
        gone += tx.execute(f"DELETE t FROM {rows}", argument)
    return gone


def finish(tx: Transaction, keys: Graph, found: Mapping[str, TableRows]) -> None:
    """Delete those of some rows, parents and what cascades lead to, that the server has left out."""
    for table in reversed(keys.order):
        for key in keys.parents(table) if table in found else []:
            if key.cascades and key.to in found:
                delete(tx, keys.tables[table], key.column, set(found[key.to].column(key.to_column)))


def _found_by(table: Table, by: str, values: Sequence[object]) -> tuple[str, Sequence[object]]:
    """Rows `t` of a table for FROM, each found by the index, so that no session waits for another's lock; and the argument."""
    index = table.indexes.get(by)
    if index is None or not all(isinstance(value, int) for value in values):
        return f"`{table.name}` t WHERE t.`{by}` IN ({marks(values)})", values
    return f"{GIVEN} STRAIGHT_JOIN `{table.name}` t FORCE INDEX (`{index}`) ON t.`{by}` = v.id", [given(values)]


def weights(tx: Transaction, keys: Graph, owner: str, ids: Collection[int]) -> dict[int, int]:
    """The number of rows that go with each object, without the object and its descriptor.

    What several descriptors share is counted for the object with the lowest id.
    """
    table = keys.tables[owner]
    children = [key for key in keys.children(owner, cascading=True) if key.table not in OWNERS]
    shared = [key for key in keys.parents("SDS") if key.to in SHARED]
    found: Counter[int] = Counter()
    for some in chunks(ids):
        counts, arguments = [], list[object]()
        for key in children:
            rows, argument = _found_by(keys.tables[key.table], key.column, some)
            counts.append(f"SELECT t.`{key.column}` AS id, COUNT(*) AS number FROM {rows} GROUP BY t.`{key.column}`")
            arguments += argument
        for key in shared:
            rows, argument = _found_by(table, table.key[0], some)
            for part in keys.contents(key.to):
                counts.append(
                    f"SELECT o.id, COUNT(*) FROM (SELECT MIN(t.`{table.key[0]}`) AS id, s.`{key.column}` AS shared FROM {rows}"
                    f" STRAIGHT_JOIN SDS s FORCE INDEX (PRIMARY) ON s.SD_ID = t.SD_ID GROUP BY s.`{key.column}`) o"
                    f" STRAIGHT_JOIN `{part.table}` p ON p.`{part.column}` = o.shared GROUP BY o.id"
                )
                arguments += argument
        sql = f"SELECT id, SUM(number) FROM ({' UNION ALL '.join(counts)}) counts GROUP BY id"
        found.update({id_: int(number) for id_, number in tx.rows(sql, arguments)})
    return found


def collect(tx: Transaction, keys: Graph, seeds: Mapping[str, Mapping[int, int]]) -> dict[str, TableRows]:
    """The rows that go with the objects, locked FOR UPDATE.

    `seeds`: for a table, the object's number by the value of its (single) primary key. Tables that own a directory are
    not followed: who removes a table has removed its partitions before. A row that two objects of the batch share (a
    constraint between two tables) belongs to the one that comes first.
    """
    found: dict[str, TableRows] = {}
    for name in keys.order:
        table = keys.tables[name]
        rows: dict[Row, tuple[Row, int]] = {}
        # The primary key tells whether two keys led to the same row.
        identity = [table.columns.index(column) for column in table.key or table.columns]

        def add(
            column: str, owner_of: Mapping[Any, int], table: Table = table, rows: Any = rows, at: Any = identity
        ) -> None:
            where = table.columns.index(column)
            for row in select(tx, table, table.columns, column, owner_of.keys(), "FOR UPDATE"):
                rows.setdefault(tuple(row[i] for i in at), (row, owner_of[row[where]]))

        if name in seeds:
            add(table.key[0], seeds[name])
        elif name not in OWNERS and name != "SDS":
            for key in keys.parents(name):
                parent = found.get(key.to)
                if key.cascades and parent is not None:
                    add(key.column, dict(zip(parent.column(key.to_column), parent.owners, strict=True)))
        if rows:
            found[name] = TableRows(
                table.columns, [row for row, _owner in rows.values()], [owner for _row, owner in rows.values()]
            )
    return found


@dataclass(frozen=True, slots=True)
class SharedObject:
    """A row of one of SHARED with what it consists of: rows by table."""

    table: str
    id: int
    rows: Mapping[str, TableRows]


def referred(tx: Transaction, keys: Graph, found: Mapping[str, TableRows]) -> dict[int, list[SharedObject]]:
    """Shared objects that collected rows refer to, for each object's number."""
    users: dict[tuple[str, int], set[int]] = {}
    for name, rows in found.items():
        for key in keys.parents(name):
            if key.to in SHARED:
                for value, owner in zip(rows.column(key.column), rows.owners, strict=True):
                    if value is not None:
                        users.setdefault((key.to, value), set()).add(owner)
    by_owner: dict[int, list[SharedObject]] = {}
    for name in SHARED:
        ids = [id_ for table, id_ in users if table == name]
        if not ids:
            continue
        parts: dict[int, dict[str, TableRows]] = {id_: {} for id_ in ids}
        for child, column in [(name, keys.tables[name].key[0])] + [(k.table, k.column) for k in keys.contents(name)]:
            columns = keys.tables[child].columns
            at = columns.index(column)
            for row in select(tx, keys.tables[child], columns, column, ids):
                part = parts[row[at]].setdefault(child, TableRows(columns))
                part.rows.append(row)
        for id_ in ids:
            if name in parts[id_]:
                for owner in users[name, id_]:
                    by_owner.setdefault(owner, []).append(SharedObject(name, id_, parts[id_]))
    return by_owner
