"""What the schema must be, and a statement that brings it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    pass


Source = Literal["hdfs", "hopsfs"]
# Of Hive 4.0.x. Its foreign keys were looked through one by one (tests/unit/consistency/schema/test_schema.py has the list).
HIVE_SCHEMA = "4.0.0"
# The columns that refer to the inode, and those of the inode table.
INODE_COLUMNS = {"PARTITION_ID": "partition_id", "PARENT_ID": "parent_id", "NAME": "name"}


@dataclass(frozen=True)
class Wanted:
    """What the schema must be. `uris`: of the file system, only needed with `hopsfs`.

    `delete_orphans`: rows of KEY_CONSTRAINTS that name a table which is not there are deleted instead of refused.
    """

    source: Source = "hdfs"
    uris: tuple[str, ...] = ()
    delete_orphans: bool = False


@dataclass(frozen=True)
class Statement:
    """One statement, atomic. Without `checks` foreign keys are set without looking at each row: they are known to hold."""

    sql: str
    checks: bool = True
