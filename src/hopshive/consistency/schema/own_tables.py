"""hopshive's own tables beside the metastore's, as one schema with one version. Each package brings its own.

All of the daemon's memory that must outlive it stands there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency import tables as consistency
from hopshive.daemon import tables as daemon
from hopshive.database import state
from hopshive.tenancy import tables as tenancy

if TYPE_CHECKING:
    from collections.abc import Mapping

# Raised with every change of a table below; the schema module migrates, the daemon refuses another.
STATE_VERSION = 7

# In the order in which they are made.
TABLES: Mapping[str, str] = {
    "setting": state.SETTING,
    "lease": daemon.LEASE,
    **consistency.TABLES,
    "request": daemon.REQUEST,
    **tenancy.TABLES,
}
INODES = consistency.INODES

# Statements that make of tables of the version before those of one.
MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    2: (
        "ALTER TABLE {state}.recheck ADD COLUMN IF NOT EXISTS head VARBINARY(255) AS (LEFT(path, 255)) STORED,"
        " ADD KEY IF NOT EXISTS recheck_head (head), DROP KEY IF EXISTS recheck_path",
        "ALTER TABLE {state}.journal ADD COLUMN IF NOT EXISTS head VARBINARY(255) AS (LEFT(path, 255)) STORED,"
        " ADD KEY IF NOT EXISTS journal_head (head), DROP KEY IF EXISTS journal_beneath",
    ),
    # A table more each, which is made with those that lack.
    3: (),
    4: (),
    5: (
        "ALTER TABLE {state}.recheck ADD COLUMN IF NOT EXISTS held_at DATETIME(3) NULL",
        "UPDATE {state}.recheck SET held_at = UTC_TIMESTAMP(3) WHERE held_at IS NULL AND state IN ('held', 'reported')",
    ),
    6: ("ALTER TABLE {state}.journal ADD COLUMN IF NOT EXISTS replacement BIGINT NULL",),
    # Comments of columns alone: no row is copied. The tables of tenancy are made with those that lack.
    7: (
        "ALTER TABLE {state}.recheck"
        " MODIFY inode BIGINT NULL"
        " COMMENT 'file id that the directory had; descriptors that were bound under it are found by it',"
        " MODIFY txid BIGINT NOT NULL COMMENT 'of the event; 0 without an event',"
        " MODIFY removal BIGINT NULL COMMENT 'id of the removal that it began',"
        " MODIFY held_at DATETIME(3) NULL COMMENT 'UTC, since when it is held or reported'",
        "ALTER TABLE {state}.removal MODIFY txid BIGINT NOT NULL COMMENT 'of the event; 0 without an event'",
        "ALTER TABLE {state}.journal"
        " MODIFY path_hash BIGINT NOT NULL COMMENT 'of path: path_hash() of hopshive.hdfs.paths',"
        " MODIFY inode BIGINT NULL COMMENT 'file id of that directory, if it is known; 0 if it was deleted for good',"
        " MODIFY replacement BIGINT NULL COMMENT 'file id of the directory that lay there last, if it was another one',"
        " MODIFY content LONGBLOB NOT NULL COMMENT 'its rows of the metastore: hopshive.consistency.journal.content'",
        "ALTER TABLE {state}.owned MODIFY tbl_id BIGINT NOT NULL"
        " COMMENT 'of a table whose directory is removed with it: hopshive.consistency.drops.owned'",
        "ALTER TABLE {state}.binary_log MODIFY `offset` BIGINT NOT NULL"
        " COMMENT 'where a transaction of the log ended; all before it is among the candidates'",
    ),
}
