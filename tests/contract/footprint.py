"""Which rows of the metastore's database belong to an object, and which of them are left.

Nothing here knows the product's list of tables: what refers to an id is asked of information_schema, foreign keys first, and
what belongs to an object by name is found by how such columns are called.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.database import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tests.warehouse import Warehouse

Row = tuple[object, ...]

# Logs and what ends with its transaction: a DROP leaves the same.
NOT_OF_THE_OBJECT = {
    "NOTIFICATION_LOG": "a log",
    "TXN_WRITE_NOTIFICATION_LOG": "a log",
    "PARTITION_EVENTS": "a log",
    "HIVE_LOCKS": "ends with its transaction",
    "WRITE_SET": "of transactions that have ended; housekeeping clears it",
    "MIN_HISTORY_LEVEL": "ends with its transaction",
    "MIN_HISTORY_WRITE_ID": "ends with its transaction",
}
# What continues by itself, whatever happens to any object.
NEVER_STILL = {
    "AUX_TABLE": "times of housekeeping",
    "TXNS": "every query is a transaction",
    "HIVE_LOCKS": "ends with its transaction",
    "MIN_HISTORY_LEVEL": "ends with its transaction",
    "NEXT_LOCK_ID": "counts queries",
    "WRITE_SET": "cleared by housekeeping",
    "TXN_TO_WRITE_ID": "cleared by housekeeping when its transactions are long over",
    "COMPACTION_METRICS_CACHE": "rewritten by housekeeping",
}
BINDING = ("PARTITION_ID", "PARENT_ID", "NAME")
_DATABASE = re.compile(r"(\w+_)?(DB|DB_NAME|DATABASE|DATABASE_NAME)")
_TABLE = re.compile(r"(\w+_)?(TBL|TBL_NAME|TABLE|TABLE_NAME)")
_PARTITION = re.compile(r"(\w+_)?(PARTITION|PARTITION_NAME)")
# Ids that no foreign key of the stock schema names.
_UNTOLD = {"CDS": [("KEY_CONSTRAINTS", "PARENT_CD_ID"), ("KEY_CONSTRAINTS", "CHILD_CD_ID")]}


@dataclass(frozen=True)
class Footprint:
    """An object and all below it: ids by the table that gives them, and the name."""

    ids: Mapping[str, frozenset[int]]
    database: str
    table: str = ""
    partition: str = ""


def footprint(warehouse: Warehouse, database: str, table: str = "", partition: str = "") -> Footprint:
    """What belongs to a database, a table of it or a partition of that, and to nothing else. LookupError: there is none."""
    ids: dict[str, frozenset[int]] = {}

    def read(kind: str, sql: str, arguments: Iterable[object] = ()) -> frozenset[int]:
        found = frozenset(
            int(str(row[0])) for row in warehouse.metastore_sql(sql, tuple(arguments)) if row[0] is not None
        )
        ids[kind] = ids.get(kind, frozenset()) | found
        return found

    def among(column: str, values: Collection[int]) -> str:
        return f"{column} IN ({', '.join(map(str, sorted(values))) or 'NULL'})"

    if not table:
        dbs = read("DBS", "SELECT DB_ID FROM DBS WHERE NAME = %s", (database,))
        read("FUNCS", f"SELECT FUNC_ID FROM FUNCS WHERE {among('DB_ID', dbs)}")
        read("SDS", f"SELECT SD_ID FROM DBS WHERE {among('DB_ID', dbs)}")
    of_database = "SELECT t.{} FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME = %s AND t.TBL_NAME LIKE %s"
    wanted = (database, table.replace("_", r"\_") or "%")
    tables = frozenset(int(row[0]) for row in warehouse.metastore_sql(of_database.format("TBL_ID"), wanted))
    if not partition:
        ids["TBLS"] = tables
        read("SDS", of_database.format("SD_ID"), wanted)
        views = "SELECT MV_CREATION_METADATA_ID FROM MV_CREATION_METADATA WHERE DB_NAME = %s AND TBL_NAME LIKE %s"
        read("MV_CREATION_METADATA", views, wanted)
    where = f"{among('TBL_ID', tables)} AND PART_NAME LIKE %s"
    named = (partition.replace("_", r"\_") or "%",)
    read("PARTITIONS", f"SELECT PART_ID FROM PARTITIONS WHERE {where}", named)
    read("SDS", f"SELECT SD_ID FROM PARTITIONS WHERE {where}", named)
    sds = ids["SDS"]
    for kind, column in (("CDS", "CD_ID"), ("SERDES", "SERDE_ID")):
        used = f"SELECT {column} FROM SDS WHERE NOT {among('SD_ID', sds)} AND {column} IS NOT NULL"
        read(kind, f"SELECT {column} FROM SDS WHERE {among('SD_ID', sds)} AND {column} NOT IN ({used})")
    for name, owner, column in (
        ("SKEWED_VALUES", "SD_ID_OID", "STRING_LIST_ID_EID"),
        ("SKEWED_COL_VALUE_LOC_MAP", "SD_ID", "STRING_LIST_ID_KID"),
    ):
        read("SKEWED_STRING_LIST", f"SELECT {column} FROM {name} WHERE {among(owner, sds)}")
    if not any(ids.values()):
        raise LookupError(f"the metastore has no {database} {table} {partition}".rstrip())
    return Footprint({kind: found for kind, found in ids.items() if found}, database, table, partition)


def leftovers(warehouse: Warehouse, of: Footprint) -> dict[str, int]:
    """How many rows there still are that have an id of the object or its name, by `TABLE.COLUMN`; empty when it is gone."""
    found: Counter[str] = Counter()
    schema = warehouse.database.schema
    refers: dict[str, set[tuple[str, str]]] = {kind: set(_UNTOLD.get(kind, ())) for kind in of.ids}
    for table, column, kind in warehouse.metastore_sql(
        "SELECT TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE"
        " WHERE TABLE_SCHEMA = %s AND REFERENCED_TABLE_SCHEMA = %s",
        (schema, schema),
    ):
        refers.setdefault(kind, set()).add((table, column))
    for table, column in warehouse.metastore_sql(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND INDEX_NAME = 'PRIMARY'"
        " AND SEQ_IN_INDEX = 1",
        (schema,),
    ):
        refers.setdefault(table, set()).add((table, column))
    for kind, ids in of.ids.items():
        for table, column in refers[kind]:
            sql = f"SELECT COUNT(*) FROM {table} WHERE {column} IN ({marks(list(ids))})"
            found[f"{table}.{column}"] += int(warehouse.metastore_sql(sql, tuple(ids))[0][0])
    for table, condition, arguments in _named(warehouse, of):
        sql = f"SELECT COUNT(*) FROM {table} WHERE {condition}"
        found[f"{table} by name"] += int(warehouse.metastore_sql(sql, arguments)[0][0])
    return {place: count for place, count in sorted(found.items()) if count}


def _named(warehouse: Warehouse, of: Footprint) -> Iterable[tuple[str, str, tuple[object, ...]]]:
    """Tables that have a column for the name of what the object is, each with a condition for it."""
    columns: dict[str, list[str]] = {}
    for table, column in warehouse.metastore_sql(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s ORDER BY ORDINAL_POSITION",
        (warehouse.database.schema,),
    ):
        columns.setdefault(table, []).append(column)
    for table, names in columns.items():
        if table in NOT_OF_THE_OBJECT:
            continue
        condition, arguments = [], []
        wanted = [(_DATABASE, of.database), (_TABLE, of.table), (_PARTITION, of.partition)]
        for pattern, value in [pair for pair in wanted if pair[1]]:
            column = next((name for name in names if pattern.fullmatch(name)), None)
            condition.append(f"{column} = %s" if column else "FALSE")
            arguments += [value] if column else []
        yield table, " AND ".join(condition), tuple(arguments)


def metadata(warehouse: Warehouse, ignore: Collection[str] = ()) -> dict[str, list[Row]]:
    """All of the metastore, but what never stands still, the columns that bind, and what dropped objects have left."""
    dump = warehouse.dump_metastore(ignore=[*NEVER_STILL, *ignore])
    # A database's own descriptor has the database's number, below zero.
    databases = {-row[0] for row in warehouse.metastore_sql("SELECT DB_ID FROM DBS")}
    columns = [
        row[0]
        for row in warehouse.metastore_sql(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = 'SDS'"
            " ORDER BY ORDINAL_POSITION",
            (warehouse.database.schema,),
        )
    ]
    kept = [at for at, column in enumerate(columns) if column not in BINDING]
    rows = [row for row in dump.get("SDS", []) if row[0] > 0 or row[0] in databases]
    dump["SDS"] = sorted((tuple(row[at] for at in kept) for row in rows), key=repr)
    # A DROP of Hive leaves lists of skewed values behind; the sweep takes them at its time (column 2: the list).
    used = {row[1] for table in ("SKEWED_VALUES", "SKEWED_COL_VALUE_LOC_MAP") for row in dump.get(table, [])}
    for table in ("SKEWED_STRING_LIST", "SKEWED_STRING_LIST_VALUES"):
        dump[table] = [row for row in dump.get(table, []) if row[0] in used]
    # Of those of one table or partition, housekeeping keeps the last (columns: transaction, database, table, partition ...).
    completed = {row[1:4]: row for row in sorted(dump.get("COMPLETED_TXN_COMPONENTS", []), key=lambda row: int(row[0]))}
    dump["COMPLETED_TXN_COMPONENTS"] = sorted(completed.values(), key=repr)
    return {table: list(rows) for table, rows in dump.items()}


def differences(
    before: Mapping[str, list[Row]], after: Mapping[str, list[Row]]
) -> dict[str, tuple[list[Row], list[Row]]]:
    """For each table that differs: the rows that were lost, and those that came."""
    found = {}
    for table in sorted(before.keys() | after.keys()):
        old, new = Counter(before.get(table, [])), Counter(after.get(table, []))
        if old != new:
            found[table] = (list((old - new).elements()), list((new - old).elements()))
    return found
