"""Which statements make the schema what it must be: decided from what stands in the database, and nothing else.

So the same run goes on where another was interrupted: each statement is atomic, and the next look sees what is left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hopshive.consistency.schema import own_tables, triggers
from hopshive.consistency.schema.cascades import (
    ADDED,
    CHILD_KEY,
    DATABASE_KEY,
    PARENT_KEY,
    to_cascade,
    to_stock,
)
from hopshive.consistency.schema.catalogue import (
    DESCRIPTORS,
    NDB,
    OF_DATABASES,
    ORPHANS,
    Catalogue,
    Column,
    Trigger,
    require_metastore,
)
from hopshive.consistency.schema.doubles import forgotten, whole
from hopshive.consistency.schema.errors import SchemaError
from hopshive.consistency.schema.narrowing import narrowings, widenings
from hopshive.consistency.schema.stock_keys import missing_keys
from hopshive.consistency.schema.texts import conversions, converted, reversions
from hopshive.database import Names, render
from hopshive.database.foreign_keys import INODE_KEY, PREFIX, ForeignKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Source = Literal["hdfs", "hopsfs"]

# Of Hive 4.0.x. Its foreign keys were looked through one by one (tests/unit/consistency/schema/test_schema.py has the list).
HIVE_SCHEMA = "4.0.0"
ENGINES = ("InnoDB", NDB)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

_NEW_COLUMN = re.compile(r"ALTER TABLE \{state\}\.(?P<table>\w+) ADD COLUMN IF NOT EXISTS (?P<name>\w+)")

# The columns that refer to the inode, and those of the inode table.
INODE_COLUMNS = {"PARTITION_ID": "partition_id", "PARENT_ID": "parent_id", "NAME": "name"}
# What own_tables.INODES gives them, when the table is yet to be made.
_OWN_INODE_COLUMNS = {
    "partition_id": Column("partition_id", "bigint(20)"),
    "parent_id": Column("parent_id", "bigint(20)"),
    "name": Column("name", "varbinary(255)"),
}


# On NDB, of PART_COL_STATS: with the stock index, which goes on with the partition's name, the statistics of six columns of 1,800
# partitions are 10,800 ranges, 140 ms; with this one six, 40 ms. The server takes the stock one for few of the partitions.
STATISTICS_INDEX = f"{PREFIX}column"
STATISTICS_COLUMNS = ("DB_NAME", "TABLE_NAME", "COLUMN_NAME")


@dataclass(frozen=True)
class Wanted:
    """What the schema must be. `uris`: of the file system, only needed with `hopsfs`.

    `delete_orphans`: rows of KEY_CONSTRAINTS that name a table which is not there are deleted instead of refused.
    """

    source: Source = "hdfs"
    uris: tuple[str, ...] = ()
    delete_orphans: bool = False


@dataclass(frozen=True)
class Statement:
    """One statement, atomic. Without `checks` foreign keys are set without looking at each row: they are known to hold."""

    sql: str
    checks: bool = True


def present(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    """What is missing. Raises SchemaError if it cannot be added; then nothing may be changed."""
    require_names(names)
    require_metastore(found)
    _require_version(found)
    _require_engine(found)
    _require_state(found, wanted)
    inode_columns = _inode_columns(found, names, wanted)
    lost, found = _lost_keys(found)
    changes = to_cascade(found.foreign_keys)
    narrowed = [*narrowings(found), *conversions(found), *whole(found)]
    inode, database = _inode_link(found, names, inode_columns), _database_link(found)
    # A trigger that names a column which goes would let each UPDATE fail.
    remade = inode.remade or database.remade
    return [
        *lost,
        *_own_tables(found, names, wanted),
        *(_triggers(found, []) if remade else []),
        *inode.off,
        *(_forgotten_inodes(found, names, wanted) if inode.on else []),
        *inode.on,
        *(_alter(table, clauses) for table, clauses in narrowed),
        *_statistics_index(found),
        *_renamed(found, changes),
        *_key_constraints(found, wanted),
        *database.off,
        *(_forgotten_descriptors(found) if database.on else []),
        *_numbering(found),
        *database.on,
        *_triggers(replace(found, triggers=()) if remade else found, _wanted_triggers(converted(found), names, wanted)),
        *_settings(found, names, wanted),
    ]


def triggerless(found: Catalogue, names: Names) -> list[Statement]:
    """What `absent` begins with: our triggers go, and all the rest stays."""
    require_names(names)
    _require_owner(found)
    return _triggers(found, [])


def absent(found: Catalogue, names: Names, *, purge: bool = False) -> list[Statement]:
    """What takes it off again: the stock schema is left. With `purge`, our own schemas go too, and the journal with them.

    Of any version of Hive's schema: all that is ours carries our name. The metastore's database may be gone already.
    """
    require_names(names)
    _require_owner(found)
    source = found.settings.get("source", "hdfs")
    lost, found = _lost_keys(found)
    added = [key for key in found.foreign_keys if key.name in ADDED]
    statements = [
        *lost,
        *_triggers(found, []),
        *_unlinked(found, "DBS", DATABASE_KEY, ("SD_ID",)),
        *_forgotten_descriptors(found),
        *_unlinked(found, "SDS", INODE_KEY, tuple(INODE_COLUMNS)),
    ]
    # Not in one statement: NDB lets no index go that a foreign key needed when it began.
    for drops in (
        [f"DROP FOREIGN KEY {key.name}" for key in added if key.table == "KEY_CONSTRAINTS"],
        [f"DROP KEY {name}" for name in _own_indexes(found, "KEY_CONSTRAINTS")],
    ):
        if drops:
            statements.append(_alter("KEY_CONSTRAINTS", drops))
    statements += _renamed(found, to_stock(found.foreign_keys))
    if STATISTICS_INDEX in found.indexes.get("PART_COL_STATS", {}):
        statements.append(_alter("PART_COL_STATS", [f"DROP KEY {STATISTICS_INDEX}"]))
    statements += map(Statement, forgotten(found))
    statements += [_alter(table, clauses) for table, clauses in (*widenings(found), *reversions(found))]
    if purge:
        schema = names.inodes.partition(".")[0]
        ours = source == "hdfs" and (found.inodes is None or found.inodes.is_ours)
        if ours and found.inodes is not None:
            statements.append(Statement(f"DROP TABLE {names.inodes}"))
        if ours and schema in found.schemas - {names.state, found.database} and not found.beside_inodes:
            statements.append(Statement(f"DROP DATABASE {schema}"))
        # Last, because it tells whose the table of inodes is.
        if names.state in found.schemas:
            statements.append(Statement(f"DROP DATABASE {names.state}"))
    return statements


# --- what must be so before anything is changed -------------------------------------------------------------------------


def require_names(names: Names) -> None:
    """Raises SchemaError unless they are plain identifiers."""
    schema, _, table = names.inodes.partition(".")
    for name in (names.state, schema, table):
        if not _IDENTIFIER.fullmatch(name):
            raise SchemaError(
                f"The state schema {names.state!r} and the inode table {names.inodes!r} must be plain names, the latter with "
                "its schema, like hopshive and hops.hdfs_inodes. Nothing was changed."
            )


def _require_version(found: Catalogue) -> None:
    if found.version != HIVE_SCHEMA:
        raise SchemaError(
            f"The schema of the metastore in {found.database} is {found.version or 'of no version'}, and ours fits "
            f"{HIVE_SCHEMA}. Nothing was changed."
        )


def _require_engine(found: Catalogue) -> None:
    if found.engine not in ENGINES:
        raise SchemaError(
            f"The tables of {found.database} have the engine {found.engine}, and ours needs {' or '.join(ENGINES)}. "
            "Nothing was changed."
        )


def _require_state(found: Catalogue, wanted: Wanted) -> None:
    if _state_version(found) > own_tables.STATE_VERSION:
        raise SchemaError(
            f"hopshive's tables have the version {_state_version(found)}, and this hopshive knows {own_tables.STATE_VERSION}: "
            "they are of a later release. Nothing was changed."
        )
    source = found.settings.get("source", wanted.source)
    if source != wanted.source:
        raise SchemaError(
            f"hopshive's tables were made for the inode source {source}, and now it is to be {wanted.source}. Nothing was "
            "changed. To change the source, remove the schema with purge first: the journal goes with it."
        )
    _require_owner(found)


def _state_version(found: Catalogue) -> int:
    return int(found.settings.get("state_version", own_tables.STATE_VERSION))


def _require_owner(found: Catalogue) -> None:
    owner = found.settings.get("metastore", found.database)
    if owner != found.database:
        raise SchemaError(
            f"hopshive's tables serve the metastore in {owner}, and this is about the one in {found.database}. Nothing was "
            "changed. Give each metastore a state schema and an inode table of its own."
        )


def _inode_columns(found: Catalogue, names: Names, wanted: Wanted) -> dict[str, Column]:
    """The columns that SDS will refer to. Raises SchemaError if a table that is not ours does not fit."""
    if wanted.source == "hopsfs" and not wanted.uris:
        raise SchemaError(
            "With the source hopsfs give uris: what the locations on it begin with, for example hdfs://namenode:8020. "
            "Nothing was changed."
        )
    if found.inodes is None:
        if wanted.source == "hopsfs":
            raise SchemaError(
                f"There is no table {names.inodes}, or this user may not see it. With the source hopsfs it is the file system's: "
                "give its name, and grant SELECT and REFERENCES on it. Nothing was changed."
            )
        return _OWN_INODE_COLUMNS
    missing = sorted({*INODE_COLUMNS.values(), "id"} - set(found.inodes.columns))
    if missing:
        raise SchemaError(
            f"{names.inodes} has no column {', '.join(missing)}: it is no inode table. Nothing was changed."
        )
    if wanted.source == "hdfs" and not found.inodes.is_ours:
        more = ", ".join(sorted(set(found.inodes.columns) - {*INODE_COLUMNS.values(), "id"})[:3])
        raise SchemaError(
            f"{names.inodes} is not hopshive's own table: it has more columns ({more} ...). Nothing was changed. If it is "
            "HopsFS's, set the inode source to hopsfs; else give the inode table another name."
        )
    key = tuple(INODE_COLUMNS.values())
    if found.inodes.engine != found.engine:
        raise SchemaError(
            f"{names.inodes} has the engine {found.inodes.engine} and the metastore's tables have {found.engine}: no foreign key "
            "leads from one to the other. Nothing was changed."
        )
    if key not in found.inodes.unique:
        raise SchemaError(
            f"{names.inodes} has no unique key on ({', '.join(key)}), which a foreign key can refer to. Nothing was changed."
        )
    return {name: found.inodes.columns[name] for name in key}


# --- our own tables -----------------------------------------------------------------------------------------------------


def _own_tables(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    statements = []
    schemas = [names.state] + ([names.inodes.partition(".")[0]] if wanted.source == "hdfs" else [])
    statements = [
        Statement(f"CREATE DATABASE {schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        for schema in dict.fromkeys(schemas)
        if schema not in found.schemas and schema != found.database
    ]
    tables = [text for name, text in own_tables.TABLES.items() if name not in found.state_tables]
    if wanted.source == "hdfs" and found.inodes is None:
        tables.append(own_tables.INODES)
    versions = range(_state_version(found) + 1, own_tables.STATE_VERSION + 1)
    for text in (text for version in versions for text in own_tables.MIGRATIONS[version]):
        column = _NEW_COLUMN.match(text)
        if found.engine != NDB or column is None:
            tables.append(text)
        elif column["name"] not in found.state_tables.get(column["table"], ()):
            # MySQL does not know IF NOT EXISTS there.
            tables.append(text.replace(" IF NOT EXISTS", "", 1))
    return statements + [Statement(render(text, names).replace("{engine}", found.engine).strip()) for text in tables]


def _settings(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    """Last: the daemon takes them as the sign that all the rest is there."""
    values = {"state_version": str(own_tables.STATE_VERSION), "source": wanted.source, "metastore": found.database}
    migrated = [
        Statement(f"UPDATE {names.state}.setting SET value = '{own_tables.STATE_VERSION}' WHERE name = 'state_version'")
    ] * (_state_version(found) < own_tables.STATE_VERSION)
    return migrated + [
        Statement(f"INSERT INTO {names.state}.setting (name, value) VALUES ('{name}', '{value}')")
        for name, value in values.items()
        if name not in found.settings
    ]


# --- foreign keys -------------------------------------------------------------------------------------------------------


def _alter(table: str, clauses: Sequence[str], *, checks: bool = False) -> Statement:
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


def _renamed(found: Catalogue, changes: Iterable[tuple[ForeignKey, ForeignKey]]) -> list[Statement]:
    """One ALTER TABLE for each table: without the checks it takes no time, and the old keys have held so far."""
    tables: dict[str, list[tuple[ForeignKey, ForeignKey]]] = {}
    for before, after in changes:
        tables.setdefault(before.table, []).append((before, after))
    return [
        _alter(
            table,
            [f"DROP FOREIGN KEY {before.name}" for before, _ in pairs]
            + [clause for before, _ in pairs for clause in _own_index(found, before)]
            + [_constraint(after) for _, after in pairs],
        )
        for table, pairs in tables.items()
    ]


def _own_index(found: Catalogue, key: ForeignKey) -> list[str]:
    """Keep the index that the server made for a key, under its name: it belongs to the key and would be made anew for another.

    Such an index is the only one that begins with the key's columns, and is named like the key or its first column.
    """
    fit = [name for name, columns in found.indexes[key.table].items() if columns[: len(key.columns)] == key.columns]
    if len(fit) != 1 or fit[0] not in (key.name, key.columns[0]):
        return []
    return [f"DROP KEY {fit[0]}", f"ADD KEY {fit[0]} ({', '.join(found.indexes[key.table][fit[0]])})"]


def _unlinked(found: Catalogue, table: str, key: str, columns: Sequence[str]) -> list[Statement]:
    """Take off a key with its index, and columns. With them the table is built anew, while others work on: a column that is
    dropped without that stays hidden in each row, and after some times there is no room for another.
    """
    clauses = [
        f"DROP FOREIGN KEY {item.name}" for item in found.foreign_keys if (item.table, item.name) == (table, key)
    ]
    clauses += [f"DROP KEY {name}" for name in _own_indexes(found, table) if name == key]
    there = [f"DROP COLUMN {column}" for column in columns if column in found.columns.get(table, {})]
    return [_alter(table, [*clauses, *there, *(["FORCE"] if there else [])])] if clauses or there else []


def _lost_keys(found: Catalogue) -> tuple[list[Statement], Catalogue]:
    """The stock keys that a crash took, each row checked, for none has held meanwhile; and the catalogue with them."""
    lost = missing_keys(found) if found.version == HIVE_SCHEMA else []
    tables: dict[str, list[str]] = {}
    for key in lost:
        tables.setdefault(key.table, []).append(_constraint(key))
    statements = [_alter(table, clauses, checks=True) for table, clauses in tables.items()]
    return statements, replace(found, foreign_keys=(*found.foreign_keys, *lost))


@dataclass(frozen=True)
class _Link:
    """Nullable columns with an index and a foreign key on them. `remade`: columns that stood there go first."""

    off: tuple[Statement, ...] = ()
    on: tuple[Statement, ...] = ()
    remade: bool = False


def _link(found: Catalogue, key: ForeignKey, types: Sequence[Column]) -> _Link:
    """What a link lacks. Its columns are empty when the key is added, so the key holds and no row need be checked.

    Columns with values but without their key are of nobody's making: they are made anew.
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
        off=tuple(_unlinked(found, key.table, key.name, () if keep else key.columns)),
        on=(
            *(() if keep else (_alter(key.table, adds),)),
            _alter(key.table, [f"ADD KEY {key.name} ({', '.join(key.columns)})", _constraint(key)]),
        ),
        remade=not keep and any(name in there for name in definitions),
    )


def _inode_link(found: Catalogue, names: Names, types: dict[str, Column]) -> _Link:
    to = names.inodes.removeprefix(f"{found.database}.")
    key = ForeignKey("SDS", INODE_KEY, tuple(INODE_COLUMNS), to, tuple(INODE_COLUMNS.values()))
    return _link(found, key, [types[name] for name in key.to_columns])


def _database_link(found: Catalogue) -> _Link:
    key = ForeignKey("DBS", DATABASE_KEY, ("SD_ID",), "SDS", ("SD_ID",))
    return _link(found, key, [found.columns["SDS"]["SD_ID"]])


def _forgotten_inodes(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    """What the mirror knew before a removal. Nothing refers to it now; TRUNCATE refuses if another metastore's rows do."""
    statements = []
    if wanted.source == "hdfs" and found.inodes is not None and found.inodes.rows:
        statements.append(Statement(f"TRUNCATE TABLE {names.inodes}"))
    if found.positions:
        statements.append(Statement(f"DELETE FROM {names.state}.position"))
    return statements


def _forgotten_descriptors(found: Catalogue) -> list[Statement]:
    """Storage descriptors of databases, once no database refers to them."""
    return [Statement(f"DELETE FROM SDS WHERE {OF_DATABASES}")] if found.database_descriptors else []


def _numbering(found: Catalogue) -> list[Statement]:
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


def _key_constraints(found: Catalogue, wanted: Wanted) -> list[Statement]:
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
    if any(key.name == CHILD_KEY for key in missing) and CHILD_KEY not in _own_indexes(found, "KEY_CONSTRAINTS"):
        adds.insert(0, f"ADD KEY {CHILD_KEY} (CHILD_TBL_ID)")
    if drops:
        statements.append(_alter("KEY_CONSTRAINTS", drops))
    return [*statements, _alter("KEY_CONSTRAINTS", adds, checks=True)]


def _statistics_index(found: Catalogue) -> list[Statement]:
    if found.engine != NDB or STATISTICS_INDEX in found.indexes["PART_COL_STATS"]:
        return []
    return [_alter("PART_COL_STATS", [f"ADD KEY {STATISTICS_INDEX} ({', '.join(STATISTICS_COLUMNS)})"])]


def _own_indexes(found: Catalogue, table: str) -> list[str]:
    return sorted(name for name in found.indexes.get(table, {}) if name in ADDED)


# --- triggers -----------------------------------------------------------------------------------------------------------


def _wanted_triggers(found: Catalogue, names: Names, wanted: Wanted) -> list[Trigger]:
    if wanted.source == "hdfs" or found.inodes is None:
        return triggers.following()
    return triggers.resolving(names.inodes, wanted.uris, found.columns["SDS"], found.inodes.columns)


def _is_ours(trigger: Trigger) -> bool:
    return trigger.name.startswith(PREFIX)


def _triggers(found: Catalogue, wanted: Sequence[Trigger]) -> list[Statement]:
    """Make those that are missing or differ, drop those of ours that nobody wants."""
    names = {trigger.name for trigger in wanted}
    statements = [
        Statement(f"DROP TRIGGER {trigger.name}")
        for trigger in found.triggers
        if _is_ours(trigger) and trigger.name not in names
    ]
    for trigger in wanted:
        if trigger not in found.triggers:
            text = f"TRIGGER {trigger.name} {trigger.timing} {trigger.event} ON {trigger.table} FOR EACH ROW {trigger.body}"
            # Replaced in one step: an UPDATE that no trigger sees would leave a row bound to where it was. MySQL has none.
            if found.engine == NDB:
                statements += [Statement(f"DROP TRIGGER IF EXISTS {trigger.name}"), Statement(f"CREATE {text}")]
            else:
                statements.append(Statement(f"CREATE OR REPLACE {text}"))
    return statements
