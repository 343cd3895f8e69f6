"""What keeps a row of the metastore alive: derived from the foreign keys of its database, and a list of what has none.

A foreign key that leads to a kind of row below is a reference, which protects it, unless its table is named here as a
part of it. So a key that a later release, or a site, adds protects too. Facts: the scripts and ObjectStore of Hive 4.0.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.database.foreign_keys import incoming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hopshive.database import Transaction
    from hopshive.database.foreign_keys import ForeignKey

_PLAIN = re.compile(r"[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+)?")


class ReferencesError(Exception):
    """The metastore's tables are not as they must be; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Root:
    """A table whose rows may become garbage. `parts`: tables whose rows belong to one of its rows and go with it."""

    table: str
    key: str
    parts: tuple[str, ...] = ()
    # Columns that refer to it although no foreign key says so, and that no index helps to find.
    loose: tuple[tuple[str, str], ...] = ()
    # Columns with catalog, database and name of the table that it belongs to, if that is known by name only.
    owner: tuple[str, str, str] | None = None


ROOTS = (
    Root(
        "SDS",
        "SD_ID",
        (
            "BUCKETING_COLS",
            "SD_PARAMS",
            "SKEWED_COL_NAMES",
            "SKEWED_COL_VALUE_LOC_MAP",
            "SKEWED_VALUES",
            "SORT_COLS",
        ),
    ),
    # ObjectStore.removeUnusedColumnDescriptor: a constraint names the columns of the table that it was declared for.
    Root(
        "CDS",
        "CD_ID",
        ("COLUMNS_V2",),
        loose=(("KEY_CONSTRAINTS", "PARENT_CD_ID"), ("KEY_CONSTRAINTS", "CHILD_CD_ID")),
    ),
    Root("SERDES", "SERDE_ID", ("SERDE_PARAMS",)),
    Root("SKEWED_STRING_LIST", "STRING_LIST_ID", ("SKEWED_STRING_LIST_VALUES",)),
    # ObjectStore.createTable and dropTable write and delete it by the name of the materialized view.
    Root(
        "MV_CREATION_METADATA",
        "MV_CREATION_METADATA_ID",
        ("MV_TABLES_USED",),
        owner=("CAT_NAME", "DB_NAME", "TBL_NAME"),
    ),
)


@dataclass(frozen=True)
class Part:
    """A table whose rows go with one row of a root, which `column` names; `index` begins with it."""

    table: str
    column: str
    index: str


@dataclass(frozen=True)
class Onward:
    """What rows refer to that may be garbage once they are gone: `column` of those rows of `table` whose `key` is theirs."""

    table: str
    key: str
    column: str
    kind: str


@dataclass(frozen=True)
class GarbageKind:
    """A root with what the database says about it: the keys of its parts, and those that protect it."""

    root: Root
    parts: tuple[Part, ...] = ()
    references: tuple[ForeignKey, ...] = ()
    onward: tuple[Onward, ...] = ()

    @property
    def unused(self) -> str:
        """The condition on a row `g` that it is garbage. A reference with an index costs one look into it, however many."""
        root = self.root
        tests = [f"(SELECT 1 FROM {key.table} r WHERE {_same(key)} LIMIT 1) IS NULL" for key in self.references]
        # Never walked for each row: without an index each would read the whole table.
        tests += [
            f"g.{root.key} NOT IN (SELECT r.{column} FROM {table} r WHERE r.{column} IS NOT NULL)"
            for table, column in root.loose
        ]
        if root.owner:
            catalog, database, table = root.owner
            tests.append(
                "(SELECT 1 FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID"
                f" WHERE t.TBL_NAME = g.{table} AND d.NAME = g.{database} AND d.CTLG_NAME = g.{catalog} LIMIT 1) IS NULL"
            )
        return " AND ".join(tests)


def _same(key: ForeignKey) -> str:
    """That `r` refers to `g`."""
    return " AND ".join(f"r.{column} = g.{to}" for column, to in zip(key.columns, key.to_columns, strict=True))


def kinds(
    database: str, keys: Iterable[ForeignKey], tables: Iterable[str], indexes: Mapping[tuple[str, str], str]
) -> list[GarbageKind]:
    """The kinds of garbage in a database with these tables and foreign keys, in the order in which they set others free.

    `indexes`: one that begins with a column, by table and column. Raises ReferencesError if nothing protects a kind: a
    database without foreign keys must not be emptied.
    """
    there = set(tables)
    keys = sorted(keys, key=lambda key: (key.to, key.table, key.columns))
    roots = [root for root in ROOTS if root.table in there]
    names = {root.table for root in roots}
    found = []
    for root in roots:
        of_parts = {key for key in keys if key.to == root.table and key.table in root.parts and len(key.columns) == 1}
        references = tuple(key for key in keys if key.to == root.table and key not in of_parts)
        if not references and not root.owner:
            raise ReferencesError(
                f"No foreign key leads to {root.table} of the database {database}: this is not the schema that schematool makes, "
                "and nothing in it can be told from garbage. Nothing was collected."
            )
        parts = tuple(
            Part(key.table, key.column, plain(indexes[key.table, key.column])) for key in keys if key in of_parts
        )
        own = {part.table: part.column for part in parts} | {root.table: root.key}
        onward = tuple(
            Onward(key.table, own[key.table], key.column, key.to)
            for key in keys
            if key.table in own and len(key.columns) == 1 and key.to != root.table and key.to in names
        )
        found.append(GarbageKind(root, parts, references, onward))
    return found


def read_kinds(tx: Transaction) -> list[GarbageKind]:
    """The kinds of this database. Raises ReferencesError."""
    keys = incoming(tx)
    for key in keys:
        for name in (key.table, *key.columns, *key.to_columns):
            plain(name)
    database = str(tx.value("SELECT DATABASE()"))
    tables = tx.rows("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
    return kinds(database, keys, [str(row[0]) for row in tables], leading_indexes(tx))


def leading_indexes(tx: Transaction) -> dict[tuple[str, str], str]:
    """An index that begins with a column, by table and column; the primary key where it does."""
    return {
        (table, column): index
        for table, column, index in tx.rows(
            "SELECT TABLE_NAME, COLUMN_NAME, INDEX_NAME FROM information_schema.STATISTICS"
            " WHERE TABLE_SCHEMA = DATABASE() AND SEQ_IN_INDEX = 1 ORDER BY INDEX_NAME = 'PRIMARY'"
        )
    }


def plain(name: str) -> str:
    """The name: those of tables, columns and indexes stand in statements as they are. Raises ReferencesError for another."""
    if not _PLAIN.fullmatch(name):
        raise ReferencesError(
            f"A foreign key of the metastore's database uses the name {name!r}, which hopshive cannot write into a statement."
        )
    return name
