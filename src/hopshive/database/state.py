"""hopshive's own tables beside the metastore's: what they hold and how they are made.

All of the daemon's memory that must outlive it stands here: who leads, how far the NameNode's events are applied, what is
yet to be looked at again, what was removed and can be restored, and what humans asked for. Paths are VARBINARY: HDFS
compares bytes, and a collation that pads or folds would take two directories for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database.connection import marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database.connection import Transaction

# Raised with every change of a table below; the schema module migrates, the daemon refuses another.
STATE_VERSION = 6

# Only with the source `hdfs`: with `hopsfs` the table is the file system's own.
INODES = """
CREATE TABLE IF NOT EXISTS {inodes} (
  partition_id BIGINT NOT NULL COMMENT 'the same as parent_id',
  parent_id BIGINT NOT NULL,
  name VARBINARY(255) NOT NULL,
  id BIGINT NOT NULL COMMENT 'file id; a directory that was moved may stand under both of its names for a while',
  PRIMARY KEY (partition_id, parent_id, name),
  KEY inode_by_id (id)
) ENGINE={engine}
"""

TABLES: Mapping[str, str] = {
    "setting": """
CREATE TABLE IF NOT EXISTS {state}.setting (
  name VARCHAR(64) NOT NULL COMMENT 'state_version, source, cluster_id, block_pool, fuse, ...',
  value VARBINARY(4000) NOT NULL,
  PRIMARY KEY (name)
) ENGINE={engine}
""",
    "lease": """
CREATE TABLE IF NOT EXISTS {state}.lease (
  id TINYINT NOT NULL COMMENT '1: there is one row',
  holder VARCHAR(255) NOT NULL,
  epoch BIGINT NOT NULL COMMENT 'rises with each take-over; every transaction of a leader checks it',
  expires DATETIME(6) NOT NULL COMMENT 'UTC, by the database''s clock',
  connections VARCHAR(255) NOT NULL COMMENT 'of the holder, to be killed by who takes over',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
    "position": """
CREATE TABLE IF NOT EXISTS {state}.position (
  id TINYINT NOT NULL COMMENT '1: there is one row',
  txid BIGINT NOT NULL COMMENT 'of the NameNode: all events up to it are applied or stand in recheck',
  event_at DATETIME(3) NULL COMMENT 'UTC, when that event happened',
  compared_at DATETIME(3) NULL COMMENT 'UTC, end of the last full comparison; NULL asks for one',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
    "recheck": """
CREATE TABLE IF NOT EXISTS {state}.recheck (
  id BIGINT NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL COMMENT 'unlink, trash, rename, replace: its end; missing: never seen; restore: back',
  path VARBINARY(8000) NOT NULL,
  target VARBINARY(8000) NOT NULL COMMENT 'of a move; of missing: where it lies, / for nowhere; of restore: where it lay',
  inode BIGINT NULL COMMENT 'file id that the directory had; what was bound beneath it is found through it',
  sd_id BIGINT NULL COMMENT 'of missing: the storage descriptor',
  txid BIGINT NOT NULL COMMENT 'of the event; 0 if none told of it',
  event_at DATETIME(3) NULL COMMENT 'UTC',
  due DATETIME(3) NOT NULL COMMENT 'UTC',
  state VARCHAR(16) NOT NULL COMMENT 'waiting, held (by the fuse), approved, reported (policy), comparing',
  removal BIGINT NULL COMMENT 'the removal that it has begun',
  held_at DATETIME(3) NULL COMMENT 'UTC, since when it is held or reported: what a human was shown bears it',
  message VARCHAR(1000) NOT NULL DEFAULT '',
  head VARBINARY(255) AS (LEFT(path, 255)) STORED COMMENT 'NDB has no index on a part of a column',
  PRIMARY KEY (id),
  KEY recheck_due (state, due),
  KEY recheck_sd (sd_id),
  KEY recheck_head (head)
) ENGINE={engine}
""",
    "removal": """
CREATE TABLE IF NOT EXISTS {state}.removal (
  id BIGINT NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL COMMENT 'unlink, trash, rename, missing, check',
  path VARBINARY(8000) NOT NULL,
  target VARBINARY(8000) NOT NULL COMMENT 'where it was moved to, else empty',
  txid BIGINT NOT NULL COMMENT 'of the event; 0 if none told of it',
  event_at DATETIME(3) NULL COMMENT 'UTC',
  begun DATETIME(3) NOT NULL COMMENT 'UTC',
  ended DATETIME(3) NULL COMMENT 'UTC; NULL while batches are outstanding',
  objects INT NOT NULL DEFAULT 0 COMMENT 'removed so far',
  PRIMARY KEY (id),
  KEY removal_begun (begun),
  KEY removal_ended (ended)
) ENGINE={engine}
""",
    "journal": """
CREATE TABLE IF NOT EXISTS {state}.journal (
  id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'in the order of removal: what depends on another has the smaller one',
  removal BIGINT NOT NULL,
  kind VARCHAR(16) NOT NULL COMMENT 'partition, table, database',
  name VARBINARY(1100) NOT NULL COMMENT 'catalog.db, catalog.db.table, catalog.db.table/part=1',
  path VARBINARY(8000) NOT NULL COMMENT 'of its directory; empty for a view',
  path_hash BIGINT NOT NULL COMMENT 'of path: hopshive.paths.path_hash',
  inode BIGINT NULL COMMENT 'file id of that directory if it is known, 0 if it went for good',
  replacement BIGINT NULL COMMENT 'file id of the directory that lay there last, if it was another one',
  removed DATETIME(3) NOT NULL COMMENT 'UTC',
  state VARCHAR(16) NOT NULL COMMENT 'removed, restored, waiting (for the other object that its rows are about)',
  message VARCHAR(1000) NOT NULL DEFAULT '' COMMENT 'why it was not restored',
  content LONGBLOB NOT NULL COMMENT 'its rows of the metastore: hopshive.journal',
  head VARBINARY(255) AS (LEFT(path, 255)) STORED COMMENT 'NDB has no index on a part of a column',
  PRIMARY KEY (id),
  KEY journal_removal (removal, id),
  KEY journal_path (path_hash),
  KEY journal_head (head),
  KEY journal_removed (removed)
) ENGINE={engine}
""",
    "owned": """
CREATE TABLE IF NOT EXISTS {state}.owned (
  tbl_id BIGINT NOT NULL COMMENT 'of a table whose directory goes with it: hopshive.owned',
  name VARBINARY(1100) NOT NULL COMMENT 'catalog.db.table',
  path VARBINARY(8000) NOT NULL,
  inode BIGINT NOT NULL COMMENT 'file id of the directory',
  PRIMARY KEY (tbl_id)
) ENGINE={engine}
""",
    "candidate": """
CREATE TABLE IF NOT EXISTS {state}.candidate (
  kind VARCHAR(32) NOT NULL COMMENT 'the table of the metastore',
  id BIGINT NOT NULL COMMENT 'its key: perhaps garbage',
  PRIMARY KEY (kind, id)
) ENGINE={engine}
""",
    "binary_log": """
CREATE TABLE IF NOT EXISTS {state}.binary_log (
  id TINYINT NOT NULL COMMENT '1: there is one row',
  place VARCHAR(255) NOT NULL COMMENT 'host:port of the SQL node whose log is followed, or its socket',
  uuid VARCHAR(36) NOT NULL COMMENT 'of that server',
  file VARCHAR(255) NOT NULL,
  `offset` BIGINT NOT NULL COMMENT 'where a transaction of the log ended: candidates tell of all before',
  read_to DATETIME(3) NOT NULL COMMENT 'UTC: all that happened before it was read',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
    "request": """
CREATE TABLE IF NOT EXISTS {state}.request (
  id BIGINT NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL COMMENT 'sync, restore, approve, collect, fix',
  argument VARBINARY(8000) NOT NULL COMMENT 'JSON',
  asked DATETIME(3) NOT NULL COMMENT 'UTC',
  asked_by VARCHAR(255) NOT NULL,
  state VARCHAR(16) NOT NULL COMMENT 'waiting, running, done, failed',
  done BIGINT NOT NULL DEFAULT 0 COMMENT 'progress, in objects',
  total BIGINT NOT NULL DEFAULT 0 COMMENT '0 while unknown',
  message VARCHAR(4000) NOT NULL DEFAULT '' COMMENT 'the result, or what went wrong',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
}


# Bytes of a path that a table has in `head` too.
HEAD = 255
# A condition: what lies beneath a path, in a table with `path` and `head`.
BENEATH = "(head BETWEEN %s AND %s AND path >= %s AND path < %s)"


def beneath(path: bytes) -> list[bytes]:
    """The arguments of BENEATH; `0` is the character after `/`."""
    first, end = path.rstrip(b"/") + b"/", path.rstrip(b"/") + b"0"
    return [first[:HEAD], end[:HEAD], first, end]


def at_or_beneath(paths: Sequence[bytes], more: Sequence[bytes] = ()) -> tuple[str, list[bytes]]:
    """The condition, and its arguments, for what lies at or beneath some paths, or exactly at some more."""
    exact = [*paths, *more]
    places = " OR ".join([f"path IN ({marks(exact)})", *(BENEATH for _ in paths)])
    return f"({places})", [*exact, *(value for path in paths for value in beneath(path))]


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
}


def read_setting(tx: Transaction, name: str) -> str | None:
    """One value of {state}.setting, or None."""
    value = tx.value("SELECT value FROM {state}.setting WHERE name = %s", (name,))
    return None if value is None else bytes(value).decode()


def write_setting(tx: Transaction, name: str, value: str | None) -> None:
    """Write one value; None removes it."""
    if value is None:
        tx.execute("DELETE FROM {state}.setting WHERE name = %s", (name,))
    else:
        tx.execute("REPLACE INTO {state}.setting (name, value) VALUES (%s, %s)", (name, value.encode()))
