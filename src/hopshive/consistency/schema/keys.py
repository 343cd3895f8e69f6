"""Statements about foreign keys, and about the columns, indexes and rows that they need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hopshive.consistency.schema.cascades import (
    ADDED,
    CHILD_KEY,
    DATABASE_KEY,
    PARENT_KEY,
)
from hopshive.consistency.schema.catalogue import (
    DESCRIPTORS,
    NDB,
    OF_DATABASES,
    ORPHANS,
    Catalogue,
    Column,
)
from hopshive.consistency.schema.errors import SchemaError
from hopshive.consistency.schema.stock_keys import missing_keys
from hopshive.consistency.schema.wanted import HIVE_SCHEMA, INODE_COLUMNS, Statement, Wanted
from hopshive.database import Names
from hopshive.database.foreign_keys import INODE_KEY, PREFIX, ForeignKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# On NDB, of PART_COL_STATS: with the stock index, whose next column is the partition's name, the statistics of six columns of
# 1,800 partitions are 10,800 ranges, 140 ms; with this one six, 40 ms. The server takes the stock one for few of the partitions.
STATISTICS_INDEX = f"{PREFIX}column"
STATISTICS_COLUMNS = ("DB_NAME", "TABLE_NAME", "COLUMN_NAME")


def alter(table: str, clauses: Sequence[str], *, checks: bool = False) -> Statement:
    """One ALTER TABLE with some clauses."""
    return Statement(f"ALTER TABLE {table} {', '.join(clauses)}", checks=checks)


def _constraint(key: ForeignKey) -> str:
    """The clause that adds a key; RESTRICT is what a key without a rule has."""
    rules = "".join(
        f" ON {event} {rule}"
        for event, rule in (("DELETE", key.on_delete), ("UPDATE", key.on_update))
        if rule != "RESTRICT"
    )
    columns, to_columns = ", ".join(key.columns), ", ".join(key.to_columns)
    return f"ADD CONSTRAINT {key.name} FOREIGN KEY ({columns}) REFERENCES {key.to} ({to_columns}){rules}"


def renamed(found: Catalogue, changes: Iterable[tuple[ForeignKey, ForeignKey]]) -> list[Statement]:
    """One ALTER TABLE for each table: without the checks it takes no time, and the old keys have held so far."""
    tables: dict[str, list[tuple[ForeignKey, ForeignKey]]] = {}
    for before, after in changes:
        tables.setdefault(before.table, []).append((before, after))
    return [
        alter(
            table,
            [f"DROP FOREIGN KEY {before.name}" for before, _ in pairs]
            + [clause for before, _ in pairs for clause in _own_index(found, before)]
            + [_constraint(after) for _, after in pairs],
        )
        for table, pairs in tables.items()
    ]


def _own_index(found: Catalogue, key: ForeignKey) -> list[str]:
    """Keep the index that the server made for a key, under its name: it belongs to the key and would be made again for another.

    Such an index is the only one that begins with the key's columns, and is named like the key or its first column.
    """
    fit = [name for name, columns in found.indexes[key.table].items() if columns[: len(key.columns)] == key.columns]
    if len(fit) != 1 or fit[0] not in (key.name, key.columns[0]):
        return []
    return [f"DROP KEY {fit[0]}", f"ADD KEY {fit[0]} ({', '.join(found.indexes[key.table][fit[0]])})"]


def unlinked(found: Catalogue, table: str, key: str, columns: Sequence[str]) -> list[Statement]:
    """Take off a key with its index, and columns. The server builds the table again then, while others work on it.

    A column that is dropped without that stays hidden in each row, and after some times there is no room for another.
    """
    clauses = [
        f"DROP FOREIGN KEY {item.name}" for item in found.foreign_keys if (item.table, item.name) == (table, key)
    ]
    clauses += [f"DROP KEY {name}" for name in own_indexes(found, table) if name == key]
    there = [f"DROP COLUMN {column}" for column in columns if column in found.columns.get(table, {})]
    return [alter(table, [*clauses, *there, *(["FORCE"] if there else [])])] if clauses or there else []


def lost_keys(found: Catalogue) -> tuple[list[Statement], Catalogue]:
    """The stock keys that a crash took, each row checked, for none has held meanwhile; and the catalogue with them."""
    lost = missing_keys(found) if found.version == HIVE_SCHEMA else []
    tables: dict[str, list[str]] = {}
    for key in lost:
        tables.setdefault(key.table, []).append(_constraint(key))
    statements = [alter(table, clauses, checks=True) for table, clauses in tables.items()]
    return statements, replace(found, foreign_keys=(*found.foreign_keys, *lost))


@dataclass(frozen=True)
class _Link:
    """Nullable columns with an index and a foreign key on them. `remade`: columns that stood there go first."""

    off: tuple[Statement, ...] = ()
    on: tuple[Statement, ...] = ()
    remade: bool = False


def _link(found: Catalogue, key: ForeignKey, types: Sequence[Column]) -> _Link:
    """What a link lacks. Its columns are empty when the key is added, so the key holds and no row need be checked.

    Columns with values but without their key are unknown: they are made again.
    """
    if key in found.foreign_keys:
        return _Link()
    there = found.columns[key.table]
    definitions = {name: kind.definition for name, kind in zip(key.columns, types, strict=True)}
    keep = key.table not in found.leftovers and all(
        name in there and there[name].definition == definition for name, definition in definitions.items()
    )
    adds = [f"ADD COLUMN {name} {definition} NULL" for name, definition in definitions.items()]
    return _Link(
        off=tuple(unlinked(found, key.table, key.name, () if keep else key.columns)),
        on=(
            *(() if keep else (alter(key.table, adds),)),
            alter(key.table, [f"ADD KEY {key.name} ({', '.join(key.columns)})", _constraint(key)]),
        ),
        remade=not keep and any(name in there for name in definitions),
    )


def inode_link(found: Catalogue, names: Names, types: dict[str, Column]) -> _Link:
    """From a storage descriptor to the inode of its directory."""
    to = names.inodes.removeprefix(f"{found.database}.")
    key = ForeignKey("SDS", INODE_KEY, tuple(INODE_COLUMNS), to, tuple(INODE_COLUMNS.values()))
    return _link(found, key, [types[name] for name in key.to_columns])


def database_link(found: Catalogue) -> _Link:
    """From a database to its storage descriptor."""
    key = ForeignKey("DBS", DATABASE_KEY, ("SD_ID",), "SDS", ("SD_ID",))
    return _link(found, key, [found.columns["SDS"]["SD_ID"]])


def forgotten_inodes(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    """What the mirror knew before a removal. Nothing refers to it now; TRUNCATE refuses if another metastore's rows do."""
    statements = []
    if wanted.source == "hdfs" and found.inodes is not None and found.inodes.rows:
        statements.append(Statement(f"TRUNCATE TABLE {names.inodes}"))
    if found.positions:
        statements.append(Statement(f"DELETE FROM {names.state}.position"))
    return statements


def forgotten_descriptors(found: Catalogue) -> list[Statement]:
    """Storage descriptors of databases, once no database refers to them."""
    return [Statement(f"DELETE FROM SDS WHERE {OF_DATABASES}")] if found.database_descriptors else []


def numbering(found: Catalogue) -> list[Statement]:
    """Numbers above zero for the metastore's own storage descriptors: those below are databases'.

    Where it has given none yet, DataNucleus begins behind the largest number in the table, and that would be a database's.
    """
    if found.next_descriptor is not None and found.next_descriptor > 0:
        return []
    return [
        Statement(
            "INSERT INTO SEQUENCE_TABLE (SEQUENCE_NAME, NEXT_VAL)"
            f" SELECT '{DESCRIPTORS}', GREATEST(1, COALESCE(MAX(SD_ID), 0) + 1) FROM SDS"
            " ON DUPLICATE KEY UPDATE NEXT_VAL = GREATEST(NEXT_VAL, VALUES(NEXT_VAL))"
        )
    ]


def key_constraints(found: Catalogue, wanted: Wanted) -> list[Statement]:
    """Keys of KEY_CONSTRAINTS to the child and the parent table; the rows are checked, for no key has held so far."""
    keys = [
        ForeignKey("KEY_CONSTRAINTS", PARENT_KEY, ("PARENT_TBL_ID",), "TBLS", ("TBL_ID",)),
        ForeignKey("KEY_CONSTRAINTS", CHILD_KEY, ("CHILD_TBL_ID",), "TBLS", ("TBL_ID",)),
    ]
    missing = [key for key in keys if key not in found.foreign_keys]
    if not missing:
        return []
    orphans = {column: count for column, count in found.orphans.items() if count}
    if orphans and not wanted.delete_orphans:
        said = " and ".join(f"{count} by {column}" for column, count in sorted(orphans.items()))
        raise SchemaError(
            f"Rows of KEY_CONSTRAINTS in {found.database} name a table that is not in TBLS: {said}. Nothing was changed. They "
            "are of no use to anyone; delete them, or let them be deleted with orphans: delete. To see them: "
            f"{ORPHANS.format(what='KEY_CONSTRAINTS.*', column=min(orphans))}"
        )
    statements = [
        # The derived table is for MySQL, which does not delete from a table that it reads.
        Statement(
            f"DELETE FROM KEY_CONSTRAINTS WHERE {column} IN (SELECT id FROM "
            f"({ORPHANS.format(what=f'KEY_CONSTRAINTS.{column} AS id', column=column)}) AS orphan)"
        )
        for column in orphans
    ]
    drops = [f"DROP FOREIGN KEY {key.name}" for key in found.foreign_keys if key.name in {k.name for k in missing}]
    adds = [_constraint(key) for key in missing]
    if any(key.name == CHILD_KEY for key in missing) and CHILD_KEY not in own_indexes(found, "KEY_CONSTRAINTS"):
        adds.insert(0, f"ADD KEY {CHILD_KEY} (CHILD_TBL_ID)")
    if drops:
        statements.append(alter("KEY_CONSTRAINTS", drops))
    return [*statements, alter("KEY_CONSTRAINTS", adds, checks=True)]


def statistics_index(found: Catalogue) -> list[Statement]:
    """STATISTICS_INDEX, on NDB."""
    if found.engine != NDB or STATISTICS_INDEX in found.indexes["PART_COL_STATS"]:
        return []
    return [alter("PART_COL_STATS", [f"ADD KEY {STATISTICS_INDEX} ({', '.join(STATISTICS_COLUMNS)})"])]


def own_indexes(found: Catalogue, table: str) -> list[str]:
    """Indexes of a table that carry the name of a key of ours."""
    return sorted(name for name in found.indexes.get(table, {}) if name in ADDED)
