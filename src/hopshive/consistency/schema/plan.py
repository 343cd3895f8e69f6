"""Which statements make the schema what it must be: decided from what stands in the database, and nothing else.

So the same run continues where another was interrupted: each statement is atomic, and the next look sees what is left.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hopshive.consistency.schema import own_tables, triggers
from hopshive.consistency.schema.cascades import (
    ADDED,
    DATABASE_KEY,
    to_cascade,
    to_stock,
)
from hopshive.consistency.schema.catalogue import (
    NDB,
    Catalogue,
    Column,
    Trigger,
    require_metastore,
)
from hopshive.consistency.schema.doubles import forgotten, whole
from hopshive.consistency.schema.errors import SchemaError
from hopshive.consistency.schema.keys import (
    STATISTICS_INDEX,
    alter,
    database_link,
    forgotten_descriptors,
    forgotten_inodes,
    inode_link,
    key_constraints,
    lost_keys,
    numbering,
    own_indexes,
    renamed,
    statistics_index,
    unlinked,
)
from hopshive.consistency.schema.narrowing import narrowings, widenings
from hopshive.consistency.schema.texts import conversions, converted, reversions
from hopshive.consistency.schema.wanted import HIVE_SCHEMA, INODE_COLUMNS, Statement, Wanted
from hopshive.database import Names, render
from hopshive.database.foreign_keys import INODE_KEY, PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence


ENGINES = ("InnoDB", NDB)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NEW_COLUMN = re.compile(r"ALTER TABLE \{state\}\.(?P<table>\w+) ADD COLUMN IF NOT EXISTS (?P<name>\w+)")
# What own_tables.INODES gives them, as long as there is no table.
_OWN_INODE_COLUMNS = {
    "partition_id": Column("partition_id", "bigint(20)"),
    "parent_id": Column("parent_id", "bigint(20)"),
    "name": Column("name", "varbinary(255)"),
}


def present(found: Catalogue, names: Names, wanted: Wanted) -> list[Statement]:
    """What is missing. Raises SchemaError if it cannot be added; then nothing may be changed."""
    require_names(names)
    require_metastore(found)
    _require_version(found)
    _require_engine(found)
    _require_state(found, wanted)
    inode_columns = _inode_columns(found, names, wanted)
    lost, found = lost_keys(found)
    changes = to_cascade(found.foreign_keys)
    narrowed = [*narrowings(found), *conversions(found), *whole(found)]
    inode, database = inode_link(found, names, inode_columns), database_link(found)
    # A trigger that names a column which goes would let each UPDATE fail.
    remade = inode.remade or database.remade
    return [
        *lost,
        *_own_tables(found, names, wanted),
        *(_triggers(found, []) if remade else []),
        *inode.off,
        *(forgotten_inodes(found, names, wanted) if inode.on else []),
        *inode.on,
        *(alter(table, clauses) for table, clauses in narrowed),
        *statistics_index(found),
        *renamed(found, changes),
        *key_constraints(found, wanted),
        *database.off,
        *(forgotten_descriptors(found) if database.on else []),
        *numbering(found),
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
    lost, found = lost_keys(found)
    added = [key for key in found.foreign_keys if key.name in ADDED]
    statements = [
        *lost,
        *_triggers(found, []),
        *unlinked(found, "DBS", DATABASE_KEY, ("SD_ID",)),
        *forgotten_descriptors(found),
        *unlinked(found, "SDS", INODE_KEY, tuple(INODE_COLUMNS)),
    ]
    # Not in one statement: NDB lets no index go that a foreign key needed when it began.
    for drops in (
        [f"DROP FOREIGN KEY {key.name}" for key in added if key.table == "KEY_CONSTRAINTS"],
        [f"DROP KEY {name}" for name in own_indexes(found, "KEY_CONSTRAINTS")],
    ):
        if drops:
            statements.append(alter("KEY_CONSTRAINTS", drops))
    statements += renamed(found, to_stock(found.foreign_keys))
    if STATISTICS_INDEX in found.indexes.get("PART_COL_STATS", {}):
        statements.append(alter("PART_COL_STATS", [f"DROP KEY {STATISTICS_INDEX}"]))
    statements += map(Statement, forgotten(found))
    statements += [alter(table, clauses) for table, clauses in (*widenings(found), *reversions(found))]
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


def _wanted_triggers(found: Catalogue, names: Names, wanted: Wanted) -> list[Trigger]:
    if wanted.source == "hdfs" or found.inodes is None:
        return triggers.following()
    return triggers.resolving(names.inodes, wanted.uris, found.columns["SDS"], found.inodes.columns)


def _is_ours(trigger: Trigger) -> bool:
    return trigger.name.startswith(PREFIX)


def _triggers(found: Catalogue, wanted: Sequence[Trigger]) -> list[Statement]:
    """Make those that are missing or differ, drop those of ours that are no longer wanted."""
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
