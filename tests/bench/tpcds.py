"""The tables of TPC-DS as metadata, with the statistics of generated data, and nine of its queries.

Planning reads the metastore alone: tables, partitions, and statistics of their columns. So no data is written. What stands in the
statistics (rows, least and greatest values, distinct values, NULLs, lengths) is that of the data that DuckDB's generator makes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

from hopshive.metastore.thrift import Fields, TType
from tests.bench.thrift_metastore import storage_descriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.thrift_metastore import ThriftMetastore
    from tests.warehouse.hiveserver2 import HiveSession

DB = "tpcds"
# Those of figure 4.1 of the HopsHive thesis.
QUERIES = (27, 39, 45, 48, 52, 79, 88, 94, 95)
# Facts and their partition column, and the days between two partitions: the inventory is taken once a week.
PARTITIONED = {
    "store_sales": ("ss_sold_date_sk", 1),
    "catalog_sales": ("cs_sold_date_sk", 1),
    "web_sales": ("ws_sold_date_sk", 1),
    "store_returns": ("sr_returned_date_sk", 1),
    "catalog_returns": ("cr_returned_date_sk", 1),
    "web_returns": ("wr_returned_date_sk", 1),
    "inventory": ("inv_date_sk", 7),
}
# 1998-01-02, the first day with sales, and the days from there on.
FIRST_DAY = 2450816
DAYS = 1800
# Of the generated data. Rows of 1 GB are ten times as many.
SCALE = 0.1
# Partitions of one call.
BATCH = 200
_EPOCH = date(1970, 1, 1)
_ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
)


@dataclass(frozen=True)
class Column:
    """A column, and what is known of its values. `low` and `high` are None for text."""

    name: str
    kind: str
    low: Any
    high: Any
    nulls: int
    distinct: int
    longest: int
    length: float


@dataclass(frozen=True)
class Table:
    """A table; `key` is its partition column, which is not among `columns`, and `days` are that column's values."""

    name: str
    rows: int
    columns: tuple[Column, ...]
    key: str = ""
    days: tuple[int, ...] = ()

    @property
    def ddl(self) -> str:
        """The statement that makes it."""
        columns = ", ".join(f"`{one.name}` {one.kind}" for one in self.columns)
        by = f" PARTITIONED BY (`{self.key}` INT)" if self.key else ""
        parameters = (
            ""
            if self.key
            else f" TBLPROPERTIES ({', '.join(f'{_quoted(k)}={_quoted(v)}' for k, v in self._size(1).items())})"
        )
        return f"CREATE EXTERNAL TABLE {DB}.{self.name} ({columns}){by} STORED AS ORC{parameters}"

    def _size(self, parts: int) -> dict[str, str]:
        """Parameters of a table or of one of some partitions, as an INSERT leaves them."""
        rows = max(1, self.rows // parts)
        return {
            "numFiles": "1",
            "numRows": str(rows),
            "rawDataSize": str(rows * 100),
            "totalSize": str(rows * 30),
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
        }

    def partitions(self, location: str) -> Iterator[tuple[str, Fields, dict[str, str]]]:
        """Value, storage descriptor and parameters of each partition."""
        for day in self.days:
            yield str(day), self._descriptor(f"{location}/{self.key}={day}"), self._size(len(self.days))

    def _descriptor(self, location: str) -> Fields:
        return storage_descriptor(location, [(one.name, one.kind) for one in self.columns], _ORC)

    def statistics(self) -> Iterator[Fields]:
        """Of the table, or of each of its partitions: structs ColumnStatistics."""
        parts = len(self.days) or 1
        objects = [_statistics(one, parts) for one in self.columns]
        for day in self.days or (None,):
            description: Fields = {
                1: (TType.BOOL, day is None),
                2: (TType.STRING, DB),
                3: (TType.STRING, self.name),
                **({} if day is None else {4: (TType.STRING, f"{self.key}={day}")}),
                5: (TType.I64, 0),
                6: (TType.STRING, "hive"),
            }
            yield {
                1: (TType.STRUCT, description),
                2: (TType.LIST, (TType.STRUCT, objects)),
                4: (TType.STRING, "hive"),
            }


def _statistics(column: Column, parts: int) -> Fields:
    """A struct ColumnStatisticsObj, of one of some equal parts."""
    nulls: tuple[TType, Any] = (TType.I64, column.nulls // parts)
    distinct: tuple[TType, Any] = (TType.I64, max(1, column.distinct // parts))
    ends: dict[int, tuple[TType, Any]] = {}
    if column.kind in ("int", "bigint"):
        number = 2
        ends = {at: (TType.I64, int(value)) for at, value in _ends(column)}
    elif column.kind.startswith("decimal"):
        number = 6
        ends = {at: (TType.STRUCT, _decimal(value)) for at, value in _ends(column)}
    elif column.kind == "date":
        number = 7
        ends = {at: (TType.STRUCT, {1: (TType.I64, (value - _EPOCH).days)}) for at, value in _ends(column)}
    else:
        number = 4
        ends = {1: (TType.I64, column.longest), 2: (TType.DOUBLE, column.length)}
    data: Fields = {number: (TType.STRUCT, {**ends, 3: nulls, 4: distinct})}
    return {1: (TType.STRING, column.name), 2: (TType.STRING, column.kind), 3: (TType.STRUCT, data)}


def _ends(column: Column) -> list[tuple[int, Any]]:
    return [(at, value) for at, value in ((1, column.low), (2, column.high)) if value is not None]


def _decimal(value: Decimal) -> Fields:
    unscaled = int(value.scaleb(2))
    content = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    return {3: (TType.I16, 2), 1: (TType.STRING, content)}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def read_tables(days: int = DAYS) -> list[Table]:
    """All tables, with the statistics of data that is generated for it (some seconds)."""
    with duckdb.connect() as connection:
        connection.execute(f"LOAD tpcds; CALL dsdgen(sf={SCALE})")
        names = [str(name) for (name,) in connection.execute("SHOW TABLES").fetchall()]
        return [_read_table(connection, name, days) for name in names]


def _read_table(connection: duckdb.DuckDBPyConnection, name: str, days: int) -> Table:
    key, step = PARTITIONED.get(name, ("", 1))
    rows = int(connection.execute(f"SELECT COUNT(*) FROM {name}").fetchall()[0][0])
    columns = [
        _read_column(connection, name, str(column), str(kind))
        for column, kind, *_ in connection.execute(f"DESCRIBE {name}").fetchall()
        if column != key
    ]
    return Table(name, rows, tuple(columns), key, tuple(range(FIRST_DAY, FIRST_DAY + days, step)) if key else ())


def _read_column(connection: duckdb.DuckDBPyConnection, table: str, name: str, kind: str) -> Column:
    text = kind == "VARCHAR"
    length = f"MAX(LENGTH({name})), AVG(LENGTH({name}))" if text else "0, 0"
    ends = "NULL, NULL" if text else f"MIN({name}), MAX({name})"
    sql = f"SELECT {ends}, COUNT(*) - COUNT({name}), APPROX_COUNT_DISTINCT({name}), {length} FROM {table}"
    low, high, nulls, distinct, longest, average = connection.execute(sql).fetchall()[0]
    hive = {"INTEGER": "int", "BIGINT": "bigint", "VARCHAR": "string", "DATE": "date"}.get(kind, kind.lower())
    return Column(name, hive, low, high, int(nulls), int(distinct), int(longest or 0), float(average or 0))


def read_queries() -> dict[int, str]:
    """The text of QUERIES, by number: DuckDB's, with names in Hive's quotes."""
    with duckdb.connect() as connection:
        connection.execute("LOAD tpcds")
        found = dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
    return {number: re.sub(r'"([^"]*)"', r"`\1`", found[number]).strip().rstrip(";") for number in QUERIES}


def make(session: HiveSession, client: ThriftMetastore, tables: list[Table], root: str) -> None:
    """Make the tables, their partitions and their statistics in an empty metastore; `root` is where they lie."""
    session.execute(f"CREATE DATABASE {DB}")
    for table in tables:
        session.execute(table.ddl)
        parts = list(table.partitions(f"{root}/{table.name}"))
        for start in range(0, len(parts), BATCH):
            client.add_described(DB, table.name, parts[start : start + BATCH])
        statistics = list(table.statistics())
        for start in range(0, len(statistics), BATCH):
            client.set_statistics(statistics[start : start + BATCH])
