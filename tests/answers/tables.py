"""The tables that random statements are about: small, full of NULLs, one for each format, writer and history.

The rows are always the same, so that tables which an earlier run made serve again and a statement answers the same in each run.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.answers.statements import Kind

# Raised when the way in which tables are made changes, so that those of an earlier run are made again.
VERSION = 1
ROWS = 24
# More than two batches of vectorized rows, of 1,024 each.
LONG = 2500
_STRETCH = 700
COLUMNS: dict[str, Kind] = {
    "id": "int",
    "k": "int",
    "n": "int",
    "d": "decimal",
    "f": "double",
    "s": "string",
    "t": "date",
    "b": "boolean",
    "a": "array",
    "m": "map",
    "r": "struct",
}
NESTED = ("a", "m", "r")
# In Hive and Spark; DuckDB's are beside them.
TYPES: dict[str, tuple[str, str]] = {
    "id": ("INT", "INTEGER"),
    "k": ("INT", "INTEGER"),
    "n": ("INT", "INTEGER"),
    "d": ("DECIMAL(10,2)", "DECIMAL(10,2)"),
    "f": ("DOUBLE", "DOUBLE"),
    "s": ("STRING", "VARCHAR"),
    "t": ("DATE", "DATE"),
    "b": ("BOOLEAN", "BOOLEAN"),
    "a": ("ARRAY<INT>", "INTEGER[]"),
    "m": ("MAP<STRING,INT>", "MAP(VARCHAR, INTEGER)"),
    "r": ("STRUCT<x:INT,y:STRING>", "STRUCT(x INTEGER, y VARCHAR)"),
    "p": ("INT", "INTEGER"),
}
# Doubles are exact sums of powers of two, no text has a letter whose upper case has another length: see docs/development.md.
_VALUES: dict[str, tuple[Any, ...]] = {
    "k": (None, 0, 1, 1, 2, 3, 4),
    "n": (None, -7, 0, 1, 2, 3, 5, 12, 100),
    "d": (None, "0.00", "1.50", "1.50", "-2.25", "3.10", "100.00", "99999.99"),
    "f": (None, 0.0, 0.25, 1.5, -3.75, 1024.0),
    "s": (None, "", "a", "b", "B", "aa", "Zürich", "日本", "x y", " b", "b ", "it's", "😀a", "a😀😁", "100%", "a_b"),
    "t": (None, "1900-03-01", "1970-01-01", "1999-12-31", "2020-02-29", "2024-01-01", "2024-01-31"),
    "b": (None, True, False),
    "a": (None, [], [], [1], [1, 2, None], [None, 5], [None], [3, 3]),
    "m": (None, {}, {"a": 1}, {"a": None, "b": 2}, {"b": 3}),
    "r": (None, {"x": 1, "y": "q"}, {"x": None, "y": ""}, {"x": 2, "y": None}),
}


@dataclass(frozen=True)
class TableOf:
    """A table, and how it is made. `clauses` are Hive's or the format of Spark's writer; `rows` of them are inserted."""

    name: str
    writer: Literal["hive", "spark"]
    clauses: str
    rows: int = ROWS
    nested: bool = True
    partitioned: bool = False
    acid: bool = False
    # Statements after the first INSERT, the same in Hive and in DuckDB but for those of `compacted`.
    changes: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, Kind]:
        """Name and type of each column."""
        found = {name: kind for name, kind in COLUMNS.items() if self.nested or name not in NESTED}
        return {**found, "p": "int"} if self.partitioned else found


_TRANSACTIONAL = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_CHANGES = (
    "UPDATE {name} SET n = n + 1, s = 'new' WHERE k = 1",
    "DELETE FROM {name} WHERE id % 5 = 0",
    "UPDATE {name} SET d = NULL, k = 2 WHERE id % 7 = 1",
)
COMPACT = "ALTER TABLE {name} COMPACT 'major' AND WAIT"
TABLES = (
    TableOf("orc_hive", "hive", "STORED AS ORC"),
    TableOf("orc_spark", "spark", "orc"),
    TableOf("parquet_hive", "hive", "STORED AS PARQUET"),
    TableOf("parquet_spark", "spark", "parquet"),
    TableOf("text_hive", "hive", "STORED AS TEXTFILE", nested=False),
    TableOf("parts_hive", "hive", "STORED AS ORC", partitioned=True),
    TableOf("parts_spark", "spark", "parquet", nested=False, partitioned=True),
    TableOf("buckets_hive", "hive", "CLUSTERED BY (k) INTO 4 BUCKETS STORED AS ORC", nested=False),
    TableOf("long_hive", "hive", "STORED AS ORC", rows=LONG),
    TableOf("long_spark", "spark", "parquet", rows=LONG),
    TableOf("one_row", "hive", "STORED AS ORC", rows=1),
    TableOf("no_rows", "hive", "STORED AS PARQUET", rows=0),
    TableOf("acid_changed", "hive", _TRANSACTIONAL, acid=True, changes=_CHANGES),
    TableOf("acid_compacted", "hive", _TRANSACTIONAL, acid=True, changes=(*_CHANGES, COMPACT)),
    TableOf("acid_mixed", "hive", _TRANSACTIONAL, acid=True, changes=(_CHANGES[1], COMPACT, *_CHANGES[::2])),
)


def rows(table: TableOf) -> list[dict[str, Any]]:
    """What is inserted."""
    rng = random.Random(table.name)  # noqa: S311 - no secret
    found = []
    for number in range(1, table.rows + 1):
        row = {"id": number} | {name: _value(rng, name, number) for name in _VALUES}
        if table.partitioned:
            row["p"] = rng.choice((None, 0, 1, 2))
        found.append({name: row[name] for name in table.columns})
    return found


def _value(rng: random.Random, name: str, number: int) -> Any:
    """Batches without NULLs, and those with a single value, take ways of their own: a long table has stretches of such rows."""
    values = _VALUES[name]
    stretch = number // _STRETCH % 3
    if stretch == 1:
        return rng.choice([value for value in values if value is not None])
    return values[number // _STRETCH % len(values)] if stretch == 2 else rng.choice(values)


def digest() -> str:
    """Of all that the tables are made from."""
    made = repr((VERSION, TABLES, [rows(table) for table in TABLES]))
    return hashlib.sha256(made.encode()).hexdigest()[:16]


def json_lines() -> Iterator[str]:
    """All rows with the name of their table, for Hive's and Spark's readers of JSON."""
    for table in TABLES:
        for row in rows(table):
            exact = {**row, "d": "@" if row["d"] else None, "src": table.name}
            yield json.dumps(exact, ensure_ascii=False).replace('"@"', row["d"] or "")


def columns(table: TableOf, *, duckdb: bool = False, partitions: bool = True) -> str:
    """Columns for a CREATE TABLE."""
    return ", ".join(f"{name} {TYPES[name][duckdb]}" for name in table.columns if partitions or name != "p")
