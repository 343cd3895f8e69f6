"""The metastore's columns that hold what users write, in utf8mb4 instead of the stock schema's latin1.

In latin1 a statement that compares with other characters fails (`Illegal mix of collations`), and a value that is written is
refused. With stock Hive it becomes question marks without an error, so two directories can become one: Hive's sessions set
`sql_mode = ANSI_QUOTES`, which is not strict, and hopshive.StrictDriver makes it strict.

A column becomes utf8mb4_bin, which compares as latin1_bin does: letter by letter, trailing spaces aside. Columns for the names of
databases and tables that compare without case keep doing so; the names of partitions no longer do.

All columns keep their length. A key of InnoDB has 3,072 bytes at most, and a character four, so some indexes keep only the
first characters of a column. Where such an index is unique, two names of one table that differ only behind them are refused
by the server (error 1062), never taken for one.

What a column was stands in its comment, so a look at the database tells it, whatever was interrupted. NDB keeps the stock
columns: DBS alone would take 48,000 bytes a row, and a row of NDB has 30,000.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hopshive.consistency.schema.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hopshive.consistency.schema.catalogue import Catalogue, Column
    from hopshive.database import Transaction

_PARAMETERS = ("PARAM_KEY", "PARAM_VALUE")
_GRANT = ("GRANTOR", "PRINCIPAL_NAME")

# Names of databases and tables in tables of transactions: Hive writes none but those of objects that are there, in ASCII, but
# asks for what users type. By table, with the columns that compare without case.
NAMES: Mapping[str, tuple[str, ...]] = {
    "COMPACTION_METRICS_CACHE": ("CMC_DATABASE", "CMC_TABLE"),
    "COMPACTION_QUEUE": ("CQ_DATABASE", "CQ_TABLE"),
    "COMPLETED_COMPACTIONS": ("CC_DATABASE", "CC_TABLE"),
    "COMPLETED_TXN_COMPONENTS": ("CTC_DATABASE", "CTC_TABLE"),
    "HIVE_LOCKS": ("HL_DB", "HL_TABLE"),
    "MATERIALIZATION_REBUILD_LOCKS": ("MRL_DB_NAME", "MRL_TBL_NAME"),
    "MIN_HISTORY_WRITE_ID": ("MH_DATABASE", "MH_TABLE"),
    "NEXT_WRITE_ID": ("NWI_DATABASE", "NWI_TABLE"),
    "TXN_COMPONENTS": ("TC_DATABASE", "TC_TABLE"),
    "TXN_TO_WRITE_ID": ("T2W_DATABASE", "T2W_TABLE"),
    "WRITE_SET": ("WS_DATABASE", "WS_TABLE"),
}

# By table. What Hive compares with each other stands here together: the names of partitions in tables of transactions, locks
# and compactions; those of columns in tables of columns and statistics.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "BUCKETING_COLS": ("BUCKET_COL_NAME",),
    "COLUMNS_V2": ("COMMENT", "COLUMN_NAME", "TYPE_NAME"),
    "COMPACTION_METRICS_CACHE": ("CMC_PARTITION",),
    "COMPACTION_QUEUE": ("CQ_PARTITION", "CQ_TBLPROPERTIES", "CQ_ERROR_MESSAGE", "CQ_ORDER_BY"),
    "COMPLETED_COMPACTIONS": ("CC_PARTITION", "CC_TBLPROPERTIES", "CC_ERROR_MESSAGE", "CC_ORDER_BY"),
    "COMPLETED_TXN_COMPONENTS": ("CTC_PARTITION",),
    "CTLGS": ("DESC", "LOCATION_URI"),
    "DATABASE_PARAMS": _PARAMETERS,
    "DATACONNECTORS": ("URL", "COMMENT", "OWNER_NAME"),
    "DATACONNECTOR_PARAMS": _PARAMETERS,
    "DBS": ("DESC", "DB_LOCATION_URI", "NAME", "OWNER_NAME", "DB_MANAGED_LOCATION_URI", "REMOTE_DBNAME"),
    "DB_PRIVS": _GRANT,
    "DC_PRIVS": _GRANT,
    "FUNCS": ("FUNC_NAME", "OWNER_NAME"),
    "FUNC_RU": ("RESOURCE_URI",),
    "GLOBAL_PRIVS": _GRANT,
    "HIVE_LOCKS": ("HL_PARTITION",),
    "I_SCHEMA": ("NAME", "SCHEMA_GROUP", "DESCRIPTION"),
    "KEY_CONSTRAINTS": ("CONSTRAINT_NAME", "DEFAULT_VALUE"),
    "NOTIFICATION_LOG": ("MESSAGE",),
    "PARTITIONS": ("PART_NAME",),
    "PARTITION_EVENTS": ("PARTITION_NAME",),
    "PARTITION_KEYS": ("PKEY_COMMENT", "PKEY_NAME", "PKEY_TYPE"),
    "PARTITION_KEY_VALS": ("PART_KEY_VAL",),
    "PARTITION_PARAMS": _PARAMETERS,
    "PART_COL_PRIVS": ("COLUMN_NAME", *_GRANT),
    "PART_COL_STATS": ("PARTITION_NAME", "COLUMN_NAME"),
    "PART_PRIVS": _GRANT,
    "REPLICATION_METRICS": ("RM_METADATA", "RM_PROGRESS"),
    "ROLES": ("OWNER_NAME", "ROLE_NAME"),
    "ROLE_MAP": _GRANT,
    "SCHEMA_VERSION": ("DESCRIPTION", "SCHEMA_TEXT", "SCHEMA_VERSION_NAME"),
    "SDS": ("LOCATION",),
    "SD_PARAMS": _PARAMETERS,
    "SERDES": ("NAME", "DESCRIPTION"),
    "SERDE_PARAMS": _PARAMETERS,
    "SKEWED_COL_NAMES": ("SKEWED_COL_NAME",),
    "SKEWED_COL_VALUE_LOC_MAP": ("LOCATION",),
    "SKEWED_STRING_LIST_VALUES": ("STRING_LIST_VALUE",),
    "SORT_COLS": ("COLUMN_NAME",),
    "TABLE_PARAMS": _PARAMETERS,
    "TAB_COL_STATS": ("COLUMN_NAME",),
    "TBLS": ("OWNER", "TBL_NAME", "VIEW_EXPANDED_TEXT", "VIEW_ORIGINAL_TEXT"),
    "TBL_COL_PRIVS": ("COLUMN_NAME", *_GRANT),
    "TBL_PRIVS": _GRANT,
    "TXN_COMPONENTS": ("TC_PARTITION",),
    "TXN_WRITE_NOTIFICATION_LOG": ("WNL_PARTITION", "WNL_TABLE_OBJ", "WNL_PARTITION_OBJ", "WNL_FILES"),
    "WRITE_SET": ("WS_PARTITION",),
}


@dataclass(frozen=True)
class Index:
    """An index of the stock schema of which some columns no longer fit: their first characters that it keeps."""

    table: str
    name: str
    columns: tuple[str, ...]
    kept: Mapping[str, int]
    unique: bool = False
    # What the stock schema's text says beside.
    using: str = ""

    def clauses(self, *, stock: bool) -> list[str]:
        """Of ALTER TABLE: make it again, as long as it fits or as the stock schema has it."""
        columns = ", ".join(
            name if stock or name not in self.kept else f"{name}({self.kept[name]})" for name in self.columns
        )
        if self.name == "PRIMARY":
            return ["DROP PRIMARY KEY", f"ADD PRIMARY KEY ({columns})"]
        return [
            f"DROP KEY {self.name}",
            f"ADD {'UNIQUE ' if self.unique else ''}KEY {self.name} ({columns}){self.using}",
        ]


_BTREE = " USING BTREE"
_NAMES_COLUMN = {"COLUMN_NAME": 382}
_PRINCIPAL = ("PRINCIPAL_NAME", "PRINCIPAL_TYPE")
_GRANTOR = ("GRANTOR", "GRANTOR_TYPE")

# As many characters as fit beside the other columns.
INDEXES = (
    Index("COLUMNS_V2", "PRIMARY", ("CD_ID", "COLUMN_NAME"), {"COLUMN_NAME": 766}, unique=True),
    Index(
        "COMPLETED_COMPACTIONS",
        "COMPLETED_COMPACTIONS_RES",
        ("CC_DATABASE", "CC_TABLE", "CC_PARTITION"),
        {"CC_PARTITION": 384},
    ),
    Index(
        "COMPLETED_TXN_COMPONENTS",
        "COMPLETED_TXN_COMPONENTS_IDX",
        ("CTC_DATABASE", "CTC_TABLE", "CTC_PARTITION"),
        {"CTC_PARTITION": 384},
        using=_BTREE,
    ),
    Index("PARTITIONS", "UNIQUEPARTITION", ("TBL_ID", "PART_NAME"), {"PART_NAME": 766}, unique=True),
    Index(
        "PART_COL_PRIVS",
        "PARTITIONCOLUMNPRIVILEGEINDEX",
        ("AUTHORIZER", "PART_ID", "COLUMN_NAME", *_PRINCIPAL, "PART_COL_PRIV", *_GRANTOR),
        _NAMES_COLUMN,
    ),
    Index(
        "PART_COL_STATS",
        "PCS_STATS_IDX",
        ("DB_NAME", "TABLE_NAME", "COLUMN_NAME", "PARTITION_NAME", "CAT_NAME"),
        {"COLUMN_NAME": 128, "PARTITION_NAME": 480},
        using=_BTREE,
    ),
    Index(
        "TAB_COL_STATS",
        "TAB_COL_STATS_IDX",
        ("DB_NAME", "TABLE_NAME", "COLUMN_NAME", "CAT_NAME"),
        {"COLUMN_NAME": 608},
        using=_BTREE,
    ),
    Index(
        "TBL_COL_PRIVS",
        "TABLECOLUMNPRIVILEGEINDEX",
        ("AUTHORIZER", "TBL_ID", "COLUMN_NAME", *_PRINCIPAL, "TBL_COL_PRIV", *_GRANTOR),
        _NAMES_COLUMN,
    ),
    Index(
        "TXN_WRITE_NOTIFICATION_LOG",
        "PRIMARY",
        ("WNL_TXNID", "WNL_DATABASE", "WNL_TABLE", "WNL_PARTITION"),
        {"WNL_PARTITION": 670},
        unique=True,
    ),
)

STOCK = "latin1"
# The comment of a column that was converted: this and its stock collation.
MARK = "hopshive: was "
_MARKED = re.compile(re.escape(MARK) + r"(latin1_\w+)")
_CHARSET, _COLLATION = "utf8mb4", "utf8mb4_bin"
_CASELESS = "utf8mb4_general_ci"
# Bytes of a key, of a character, and of a column that is no text.
_KEY, _BYTES, _NUMBER = 3072, 4, 8
# Their keys may have 3,072 bytes; those of others have 767.
_LONG_KEYS = frozenset({"Dynamic", "Compressed"})


def conversions(found: Catalogue) -> Iterator[tuple[str, list[str]]]:
    """For each table that needs it, the clauses of its ALTER TABLE. Raises SchemaError where its keys would not fit."""
    if found.engine != "InnoDB":
        return
    for table in sorted({*COLUMNS, *NAMES}):
        columns = found.columns.get(table, {}).values()
        clauses = [_to_utf8mb4(table, column) for column in columns if _is_changed(table, column)]
        if not clauses:
            continue
        if found.row_formats[table] not in _LONG_KEYS:
            raise SchemaError(
                f"{table} in {found.database} has the row format {found.row_formats[table]}, whose keys are too short for "
                f"{_CHARSET}. Nothing was changed. Run ALTER TABLE {table} ROW_FORMAT=DYNAMIC first."
            )
        _require_room(found, table)
        yield table, [*clauses, *_indexes(found, table, stock=False)]


def _require_room(found: Catalogue, table: str) -> None:
    """Raises SchemaError for an index of the site's own that would not fit: MariaDB would make a hash of a unique one."""
    columns = found.columns[table]
    known = {index.name: index for index in INDEXES if index.table == table}
    for name, parts in found.indexes.get(table, {}).items():
        kept = found.prefixes.get((table, name), {})
        if not kept and name in known and known[name].columns == parts:
            kept = known[name].kept
        size = 0
        for column in (columns[part] for part in parts):
            wide = _BYTES if column.charset == _CHARSET or _is_changed(table, column) else 1
            whole = column.octets * _BYTES if _is_changed(table, column) else column.octets or _NUMBER
            size += kept[column.name] * wide if column.name in kept else whole
        if size > _KEY:
            raise SchemaError(
                f"The index {name} of {table} in {found.database} would have {size:,} bytes in {_CHARSET}, and a key has "
                f"{_KEY:,} at most. Nothing was changed. It is not the stock schema's: drop it, or let it hold fewer "
                f"characters, such as {parts[-1]}(100)."
            )


def reversions(found: Catalogue) -> Iterator[tuple[str, list[str]]]:
    """The way back, for each table with columns that were converted. Raises SchemaError for values that latin1 does not have."""
    if found.foreign_texts:
        rows = "; ".join(str(row) for row in found.foreign_texts)
        raise SchemaError(
            f"The stock schema's {STOCK} cannot hold what stands in {found.database}: {rows}. Nothing was changed. Rename "
            "or drop what has these values, and remove the schema then."
        )
    for table, columns in sorted(found.columns.items()):
        clauses = [
            _to_stock(found, table, column, collation)
            for column in columns.values()
            if (collation := _stock_collation(column))
        ]
        if clauses:
            yield table, [*clauses, *_indexes(found, table, stock=True)]


def converted(found: Catalogue) -> Catalogue:
    """The catalogue as it is after `conversions`: what is made of columns must be made of the new ones."""
    if found.engine != "InnoDB":
        return found
    columns = {
        table: {
            name: replace(column, charset=_CHARSET, collation=_collation(table, name))
            if _is_changed(table, column)
            else column
            for name, column in some.items()
        }
        for table, some in found.columns.items()
    }
    return replace(found, columns=columns)


def _is_changed(table: str, column: Column) -> bool:
    return column.charset == STOCK and column.name in (*COLUMNS.get(table, ()), *NAMES.get(table, ()))


def _collation(table: str, name: str) -> str:
    return _CASELESS if name in NAMES.get(table, ()) else _COLLATION


@dataclass(frozen=True)
class ForeignText:
    """A column with values that latin1 does not have: how many, and one of them with the key of its row."""

    table: str
    column: str
    count: int
    key: str
    example: str

    def __str__(self) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count} rows, of which one"
        return f"{self.column} of {self.table} in {rows} ({self.key}) has {self.example!r}"


# Of an example, in characters.
_SHOWN = 60


def foreign_texts(
    tx: Transaction, columns: Mapping[str, Mapping[str, Column]], indexes: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> tuple[ForeignText, ...]:
    """Columns that were converted and hold values that latin1 does not have. Reads whole tables."""
    found = []
    for table, some in sorted(columns.items()):
        for column in some.values():
            if not _stock_collation(column):
                continue
            key = indexes.get(table, {}).get("PRIMARY") or tuple(
                other.name for other in some.values() if other.name.endswith(("ID", "_DATABASE", "_TABLE"))
            )
            shown = ", ', ', ".join(f"'{name} ', COALESCE(`{name}`, 'NULL')" for name in key)
            sql = (
                f"SELECT COUNT(*), MIN(CONCAT({shown})), MIN(LEFT(`{column.name}`, {_SHOWN})) FROM {table}"
                f" WHERE CONVERT(CONVERT(`{column.name}` USING {STOCK}) USING {_CHARSET}) COLLATE {_COLLATION}"
                f" <> `{column.name}` COLLATE {_COLLATION}"
            )
            count, row, example = tx.rows(sql)[0]
            if count:
                found.append(ForeignText(table, column.name, int(count), str(row), str(example)))
    return tuple(found)


def _indexes(found: Catalogue, table: str, *, stock: bool) -> list[str]:
    """Those that stand as the stock schema has them, or as we do."""
    return [
        clause
        for index in INDEXES
        if index.table == table
        and found.indexes.get(table, {}).get(index.name) == index.columns
        and found.prefixes.get((table, index.name), {}) == (index.kept if stock else {})
        for clause in index.clauses(stock=stock)
    ]


def _stock_collation(column: Column) -> str:
    marked = _MARKED.fullmatch(column.comment)
    return marked[1] if marked else ""


def _to_utf8mb4(table: str, column: Column) -> str:
    return (
        f"MODIFY COLUMN `{column.name}` {column.type} CHARACTER SET {_CHARSET} COLLATE {_collation(table, column.name)}"
        f" {_null(column)}"
        f" COMMENT '{MARK}{column.collation}'"
    )


def _to_stock(found: Catalogue, table: str, column: Column, collation: str) -> str:
    # What is the table's own is not said, so that SHOW CREATE TABLE tells the stock schema's text again.
    text = "" if collation == found.collations.get(table) else f" CHARACTER SET {STOCK} COLLATE {collation}"
    return f"MODIFY COLUMN `{column.name}` {column.type}{text} {_null(column)}"


def _null(column: Column) -> str:
    return "NULL" if column.nullable else "NOT NULL"
