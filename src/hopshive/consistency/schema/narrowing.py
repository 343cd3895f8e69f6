"""On NDB: columns of the tables that go with an object are made such that a cascade can delete their rows, and columns of tables
that are read for many objects at once such that NDB does that.

NDB refuses ON DELETE CASCADE where the child table has a column whose values lie outside of the row, a TEXT or a BLOB (error
21034). Such a column becomes a VARCHAR or VARBINARY, as long as a row has room for. What does not fit is refused by the server
(error 1406), never cut: hopshive.StrictDriver makes strict what Hive sets as the SQL mode. What the column was stands in its
comment, so a look at the database tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency.schema.cascades import in_one_piece
from hopshive.consistency.schema.catalogue import NDB
from hopshive.consistency.schema.doubles import MARK
from hopshive.consistency.schema.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.consistency.schema.catalogue import Catalogue, Column

# Bytes of a row: NDB allows 30,000 (NDB_MAX_TUPLE_SIZE); the rest is for the columns' heads and for those that are added.
_ROW = 29_000
# Bytes of a column that is no text, and of the length of one that is.
_OTHER, _LENGTH = 8, 2
# What a column needs; others share the rest. Hive's HyperLogLog has 2^14 registers of up to six bits, and a head.
_NEEDED = {"BIT_VECTOR": 12_400}
_BYTES_OF_CHARACTER = {"utf8mb4": 4, "utf8mb3": 3, "utf8": 3}


def narrowings(found: Catalogue) -> Iterator[tuple[str, list[str]]]:
    """For each table that needs it, the clauses of its ALTER TABLE. Raises SchemaError for a value that would not fit."""
    if found.engine != NDB:
        return
    for table in in_one_piece(found.foreign_keys):
        columns = found.columns[table].values()
        apart = [column for column in columns if column.is_apart]
        if not apart:
            continue
        room = _ROW - sum(
            column.octets + _LENGTH if column.octets else _OTHER for column in columns if not column.is_apart
        )
        needed = {column.name: _NEEDED[column.name] for column in apart if column.name in _NEEDED}
        share = (room - sum(needed.values())) // max(1, len(apart) - len(needed))
        yield table, [_narrowed(found, table, column, needed.get(column.name, share)) for column in apart]


def widenings(found: Catalogue) -> Iterator[tuple[str, list[str]]]:
    """The way back, for each table with columns that were narrowed."""
    for table, columns in sorted(found.columns.items()):
        clauses = [
            _modified(found, table, column, stock, "") for column in columns.values() if (stock := _stock_type(column))
        ]
        if clauses:
            yield table, clauses


def _narrowed(found: Catalogue, table: str, column: Column, octets: int) -> str:
    length = octets // _BYTES_OF_CHARACTER.get(column.charset, 1)
    longest = found.longest.get((table, column.name), 0)
    if longest > length:
        unit = "bytes" if length == octets else "characters"
        raise SchemaError(
            f"{column.name} of {table} in {found.database} holds a value of {longest} {unit}, and on NDB it can hold {length}: "
            f"a row that goes with its object has 30,000 bytes. Nothing was changed. To find it: SELECT * FROM {table} WHERE "
            f"CHAR_LENGTH({column.name}) > {length}."
        )
    kind = f"varchar({length})" if column.charset else f"varbinary({length})"
    return _modified(found, table, column, kind, MARK + column.type)


def _stock_type(column: Column) -> str:
    return column.comment.removeprefix(MARK) if column.comment.startswith(MARK) else ""


def _modified(found: Catalogue, table: str, column: Column, kind: str, comment: str) -> str:
    # What is the table's own is not said, so that SHOW CREATE TABLE tells the stock schema's text again.
    text = f" CHARACTER SET {column.charset} COLLATE {column.collation}" if column.charset else ""
    if column.collation == found.collations.get(table):
        text = ""
    null = "NULL" if column.nullable else "NOT NULL"
    return f"MODIFY COLUMN {column.name} {kind}{text} {null} COMMENT '{comment}'"
