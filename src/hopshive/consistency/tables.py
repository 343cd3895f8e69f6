"""The tables of the consistency duties: applied events, pending checks, removals with their journal, candidates for garbage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "position": """
CREATE TABLE IF NOT EXISTS {state}.position (
  id TINYINT NOT NULL COMMENT '1: there is one row',
  txid BIGINT NOT NULL COMMENT 'of the NameNode: all events up to it are applied or stand in recheck',
  event_at DATETIME(3) NULL COMMENT 'UTC, when that event happened',
  compared_at DATETIME(3) NULL COMMENT 'UTC, end of the last full comparison; NULL asks for one',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
    # The pending checks. The leader of the former release works with the tables while the new release is installed, so the
    # table keeps its first name.
    "recheck": """
CREATE TABLE IF NOT EXISTS {state}.recheck (
  id BIGINT NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL COMMENT 'unlink, trash, rename, replace: its end; missing: never seen; restore: back',
  path VARBINARY(8000) NOT NULL,
  target VARBINARY(8000) NOT NULL COMMENT 'of a move; of missing: where it lies, / for nowhere; of restore: where it lay',
  inode BIGINT NULL COMMENT 'file id that the directory had; descriptors that were bound under it are found by it',
  sd_id BIGINT NULL COMMENT 'of missing: the storage descriptor',
  txid BIGINT NOT NULL COMMENT 'of the event; 0 without an event',
  event_at DATETIME(3) NULL COMMENT 'UTC',
  due DATETIME(3) NOT NULL COMMENT 'UTC',
  state VARCHAR(16) NOT NULL COMMENT 'waiting, held (by the fuse), approved, reported (policy), comparing',
  removal BIGINT NULL COMMENT 'id of the removal that it began',
  held_at DATETIME(3) NULL COMMENT 'UTC, since when it is held or reported',
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
  txid BIGINT NOT NULL COMMENT 'of the event; 0 without an event',
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
  path_hash BIGINT NOT NULL COMMENT 'of path: path_hash() of hopshive.hdfs.paths',
  inode BIGINT NULL COMMENT 'file id of that directory, if it is known; 0 if it was deleted for good',
  replacement BIGINT NULL COMMENT 'file id of the directory that lay there last, if it was another one',
  removed DATETIME(3) NOT NULL COMMENT 'UTC',
  state VARCHAR(16) NOT NULL COMMENT 'removed, restored, waiting (for the other object that its rows are about)',
  message VARCHAR(1000) NOT NULL DEFAULT '' COMMENT 'why it was not restored',
  content LONGBLOB NOT NULL COMMENT 'its rows of the metastore: hopshive.consistency.journal.content',
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
  tbl_id BIGINT NOT NULL COMMENT 'of a table whose directory is removed with it: hopshive.consistency.drops.owned',
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
  `offset` BIGINT NOT NULL COMMENT 'where a transaction of the log ended; all before it is among the candidates',
  read_to DATETIME(3) NOT NULL COMMENT 'UTC: all that happened before it was read',
  PRIMARY KEY (id)
) ENGINE={engine}
""",
}
