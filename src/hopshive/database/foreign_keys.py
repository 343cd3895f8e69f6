"""The foreign keys of the metastore's database, read from information_schema, never from a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopshive.database.connection import Transaction

# The prefix of every object that hopshive adds to the metastore's database.
PREFIX = "hopshive_"
# The key from a storage descriptor to its directory's inode. It does not count for what belongs to an object.
INODE_KEY = f"{PREFIX}inode"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of `table` refer to `to_columns` of `to`. A table's name has its schema only if that is another one."""

    table: str
    name: str
    columns: tuple[str, ...]
    to: str
    to_columns: tuple[str, ...]
    on_delete: str = "CASCADE"
    on_update: str = "RESTRICT"

    @property
    def column(self) -> str:
        """The column of a key with one column."""
        (column,) = self.columns
        return column

    @property
    def to_column(self) -> str:
        """The column that a key with one column refers to."""
        (column,) = self.to_columns
        return column

    @property
    def cascades(self) -> bool:
        """Whether the deletion of a row deletes the rows that refer to it."""
        return self.on_delete == "CASCADE"


def outgoing(tx: Transaction) -> tuple[ForeignKey, ...]:
    """The keys of tables of the current database, to tables of any database."""
    return _read(tx, "TABLE_SCHEMA", "CONSTRAINT_SCHEMA")


def incoming(tx: Transaction) -> tuple[ForeignKey, ...]:
    """The keys of tables of any database to tables of the current one. The server reads all its schemas for this."""
    return _read(tx, "REFERENCED_TABLE_SCHEMA", "UNIQUE_CONSTRAINT_SCHEMA")


def _read(tx: Transaction, of_column: str, of_rule: str) -> tuple[ForeignKey, ...]:
    here = tx.value("SELECT DATABASE()")

    def said(schema: str, table: str) -> str:
        return table if schema == here else f"{schema}.{table}"

    # Two queries in place of a join: for a join the server would open each table twice.
    rules = {
        # InnoDB and NDB treat RESTRICT and NO ACTION the same.
        (schema, table, name): tuple("RESTRICT" if rule == "NO ACTION" else rule for rule in (on_delete, on_update))
        for schema, table, name, on_delete, on_update in tx.rows(
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE"
            f" FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE {of_rule} = DATABASE()"
        )
    }
    pairs: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for schema, table, name, column, to_schema, to, to_column in tx.rows(
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,"
        f" REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE {of_column} = DATABASE()"
        " AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"
    ):
        pairs.setdefault((schema, table, name, said(to_schema, to)), []).append((column, to_column))
    return tuple(
        ForeignKey(
            said(schema, table),
            name,
            tuple(column for column, _ in columns),
            to,
            tuple(column for _, column in columns),
            *rules.get((schema, table, name), ("unknown", "unknown")),
        )
        for (schema, table, name, to), columns in pairs.items()
    )
