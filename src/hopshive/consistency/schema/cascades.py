"""Which foreign keys must cascade, so that an object goes with its directory, and what they are called meanwhile.

A key is changed by one ALTER TABLE that drops it and adds it under another name: there is no moment without it, and MariaDB
refuses the same name (error 1826). The other name is the stock one with a prefix, so a look at the database tells which keys
were changed and what they were, whatever was interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hopshive.consistency.schema.errors import SchemaError
from hopshive.database.foreign_keys import INODE_KEY, PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hopshive.database.foreign_keys import ForeignKey

# A directory stands behind a storage descriptor; a table, partition or database behind it goes with it.
ROOTS = ("SDS", "DBS", "TBLS", "PARTITIONS")

# Never walked through: many may refer to one row of them, so they outlive each of the objects that do.
SHARED = {
    "CDS": "partitions share the columns of their table; versions of a schema in the registry may too",
    "SERDES": "a version of a schema in the registry may share one",
    "SKEWED_STRING_LIST": "a list of values may stand in several storage descriptors",
    "CTLGS": "a catalog stays when its databases go",
    "DATACONNECTORS": "a connector is no part of a database",
}

_IDENTIFIER_LENGTH = 64

DATABASE_KEY = f"{PREFIX}database"
PARENT_KEY = f"{PREFIX}parent_table"
CHILD_KEY = f"{PREFIX}child_table"
# Keys that the stock schema does not have.
ADDED = frozenset({INODE_KEY, DATABASE_KEY, PARENT_KEY, CHILD_KEY})

# Read for all partitions of a query, or all columns of a table, at once. NDB reads a table with a TEXT or BLOB column row by row:
# 1,800 SerDes took 400 ms, and 35 without such a column; 28 columns 3.8 ms, and 0.8 without.
READ_TOGETHER = ("COLUMNS_V2", "SERDE_PARAMS")


def dependants(foreign_keys: Iterable[ForeignKey]) -> list[ForeignKey]:
    """The keys that lead from ROOTS to what depends on them, and on from there; ours are among them.

    A key belongs to it if the table that it references is a root or depends on one.
    """
    keys = [key for key in foreign_keys if key.to not in SHARED]
    reached = set(ROOTS)
    while True:
        more = {key.table for key in keys if key.to in reached} - reached - set(SHARED)
        if not more:
            return [key for key in keys if key.to in reached]
        reached |= more


def in_one_piece(foreign_keys: Iterable[ForeignKey]) -> list[str]:
    """The tables that on NDB may have no value outside of its row: those that cascades delete from, and READ_TOGETHER."""
    return sorted({key.table for key in dependants(foreign_keys)} | set(READ_TOGETHER))


def to_cascade(foreign_keys: Sequence[ForeignKey]) -> list[tuple[ForeignKey, ForeignKey]]:
    """Which keys must change, each with what it becomes. Raises SchemaError for a rule that is neither stock nor ours."""
    changes = []
    for key in dependants(foreign_keys):
        if key.on_delete == "CASCADE":
            continue
        if key.on_delete != "RESTRICT":
            raise SchemaError(
                f"The foreign key {key.name} of {key.table} has ON DELETE {key.on_delete}, which is not the stock schema's. "
                "Nothing was changed. Give it the stock rule first."
            )
        name = PREFIX + key.name
        if len(name) > _IDENTIFIER_LENGTH:
            raise SchemaError(
                f"The foreign key {key.name} of {key.table} has a name of more than {_IDENTIFIER_LENGTH - len(PREFIX)} "
                "characters, which leaves no room for ours. Nothing was changed. Rename it."
            )
        changes.append((key, replace(key, name=name, on_delete="CASCADE")))
    return changes


def to_stock(foreign_keys: Iterable[ForeignKey]) -> list[tuple[ForeignKey, ForeignKey]]:
    """Which keys carry our mark, each with the stock key that it was."""
    return [
        (key, replace(key, name=key.name.removeprefix(PREFIX), on_delete="RESTRICT"))
        for key in foreign_keys
        if key.name.startswith(PREFIX) and key.name not in ADDED
    ]
