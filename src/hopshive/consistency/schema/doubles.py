"""The least and the greatest value of columns of type DOUBLE, kept as such.

The stock schema has double(53,4) for them: it rounds to four digits of the fraction, and has no place for 1e49 or more. Hive's
INSERT fails there, with its rows written, since its sessions are strict (hopshive.StrictDriver).

What a column was stands in its comment, by which `hopshive.consistency.schema.narrowing.widenings` brings it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hopshive.consistency.schema.catalogue import Catalogue, Column
    from hopshive.database import Transaction

# The comment of a column that was changed: this and its stock type.
MARK = "hopshive: stock "
TABLES = ("PART_COL_STATS", "TAB_COL_STATS")
COLUMNS = ("DOUBLE_HIGH_VALUE", "DOUBLE_LOW_VALUE")
STOCK = "double(53,4)"
# What the stock columns cannot hold.
_BEYOND = "1e49"


def whole(found: Catalogue) -> Iterator[tuple[str, list[str]]]:
    """For each table that needs it, the clauses of its ALTER TABLE."""
    for table in TABLES:
        columns = (found.columns.get(table, {}).get(name) for name in COLUMNS)
        clauses = [
            f"MODIFY COLUMN {column.name} double NULL COMMENT '{MARK}{STOCK}'"
            for column in columns
            if column is not None and column.type == STOCK
        ]
        if clauses:
            yield table, clauses


def beyond(tx: Transaction, columns: Mapping[str, Mapping[str, Column]]) -> tuple[tuple[str, str], ...]:
    """The tables and columns that hold what the stock columns cannot. Reads whole tables."""
    return tuple(
        (table, name)
        for table in TABLES
        for name in COLUMNS
        if (column := columns.get(table, {}).get(name)) is not None
        and column.type != STOCK
        and tx.value(f"SELECT COUNT(*) FROM {table} WHERE ABS({name}) >= {_BEYOND}")
    )


def forgotten(found: Catalogue) -> Iterator[str]:
    """The statements that take it out, before the columns become stock again: it is statistics."""
    for table, name in found.beyond:
        yield f"UPDATE {table} SET {name} = NULL WHERE ABS({name}) >= {_BEYOND}"
