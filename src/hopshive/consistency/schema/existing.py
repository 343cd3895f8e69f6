"""Rows that stood there before the triggers of the source `hopsfs`: they are bound once, by the same triggers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pymysql
from pymysql.constants import ER

from hopshive.consistency.schema.session import connect
from hopshive.consistency.schema.triggers import BIND
from hopshive.database import Names, Server, marks

if TYPE_CHECKING:
    from hopshive.consistency.schema.session import Session
    from hopshive.database import Row, Transaction

# Rows of one transaction.
BATCH = 200

# What is not yet looked at. One statement for each table of the metastore whose rows have directories.
_QUEUES = {
    "SDS": "SELECT SD_ID FROM SDS WHERE PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL"
    " AND SD_ID > %s ORDER BY SD_ID LIMIT %s",
    "DBS": "SELECT DB_ID FROM DBS WHERE SD_ID IS NULL AND NAME <> 'default' AND DB_ID > %s ORDER BY DB_ID LIMIT %s",
}
# Nothing is changed but what the trigger sets.
_TOUCH = {
    "SDS": "UPDATE SDS SET NAME = NULL WHERE SD_ID IN ({marks})",
    "DBS": "UPDATE DBS SET SD_ID = NULL WHERE DB_ID IN ({marks})",
}
_LEFT = {
    "SDS": "SELECT COUNT(*) FROM SDS WHERE PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL",
    "DBS": "SELECT COUNT(*) FROM DBS WHERE SD_ID IS NULL AND NAME <> 'default'",
}
_LEAST = -(2**63)
# 45000 of a trigger: the location is not there; and the directory went in this very moment.
_REFUSED = frozenset({1644, ER.NO_REFERENCED_ROW_2})


@dataclass(frozen=True)
class Existing:
    """Rows of SDS and DBS that are done with now, and those that name a directory which is not there."""

    done: int = 0
    not_there: int = 0


def bind(server: Server, names: Names | None = None) -> Existing:
    """Bind them; those whose directory is not there stay unbound and are counted. Raises SchemaError."""
    done, refused = 0, 0
    with connect(server, names or Names()) as session, session.look() as tx:
        tx.execute(f"SET {BIND} = 1")
        for table in ("SDS", "DBS"):
            last = _LEAST
            while ids := [row[0] for row in _next(tx, table, last)]:
                refused += _touch(session, table, ids)
                done += len(ids)
                last = ids[-1]
            done -= int(tx.value(_LEFT[table]))
    return Existing(done, refused)


def _next(tx: Transaction, table: str, last: int) -> list[Row]:
    return tx.rows(_QUEUES[table], (last, BATCH))


def _touch(session: Session, table: str, ids: list[int]) -> int:
    """All in one statement, and one by one if a row is refused; the number of those."""
    try:
        session.execute(_TOUCH[table].format(marks=marks(ids)), ids)
    except pymysql.MySQLError as error:
        if error.args[0] not in _REFUSED:
            raise
        return 1 if len(ids) == 1 else sum(_touch(session, table, [row]) for row in ids)
    return 0
