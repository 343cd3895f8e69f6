"""A table with its partitions, statistics and privileges removed and restored: by itself out of the trash, and by command."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.bench.dataset import days, make_partitioned
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_for_value, wait_until_bound

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tests.bench.dataset import Partitioned
    from tests.bench.rig import Rig
    from tests.support.metastore_db import Metastore

PARTITIONS = 1000
ROUNDS = 3
TARGET_S = 10.0
TRASH = "/user/hdfs/.Trash/Current"
DB = "restoring"
# Of SDS: they name an inode, which is another one when a directory was made again.
BINDING = frozenset({"PARTITION_ID", "PARENT_ID", "NAME"})

# The content of all tables: rows by how often they are there.
Content = dict[str, Counter[tuple[Any, ...]]]


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Seconds until everything is back, and how many rows differ then."""
    count = max(10, round(PARTITIONS * scale))
    moved: list[float] = []
    asked: list[float] = []
    differ = 0
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        client.create_database(DB, f"{rig.uri}/warehouse/{DB}.db")
        table = make_partitioned(rig, metastore, client, DB, "t", days(count))
        _adorn(metastore)
        rig.directories.make([TRASH])
        config = rig.config(metastore)
        with rig.daemon(metastore, config):
            wait_until_bound(metastore)
            rows = 0
            for _ in range(ROUNDS):
                before = read(metastore)
                rows = sum(found.total() for found in before.values())
                rig.directories.move(table.path, f"{TRASH}/t")
                _gone(metastore)
                began = time.perf_counter()
                rig.directories.move(f"{TRASH}/t", table.path)
                _back(metastore, count)
                moved.append(time.perf_counter() - began)
                differ += difference(before, read(metastore))

                before = read(metastore, without=BINDING)
                rig.directories.delete([table.path])
                _gone(metastore)
                rig.directories.make(table.paths)
                began = time.perf_counter()
                _command(config, table)
                asked.append(time.perf_counter() - began)
                wait_until_bound(metastore)
                differ += difference(before, read(metastore, without=BINDING))
        rig.directories.delete([f"/warehouse/{DB}.db"])
    return [
        Measurement(
            f"table with {count:,} partitions moved out of the trash -> restored", median(moved), "s", TARGET_S
        ),
        Measurement("the same made again, by hopshive restore", median(asked), "s", TARGET_S),
        Measurement(f"rows that differ then, of {rows:,} in the metastore", differ, "rows", 0),
    ]


def _adorn(metastore: Metastore) -> None:
    """Statistics of two columns, and a privilege, for each partition; privileges on the table and a column of it."""
    metastore.execute(
        *(
            "INSERT INTO PART_COL_STATS (CS_ID, CAT_NAME, DB_NAME, TABLE_NAME, PARTITION_NAME, COLUMN_NAME, COLUMN_TYPE,"
            " PART_ID, NUM_NULLS, NUM_DISTINCTS, BIT_VECTOR,"
            " LAST_ANALYZED, ENGINE, LONG_LOW_VALUE, LONG_HIGH_VALUE)"
            f" SELECT PART_ID * 2 + {number}, 'hive', '{DB}', 't', PART_NAME, 'c{2 * number + 1}', 'bigint',"
            " PART_ID, 0, 100, REPEAT('x', 200), 1700000000,"
            " 'hive', 1, 1000 FROM PARTITIONS"
            for number in range(2)
        ),
        "INSERT INTO PART_PRIVS (PART_GRANT_ID, CREATE_TIME, GRANT_OPTION, GRANTOR, GRANTOR_TYPE, PART_ID, PRINCIPAL_NAME,"
        " PRINCIPAL_TYPE, PART_PRIV, AUTHORIZER) SELECT PART_ID, 1700000000, 0, 'hive', 'USER', PART_ID, 'ann', 'USER',"
        " 'SELECT', 'SQL' FROM PARTITIONS",
        "INSERT INTO TBL_PRIVS (TBL_GRANT_ID, CREATE_TIME, GRANT_OPTION, GRANTOR, GRANTOR_TYPE, TBL_ID, PRINCIPAL_NAME,"
        " PRINCIPAL_TYPE, TBL_PRIV, AUTHORIZER) SELECT TBL_ID + 1000, 1700000000, 0, 'hive', 'USER', TBL_ID, 'ann', 'USER',"
        " 'SELECT', 'SQL' FROM TBLS",
        "INSERT INTO TBL_COL_PRIVS (TBL_COLUMN_GRANT_ID, COLUMN_NAME, CREATE_TIME, GRANT_OPTION, GRANTOR, GRANTOR_TYPE,"
        " TBL_ID, PRINCIPAL_NAME, PRINCIPAL_TYPE, TBL_COL_PRIV, AUTHORIZER) SELECT TBL_ID, 'c0', 1700000000, 0, 'hive', 'USER',"
        " TBL_ID, 'ann', 'USER', 'SELECT', 'SQL' FROM TBLS",
    )


def _gone(metastore: Metastore) -> None:
    wait_for_value(metastore, "SELECT (SELECT COUNT(*) FROM PARTITIONS) + (SELECT COUNT(*) FROM TBLS)", 0)
    # What the cleaner collects meanwhile is to come back as well.
    wait_for_value(metastore, "SELECT (SELECT COUNT(*) FROM CDS) + (SELECT COUNT(*) FROM SERDES)", 0)


def _back(metastore: Metastore, count: int) -> None:
    wait_for_value(metastore, "SELECT COUNT(*) FROM PARTITIONS", count, pause=0.01)
    wait_until_bound(metastore)


def _command(config: Path, table: Partitioned) -> None:
    command = [sys.executable, "-m", "hopshive.cli", "restore", "--path", table.path, "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"hopshive restore: exit {done.returncode}: {done.stdout} {done.stderr}")


def read(metastore: Metastore, without: Collection[str] = ()) -> Content:
    """All rows of the metastore's database, but some columns."""
    columns: dict[str, list[str]] = {}
    for table, column in metastore.execute(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
        " ORDER BY TABLE_NAME, ORDINAL_POSITION"
    ):
        if table != "SDS" or column not in without:
            columns.setdefault(table, []).append(f"`{column}`")
    return {
        table: Counter(metastore.execute(f"SELECT {', '.join(names)} FROM `{table}`"))
        for table, names in columns.items()
    }


def difference(before: Content, after: Content) -> int:
    """Rows that are on one side only."""
    none: Counter[tuple[Any, ...]] = Counter()
    pairs = [(before.get(table, none), after.get(table, none)) for table in before | after]
    return sum((one - other).total() + (other - one).total() for one, other in pairs)
