"""What belongs to a table by its name only, without a foreign key: transactions, write ids, compactions.

Facts of Hive 4.0.1, read in the classes of hive-standalone-metastore-server-4.0.1.jar:

- A DROP clears, by name, TXN_COMPONENTS, COMPLETED_TXN_COMPONENTS, COMPACTION_QUEUE, COMPLETED_COMPACTIONS and
  COMPACTION_METRICS_CACHE of a partition, a table or a database; and TXN_TO_WRITE_ID and NEXT_WRITE_ID of a table or a
  database (txn.jdbc.functions.CleanupRecordsFunction$1). AcidEventListener asks for it: for a table and its partitions if the
  table is transactional, for a database always. Names are in lower case, only the catalog `hive` counts. The write ids stay
  if the data stays (`deleteData` false); here the data is gone.
- A DROP of a materialized view deletes its MV_CREATION_METADATA (ObjectStore.dropTable, dropCreationMetadata).
- A rename changes the names in these and in HIVE_LOCKS and WRITE_SET (OnRenameFunction).
- Nothing clears WRITE_SET (housekeeping, by transaction), HIVE_LOCKS, MIN_HISTORY_LEVEL, MIN_HISTORY_WRITE_ID (the end of
  their transaction), MATERIALIZATION_REBUILD_LOCKS (its heartbeat), PARTITION_EVENTS, NOTIFICATION_LOG and
  TXN_WRITE_NOTIFICATION_LOG (their age). Neither do we: they name a transaction or a moment, not an object.

Decisions:

- **Aborted transactions.** TXNS and TXN_TO_WRITE_ID say what was aborted; a write id that neither names counts as
  committed (GetValidWriteIdsForTableFunction). So the journal keeps the rows of TXNS and of TXN_TO_WRITE_ID for aborted
  transactions of the object too, or the files of an aborted write would be read after a restore.
- **Open transactions** that have written to what is removed, or have a write id of a removed table, are aborted as
  AbortTxnsFunction does it: their next heartbeat or their commit fails, and nothing that they write later is ever valid. A
  DROP waits for them instead, by a lock; a directory that is gone cannot wait. Of a partition, only transactions that name it
  count: one that finds its partitions as it runs (TC_PARTITION is NULL) continues, and its commit makes the partition again
  with what it wrote itself. TXN_COMPONENTS of transactions that we abort stay with a partition: Hive's cleaner needs them
  should such a writer have made the directory again. With a table they go, for its write ids begin at 1 again.
- **High-water mark.** Hive takes the largest TXN_TO_WRITE_ID of a table for its newest write id, and NEXT_WRITE_ID only if
  there is none. Putting back the row of an old aborted write alone would hide all later data; so a partition that comes back
  to a table whose later rows are gone also gets a row for the newest write id, of a transaction that has ended.
- Compactions that were running are restored as waiting, as Hive does with those of a worker that died: a worker's entry would
  block the table for a day (`hive.compactor.worker.timeout`).
- Names compare without case in these columns, on NDB those of partitions too (latin1_swedish_ci). That is right for databases
  and tables, which Hive keeps in lower case, and wrong for partitions: `p=A` is not `p=a`. Partitions are compared by bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.database import Contention, chunks, marks, quoted
from hopshive.metastore.closure import TableRows, delete, select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hopshive.database import Row, Transaction
    from hopshive.metastore.closure import Graph, Table

# The only catalog that transactions know of: CleanupRecordsFunction skips any other.
CATALOG = "hive"
ABORTED_BECAUSE = "its directory was deleted, and hopshive removed its metadata"


@dataclass(frozen=True, slots=True)
class Scope:
    """What is removed, by name; without `partition` a table, without `table` a database. `owner`: the object's number."""

    owner: int
    database: str
    table: str = ""
    partition: str = ""


@dataclass(frozen=True, slots=True)
class _Named:
    """A table with names in it. `partition`: its column, empty if it has none."""

    table: str
    prefix: str
    partitioned: bool = True

    @property
    def database(self) -> str:
        return f"{self.prefix}_DATABASE"

    @property
    def name(self) -> str:
        return f"{self.prefix}_TABLE"

    @property
    def partition(self) -> str:
        return f"{self.prefix}_PARTITION"


_COMPONENTS = _Named("TXN_COMPONENTS", "TC")
_WRITE_IDS = _Named("TXN_TO_WRITE_ID", "T2W", partitioned=False)
_NEXT = _Named("NEXT_WRITE_ID", "NWI", partitioned=False)
_NAMED = (
    _COMPONENTS,
    _Named("COMPLETED_TXN_COMPONENTS", "CTC"),
    _Named("COMPACTION_QUEUE", "CQ"),
    _Named("COMPLETED_COMPACTIONS", "CC"),
    _Named("COMPACTION_METRICS_CACHE", "CMC"),
    _WRITE_IDS,
    _NEXT,
)

# The rows of an object, by table.
Rows = dict[str, TableRows]


# --- removing ---------------------------------------------------------------------------------------------------------


def take(tx: Transaction, keys: Graph, scopes: Sequence[Scope]) -> dict[int, Rows]:
    """Abort what is open on the objects, delete what belongs to them by name, and return it by the object's number.

    All scopes are of one kind. Raises Contention if another session wrote meanwhile.
    """
    taken: dict[int, Rows] = {scope.owner: {} for scope in scopes}
    if not scopes:
        return taken
    partitions = bool(scopes[0].partition)
    where = [(named, clause) for named in _NAMED for clause in _clauses(named, scopes)]
    aborted = _abort(tx, keys, _open_writers(tx, where))
    # Trailing blanks do not count in any collation of these columns.
    index = {(s.database.lower(), s.table.lower(), s.partition.rstrip(" ")): s.owner for s in scopes}
    writers: dict[int, set[int]] = {}
    for named, (condition, arguments) in where:
        columns = keys.tables[named.table].columns
        rows = tx.rows(f"SELECT {quoted(columns)} FROM {named.table} WHERE {condition}", arguments)
        if not rows:
            continue
        database, table = columns.index(named.database), columns.index(named.name)
        partition = columns.index(named.partition) if named.partitioned else -1
        staying = 0
        for row in rows:
            name = row[table].lower() if scopes[0].table else ""
            owner = index[row[database].lower(), name, row[partition].rstrip(" ") if partitions else ""]
            _add(taken[owner], named.table, columns, row)
            if named is _COMPONENTS:
                writer = row[columns.index("TC_TXNID")]
                writers.setdefault(writer, set()).add(owner)
                staying += partitions and writer in aborted
        if named is _COMPONENTS and partitions and aborted:
            condition += f" AND TC_TXNID NOT IN ({marks(sorted(aborted))})"
            arguments = [*arguments, *sorted(aborted)]
        if len(rows) > staying:
            gone = tx.execute(f"DELETE FROM {named.table} WHERE {condition}", arguments)
            if gone != len(rows) - staying:
                raise Contention(
                    f"Another session wrote to {named.table} of what is being removed. Another attempt may succeed."
                )
    _remember_aborted(tx, keys, taken, writers, scopes)
    return taken


def _clauses(named: _Named, scopes: Sequence[Scope]) -> list[tuple[str, list[object]]]:
    """Conditions that together select the rows of the scopes, each row once."""
    if scopes[0].partition:
        if not named.partitioned:
            return []
        groups: dict[tuple[str, str], list[object]] = {}
        for scope in scopes:
            groups.setdefault((scope.database.lower(), scope.table.lower()), []).append(scope.partition)
        # The first condition on the partition is for the index, the second is exact.
        return [
            (
                f"{named.database} = %s AND {named.name} = %s AND {named.partition} IN ({marks(some)})"
                f" AND CONVERT({named.partition} USING utf8mb4) COLLATE utf8mb4_bin IN ({marks(some)})",
                [database, table, *some, *some],
            )
            for (database, table), names in groups.items()
            for some in chunks(names)
        ]
    if scopes[0].table:
        by_database: dict[str, list[object]] = {}
        for scope in scopes:
            by_database.setdefault(scope.database.lower(), []).append(scope.table.lower())
        return [
            (f"{named.database} = %s AND {named.name} IN ({marks(some)})", [database, *some])
            for database, names in by_database.items()
            for some in chunks(names)
        ]
    names: list[object] = [scope.database.lower() for scope in scopes]
    return [(f"{named.database} IN ({marks(some)})", some) for some in chunks(names)]


def _open_writers(tx: Transaction, where: Iterable[tuple[_Named, tuple[str, list[object]]]]) -> set[int]:
    """Transactions that may have to be aborted."""
    found: set[int] = set()
    for named, (condition, arguments) in where:
        if named in (_COMPONENTS, _WRITE_IDS):
            sql = (
                f"SELECT DISTINCT TXN_ID FROM {named.table} JOIN TXNS ON TXN_ID = {named.prefix}_TXNID"
                f" WHERE TXN_STATE = 'o' AND {condition}"
            )
            found.update(row[0] for row in tx.rows(sql, arguments))
    return found


def _abort(tx: Transaction, keys: Graph, writers: Collection[int]) -> set[int]:
    """Abort the transactions that are still open, as AbortTxnsFunction does; returns them."""
    if not writers:
        return set()
    # In the order of Hive, so that neither waits for the other: it locks TXNS first.
    states = select(tx, keys.tables["TXNS"], ("TXN_ID", "TXN_STATE"), "TXN_ID", sorted(writers), "FOR UPDATE")
    found = {txn for txn, state in states if state == "o"}
    for some in chunks(sorted(found)):
        tx.execute(
            f"UPDATE TXNS SET TXN_STATE = 'a', TXN_META_INFO = %s WHERE TXN_ID IN ({marks(some)})",
            [ABORTED_BECAUSE, *some],
        )
    for table, column in (
        ("MIN_HISTORY_LEVEL", "MHL_TXNID"),
        ("MIN_HISTORY_WRITE_ID", "MH_TXNID"),
        ("HIVE_LOCKS", "HL_TXNID"),
        ("REPL_TXN_MAP", "RTM_TARGET_TXN_ID"),
    ):
        delete(tx, keys.tables[table], column, found)
    return found


def _remember_aborted(
    tx: Transaction, keys: Graph, taken: dict[int, Rows], writers: Mapping[int, set[int]], scopes: Sequence[Scope]
) -> None:
    """Copy what says that a transaction was aborted; of a partition also its write ids, which stay with the table."""
    columns = keys.tables["TXNS"].columns
    at, state = columns.index("TXN_ID"), columns.index("TXN_STATE")
    aborted = [row for row in select(tx, keys.tables["TXNS"], columns, "TXN_ID", sorted(writers)) if row[state] == "a"]
    for row in aborted:
        for owner in writers[row[at]]:
            _add(taken[owner], "TXNS", columns, row)
    if not aborted or not scopes[0].partition:
        return
    by_table: dict[tuple[str, str], set[int]] = {}
    for scope in scopes:
        by_table.setdefault((scope.database.lower(), scope.table.lower()), set()).add(scope.owner)
    columns = keys.tables["TXN_TO_WRITE_ID"].columns
    at = columns.index("T2W_TXNID")
    for (database, table), owners in by_table.items():
        for some in chunks([row[0] for row in aborted]):
            sql = f"SELECT {quoted(columns)} FROM TXN_TO_WRITE_ID WHERE T2W_DATABASE = %s AND T2W_TABLE = %s"
            for row in tx.rows(f"{sql} AND T2W_TXNID IN ({marks(some)})", [database, table, *some]):
                for owner in owners & writers[row[at]]:
                    _add(taken[owner], "TXN_TO_WRITE_ID", columns, row)


def _add(rows: Rows, table: str, columns: tuple[str, ...], row: Row) -> None:
    rows.setdefault(table, TableRows(columns)).rows.append(row)


# --- putting back -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Plan:
    """Write ids that must be named again for partitions to come back, and those objects for which it cannot be done.

    `write_ids`: rows of TXN_TO_WRITE_ID. `refused`: a sentence for the operator by the object's number.
    """

    write_ids: list[Row] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


def plan(tx: Transaction, entries: Sequence[tuple[Scope, Rows]]) -> Plan:
    """Find out which write ids of the partitions' tables were aborted, where Hive has forgotten it meanwhile."""
    planned = Plan()
    by_table: dict[tuple[str, str], dict[int, int]] = {}
    owners: dict[tuple[str, str], list[int]] = {}
    for scope, rows in entries:
        found = rows.get("TXN_TO_WRITE_ID")
        if scope.partition and found:
            pairs = zip(found.column("T2W_TXNID"), found.column("T2W_WRITEID"), strict=True)
            by_table.setdefault((scope.database, scope.table), {}).update(pairs)
            owners.setdefault((scope.database, scope.table), []).append(scope.owner)
    for (database, table), wanted in by_table.items():
        where = "T2W_DATABASE = %s AND T2W_TABLE = %s"
        known: dict[int, int] = dict(
            tx.rows(f"SELECT T2W_TXNID, T2W_WRITEID FROM TXN_TO_WRITE_ID WHERE {where}", (database, table))
        )
        missing = {txn: write for txn, write in wanted.items() if txn not in known}
        if not missing:
            continue
        low = tx.value(
            "SELECT MIN(id) FROM (SELECT MAX(TXN_ID) + 1 AS id FROM TXNS"
            " UNION ALL SELECT MIN(TXN_ID) FROM TXNS WHERE TXN_STATE IN ('o', 'a')) marks"
        )
        newest = tx.value(
            "SELECT NWI_NEXT - 1 FROM NEXT_WRITE_ID WHERE NWI_DATABASE = %s AND NWI_TABLE = %s", (database, table)
        )
        extra = ceiling(known | missing, newest, low, min(missing))
        if extra is None:
            why = (
                "Hive has forgotten which of its table's writes were aborted, and no transaction has ended since that could"
                " stand for the newest one. Restore it again after the next query."
            )
            planned.refused |= dict.fromkeys(owners[database, table], why)
        else:
            planned.write_ids += [(txn, database, table, write) for txn, write in [*missing.items(), *extra]]
    return planned


def ceiling(known: Mapping[int, int], newest: int | None, low: int, oldest: int) -> list[tuple[int, int]] | None:
    """A transaction for the newest write id, so that no data is hidden; none if it has one. None: there is none to take.

    `known`: write ids by transaction. `low`: below it all transactions have ended. It must be later than `oldest`, the
    earliest aborted one: Hive forgets what is earlier than that.
    """
    if newest is None or newest <= max(known.values(), default=0):
        return []
    free = next((txn for txn in range(low - 1, oldest, -1) if txn not in known), None)
    return None if free is None else [(free, newest)]


def put_back(tx: Transaction, keys: Graph, entries: Sequence[tuple[Scope, Rows]], planned: Plan) -> None:
    """Insert what `take` returned, for objects of one kind that are there again. `scope` has the names of now.

    A table gets its own write ids, whatever a table of the same name left behind.
    """
    if not entries:
        return
    scopes = [scope for scope, _rows in entries]
    tx.many(
        "INSERT INTO TXN_TO_WRITE_ID (T2W_TXNID, T2W_DATABASE, T2W_TABLE, T2W_WRITEID) VALUES (%s, %s, %s, %s)",
        planned.write_ids,
    )
    if scopes[0].table and not scopes[0].partition:
        _forget_write_ids(tx, scopes)
    merged: Rows = {}
    for scope, rows in entries:
        for table, found in _renamed(scope, rows).items():
            if not (scope.partition and table == "TXN_TO_WRITE_ID"):
                known = merged.setdefault(table, TableRows(found.columns))
                known.rows += [_at_rest(table, found.columns, row) for row in found.rows]
    for table in sorted(merged, key=keys.order.index):
        _insert_missing(tx, keys.tables[table], merged[table], scopes)


def _renamed(scope: Scope, rows: Rows) -> Rows:
    """The rows with the names that the object has now."""
    changed: Rows = {}
    for table, found in rows.items():
        named = next((one for one in _NAMED if one.table == table), None)
        if named is None or not scope.table:
            changed[table] = found
            continue
        values = {found.columns.index(named.database): scope.database, found.columns.index(named.name): scope.table}
        changed[table] = TableRows(found.columns, [replaced(row, values) for row in found.rows])
    return changed


def replaced(row: Row, values: Mapping[int, object]) -> Row:
    """A row with some values changed, by their place."""
    return tuple(values.get(at, value) for at, value in enumerate(row))


def _at_rest(table: str, columns: Sequence[str], row: Row) -> Row:
    """A compaction that was running waits again, as after CompactionTxnHandler.revokeTimedoutWorkers."""
    if table != "COMPACTION_QUEUE" or row[columns.index("CQ_STATE")] != "w":
        return row
    idle = {columns.index("CQ_STATE"): "i", columns.index("CQ_WORKER_ID"): None, columns.index("CQ_START"): None}
    return replaced(row, idle)


def _forget_write_ids(tx: Transaction, scopes: Sequence[Scope]) -> None:
    """Delete the write ids that a dropped table of the same name left behind."""
    for named in (_WRITE_IDS, _NEXT):
        for condition, arguments in _clauses(named, scopes):
            tx.execute(f"DELETE FROM {named.table} WHERE {condition}", arguments)


def _insert_missing(tx: Transaction, table: Table, found: TableRows, scopes: Sequence[Scope]) -> None:
    columns = quoted(found.columns)
    values = f"({columns}) VALUES ({marks(found.columns)})"
    if table.key or table.unique:
        # A row that is there already was put back before, or Hive has written it since.
        tx.many(f"INSERT IGNORE INTO {table.name} {values}", found.rows)
        return
    # Rows without a key: as many of the same as there were.
    named = next(one for one in _NAMED if one.table == table.name)
    there: Counter[Row] = Counter()
    for condition, arguments in _clauses(named, scopes):
        there.update(tx.rows(f"SELECT {columns} FROM {table.name} WHERE {condition}", arguments))
    missing: list[Row] = []
    for row in found.rows:
        if there[row]:
            there[row] -= 1
        else:
            missing.append(row)
    tx.many(f"INSERT INTO {table.name} {values}", missing)
