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
    # The tables of tenancy, which are made with those that lack.
    7: (),
}
