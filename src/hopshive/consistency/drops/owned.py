"""Directories that a table owns: DROP TABLE deletes them, after it has deleted the table's rows.

Nothing in the metastore outlives the rows, so hopshive notes the directory while the rows exist. drops.finish uses the note
for a directory without its table. A table owns its directory if the metastore would delete it
(HMSHandler.checkTableDataShouldBeDeleted of Hive 4.0.1): a managed table, or an external one with external.table.purge. A
directory of another system (a storage handler, Iceberg's table_type) belongs to that system.

A table is read when it is bound, and in each full comparison. A change of these properties is not noticed earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hopshive.database import Row, Transaction

_HAS = "EXISTS (SELECT 1 FROM TABLE_PARAMS p WHERE p.TBL_ID = t.TBL_ID AND {condition})"
_PURGED = _HAS.format(condition="p.PARAM_KEY = 'external.table.purge' AND UPPER(p.PARAM_VALUE) = 'TRUE'")
_FOREIGN = _HAS.format(condition="p.PARAM_KEY IN ('storage_handler', 'table_type')")
_OWNS = f"(t.TBL_TYPE = 'MANAGED_TABLE' OR (t.TBL_TYPE = 'EXTERNAL_TABLE' AND {_PURGED})) AND NOT {_FOREIGN}"
# Bytes of {state}.owned.name.
NAME_BYTES = 1100


def note(tx: Transaction, directories: Mapping[int, tuple[str, int]]) -> None:
    """Note those storage descriptors whose table owns its directory. `directories`: path and file id, by SD_ID."""
    rows = _tables(tx, directories)
    own = []
    for tbl_id, sd_id, catalog, database, table, owns in rows:
        if owns:
            path, inode = directories[int(sd_id)]
            name = f"{catalog}.{database}.{table}".encode()[:NAME_BYTES]
            own.append((int(tbl_id), name, path.encode("utf-8", "surrogateescape"), inode))
    tx.many("REPLACE INTO {state}.owned (tbl_id, name, path, inode) VALUES (%s, %s, %s, %s)", own)
    _forget_altered(tx, {int(row[0]): int(row[1]) for row in rows if not row[-1]})


def _tables(tx: Transaction, sd_ids: Collection[int]) -> list[Row]:
    """TBL_ID, SD_ID, catalog, database and name of tables, and whether each owns its directory."""
    if not sd_ids:
        return []
    return tx.rows(
        f"SELECT t.TBL_ID, t.SD_ID, d.CTLG_NAME, d.NAME, t.TBL_NAME, {_OWNS}"
        f" FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID WHERE t.SD_ID IN ({marks(sorted(sd_ids))})",
        sorted(sd_ids),
    )


def _forget_altered(tx: Transaction, tables: Mapping[int, int]) -> None:
    """Forget tables (SD_ID by TBL_ID) that no longer own their directory.

    They are read a second time: NDB has no snapshots, so a statement that a DROP TABLE overtakes may find a table without
    its properties. The second statement then finds no table.
    """
    if not tables:
        return
    ids = sorted(tables)
    known = tx.rows(f"SELECT tbl_id FROM {{state}}.owned WHERE tbl_id IN ({marks(ids)})", ids)
    again = _tables(tx, [tables[int(tbl_id)] for (tbl_id,) in known])
    forget(tx, [int(row[0]) for row in again if not row[-1]])


def forget(tx: Transaction, tables: Collection[int]) -> None:
    """Delete the notes about tables, by TBL_ID."""
    if ids := sorted(tables):
        tx.execute(f"DELETE FROM {{state}}.owned WHERE tbl_id IN ({marks(ids)})", ids)
