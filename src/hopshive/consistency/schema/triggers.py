"""The triggers on SDS and DBS: text, made from what the source of inodes needs.

With `hdfs` they only unbind what has moved, and the mirror binds it again. With `hopsfs`, where the inode table is the file
system's own, they resolve a location when it is written and refuse one that is not there.

How HopsFS lays out its inodes (hops, INode.calculatePartitionId; HopsHive's InodeHelper): the root's id is 1. The primary key is
(partition_id, parent_id, name). A directory's partition_id is its parent_id, but down to a configured depth
(dfs.ndb.random-partitioning..., 1 unless set: the children of the root) it is a hash of name and parent. A name is unique
below its parent, so (parent_id, name) tells an inode and the row tells its partition_id; there is an index on parent_id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency.schema.catalogue import Column, Trigger
from hopshive.database.foreign_keys import PREFIX
from hopshive.hdfs.paths import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HOPSFS_ROOT = 1
# A session that sets this binds rows that stood there before the triggers: their location is resolved although it is as it was.
BIND = "@hopshive_bind"

_UNBIND = """BEGIN
  IF NOT (CAST(NEW.LOCATION AS BINARY) <=> CAST(OLD.LOCATION AS BINARY)) THEN
    SET NEW.PARTITION_ID = NULL, NEW.PARENT_ID = NULL, NEW.NAME = NULL;
  END IF;
END"""

_UNBIND_DATABASE = """BEGIN
  IF NOT (CAST(NEW.DB_LOCATION_URI AS BINARY) <=> CAST(OLD.DB_LOCATION_URI AS BINARY))
    OR NOT (CAST(NEW.DB_MANAGED_LOCATION_URI AS BINARY) <=> CAST(OLD.DB_MANAGED_LOCATION_URI AS BINARY)) THEN
    SET NEW.SD_ID = NULL;
  END IF;
END"""

_RESOLVE = """BEGIN
  DECLARE v_rest {location};
  DECLARE v_component VARCHAR(4000){name_charset};
  DECLARE v_path VARCHAR(4000){name_charset} DEFAULT '';
  DECLARE v_inode, v_next, v_partition, v_parent BIGINT;
  IF {changed} THEN
    SET NEW.PARTITION_ID = NULL, NEW.PARENT_ID = NULL, NEW.NAME = '';
    SET v_rest = {path}, v_inode = {root};
    WHILE CHAR_LENGTH(v_rest) > 0 DO
      SET v_component = SUBSTRING_INDEX(v_rest, '/', 1);
      SET v_rest = SUBSTRING(v_rest, CHAR_LENGTH(v_component) + 2);
      IF v_component NOT IN ('', '.') THEN
        SET v_next = NULL, v_path = CONCAT(v_path, '/', v_component);
        SELECT i.partition_id, i.parent_id, i.id INTO v_partition, v_parent, v_next FROM {inodes} i
          WHERE i.partition_id = v_inode AND i.parent_id = v_inode AND i.name = v_component;
        IF v_next IS NULL THEN
          SELECT i.partition_id, i.parent_id, i.id INTO v_partition, v_parent, v_next FROM {inodes} i
            WHERE i.parent_id = v_inode AND i.name = v_component LIMIT 1;
        END IF;
        IF v_next IS NULL THEN
          SET v_path = CONCAT('hopshive: not on the file system: ', RIGHT(v_path, 90));
          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_path;
        END IF;
        SET v_inode = v_next, NEW.PARTITION_ID = v_partition, NEW.PARENT_ID = v_parent, NEW.NAME = v_component;
      END IF;
    END WHILE;
  END IF;
END"""

_DESCRIBE_DATABASE = """BEGIN
  IF {changed} THEN
    SET NEW.SD_ID = NULL;
    IF NEW.NAME <> 'default' AND {path} IS NOT NULL
      AND COALESCE(NEW.DB_MANAGED_LOCATION_URI, NEW.DB_LOCATION_URI) = NEW.DB_LOCATION_URI THEN
      INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)
        VALUES (-NEW.DB_ID, 0, 0, 0, NEW.DB_LOCATION_URI) ON DUPLICATE KEY UPDATE LOCATION = NEW.DB_LOCATION_URI;
      SET NEW.SD_ID = -NEW.DB_ID;
    END IF;
  END IF;
END"""


def following() -> list[Trigger]:
    """With the source `hdfs`."""
    return [
        Trigger(f"{PREFIX}dbs_update", "DBS", "BEFORE", "UPDATE", _UNBIND_DATABASE),
        Trigger(f"{PREFIX}sds_update", "SDS", "BEFORE", "UPDATE", _UNBIND),
    ]


def resolving(
    inodes: str, uris: Iterable[str], sds: Mapping[str, Column], inode: Mapping[str, Column]
) -> list[Trigger]:
    """With the source `hopsfs`. `sds` and `inode` are the columns of SDS and of the inode table."""
    name = inode["name"]
    values = {
        "inodes": inodes,
        "root": HOPSFS_ROOT,
        "location": sds["LOCATION"].definition,
        "name_charset": f" CHARACTER SET {name.charset} COLLATE {name.collation}" if name.charset else "",
        "path": path_of("NEW.LOCATION", uris),
    }
    moved = "NOT (CAST(NEW.LOCATION AS BINARY) <=> CAST(OLD.LOCATION AS BINARY))"
    database_moved = " OR ".join(
        f"NOT (CAST(NEW.{column} AS BINARY) <=> CAST(OLD.{column} AS BINARY))"
        for column in ("DB_LOCATION_URI", "DB_MANAGED_LOCATION_URI")
    )
    database_path = path_of("NEW.DB_LOCATION_URI", uris)
    return [
        Trigger(name, table, "BEFORE", event, body)
        for name, table, event, body in (
            (
                f"{PREFIX}dbs_insert",
                "DBS",
                "INSERT",
                _DESCRIBE_DATABASE.format(changed="TRUE", path=database_path),
            ),
            (
                f"{PREFIX}dbs_update",
                "DBS",
                "UPDATE",
                _DESCRIBE_DATABASE.format(changed=f"{database_moved} OR {BIND} IS NOT NULL", path=database_path),
            ),
            (f"{PREFIX}sds_insert", "SDS", "INSERT", _RESOLVE.format(changed="TRUE", **values)),
            (
                f"{PREFIX}sds_update",
                "SDS",
                "UPDATE",
                _RESOLVE.format(changed=f"{moved} OR {BIND} IS NOT NULL", **values),
            ),
        )
    ]


def path_of(location: str, uris: Iterable[str]) -> str:
    """An SQL expression: the path of a location, or NULL if it lies on none of `uris` (FileSystem.path_of)."""
    cases = [
        f"WHEN RIGHT({location}, {len(PLACEHOLDER)}) = '{PLACEHOLDER}' THEN NULL",
        f"WHEN LEFT({location}, 1) = '/' THEN {location}",
    ]
    for uri in uris:
        quoted = uri.replace("\\", "\\\\").replace("'", "''")
        length = len(uri)
        cases.append(
            f"WHEN CAST(LEFT({location}, {length}) AS BINARY) = '{quoted}' AND "
            f"CAST(SUBSTRING({location}, {length + 1}, 1) AS BINARY) IN ('', '/') THEN SUBSTRING({location}, {length + 1})"
        )
    return f"CASE {' '.join(cases)} END"
