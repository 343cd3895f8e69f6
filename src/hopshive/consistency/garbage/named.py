"""Transactional state of tables that are no more: it belongs to a table by name, so no foreign key takes it along.

DROP TABLE deletes it (CleanupRecordsFunction of Hive 4.0.1), and so does a removal. What is left comes later: a writer that was
open when its table went and that commits afterwards, or a soft drop, which keeps the write ids for readers that are still
open. It matters: a table made again under the name would continue with write ids, and queue compactions, of another.

Not collected, because Hive does it: rows of TXN_COMPONENTS of aborted transactions (AbortedTxnCleaner; without them the
transaction would count as committed), COMPACTION_QUEUE ready for cleaning (the compaction cleaner deletes the directory of a
dropped table by it), HIVE_LOCKS, WRITE_SET, MIN_HISTORY_LEVEL, MIN_HISTORY_WRITE_ID, MATERIALIZATION_REBUILD_LOCKS,
TXN_WRITE_NOTIFICATION_LOG, NOTIFICATION_LOG, PARTITION_EVENTS (by time or with their transaction). Nor what names a partition
that is no more: Hive's initiator and workers pass over it, and a name that only seemed gone would cost a compaction.

A name is spared while anything says that it is alive:

- a table of any catalog has it (the state has no catalog);
- a transaction that is open holds a write id of it: CREATE TABLE AS SELECT allocates one long before there is a table;
- a lock, an open or aborted component, or a reader's smallest write id stands under it;
- a directory under it waits to be cleaned.

A session that allocates a write id locks the name's row of NEXT_WRITE_ID, or inserts it (AllocateTableWriteIdsFunction). So does
this module, before it looks: a table that is made and written meanwhile waits a moment and starts over. NEXT_WRITE_ID goes
last, when no row of TXN_TO_WRITE_ID is left: numbers that begin again must not meet old ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.garbage.subject import Collected, Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database import Transaction

    Name = tuple[str, str]


@dataclass(frozen=True)
class Named:
    """A table with columns for database and table, in the order in which rows are deleted. `where`: which of its rows."""

    table: str
    database: str
    name: str
    where: str = "TRUE"


NAMED = (
    Named("COMPLETED_TXN_COMPONENTS", "CTC_DATABASE", "CTC_TABLE"),
    Named("COMPLETED_COMPACTIONS", "CC_DATABASE", "CC_TABLE"),
    Named("COMPACTION_METRICS_CACHE", "CMC_DATABASE", "CMC_TABLE"),
    Named("COMPACTION_QUEUE", "CQ_DATABASE", "CQ_TABLE", "CQ_STATE <> 'r'"),
    Named("TXN_TO_WRITE_ID", "T2W_DATABASE", "T2W_TABLE"),
    Named("NEXT_WRITE_ID", "NWI_DATABASE", "NWI_TABLE"),
)
# What says that a name is alive, each a query of its database and table.
SIGNS = (
    "SELECT 1 FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID WHERE d.NAME = %s AND t.TBL_NAME = %s LIMIT 1",
    "SELECT 1 FROM TXN_TO_WRITE_ID w JOIN TXNS x ON x.TXN_ID = w.T2W_TXNID"
    " WHERE w.T2W_DATABASE = %s AND w.T2W_TABLE = %s AND x.TXN_STATE = 'o' LIMIT 1",
    "SELECT 1 FROM TXN_COMPONENTS WHERE TC_DATABASE = %s AND TC_TABLE = %s LIMIT 1",
    "SELECT 1 FROM HIVE_LOCKS WHERE HL_DB = %s AND HL_TABLE = %s LIMIT 1",
    "SELECT 1 FROM MIN_HISTORY_WRITE_ID WHERE MH_DATABASE = %s AND MH_TABLE = %s LIMIT 1",
    "SELECT 1 FROM COMPACTION_QUEUE WHERE CQ_DATABASE = %s AND CQ_TABLE = %s AND CQ_STATE = 'r' LIMIT 1",
)
# Rows of one table that one transaction deletes.
MAX_ROWS = 1000


@dataclass(frozen=True)
class Names:
    """State under names; a key is (database, table)."""

    @property
    def name(self) -> str:
        """The table that every transactional table has a row of."""
        return "NEXT_WRITE_ID"

    @property
    def by_name(self) -> bool:
        """It is."""
        return True

    def page(self, tx: Transaction, after: int | None, size: int) -> Page:  # noqa: ARG002 - its pages are tables
        """The names without a table in one of NAMED."""
        at = after or 0
        names = [name for name in _without_table(tx, NAMED[at]) if not alive(tx, name)]
        return Page(names, at + 1 if at + 1 < len(NAMED) else None)

    def collect(self, tx: Transaction, keys: Sequence[Name]) -> Collected:
        """Delete what stands under the first of some names; it is left if that was too much for one transaction."""
        done = Collected(left=list(keys[1:]))
        if not keys:
            return done
        name = keys[0]
        row = "FROM NEXT_WRITE_ID WHERE NWI_DATABASE = %s AND NWI_TABLE = %s"
        # Another session's uncommitted row makes this wait; without any, ours stands for it until the transaction ends.
        ours = tx.execute(
            "INSERT IGNORE INTO NEXT_WRITE_ID (NWI_DATABASE, NWI_TABLE, NWI_NEXT) VALUES (%s, %s, 1)", name
        )
        tx.rows(f"SELECT 1 {row} FOR UPDATE", name)
        gone = not alive(tx, name)
        full = False
        for named in NAMED[:-1] if gone else ():
            rows = tx.execute(
                f"DELETE FROM {named.table} WHERE {named.database} = %s AND {named.name} = %s AND {named.where} LIMIT {MAX_ROWS}",
                name,
            )
            done.add(named.table, rows)
            full = full or rows >= MAX_ROWS
        if full:
            done.left.insert(0, name)
        if ours or (gone and not full):
            done.add("NEXT_WRITE_ID", tx.execute(f"DELETE {row}", name) - ours)
        return done

    def count(self, tx: Transaction) -> Mapping[str, int]:
        """Rows by table."""
        found = {}
        for named in NAMED:
            found[named.table] = sum(
                int(
                    tx.value(
                        f"SELECT COUNT(*) FROM {named.table}"
                        f" WHERE {named.database} = %s AND {named.name} = %s AND {named.where}",
                        name,
                    )
                )
                for name in _without_table(tx, named)
                if not alive(tx, name)
            )
        return found


def alive(tx: Transaction, name: Name) -> bool:
    """Whether anything says that a name is in use."""
    return any(tx.row(sign, name) is not None for sign in SIGNS)


def _without_table(tx: Transaction, named: Named) -> list[Name]:
    """Names under which rows stand and no table. An index by name is read in leaps, one for each name."""
    rows = tx.rows(
        f"SELECT n.db, n.tbl FROM (SELECT DISTINCT {named.database} AS db, {named.name} AS tbl FROM {named.table}) n"
        " WHERE n.tbl IS NOT NULL AND (SELECT 1 FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID"
        " WHERE t.TBL_NAME = LOWER(n.tbl) AND d.NAME = LOWER(n.db) LIMIT 1) IS NULL"
    )
    return [(str(database).lower(), str(table).lower()) for database, table in rows]
