"""Directories of partitions deleted: the mirror against `MSCK REPAIR TABLE .. SYNC PARTITIONS`, on one table in turns."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

from tests.bench.dataset import days, make_partitioned
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_for_value, wait_until_bound

if TYPE_CHECKING:
    from tests.bench.dataset import Partitioned
    from tests.bench.rig import Rig
    from tests.bench.thrift_metastore import ThriftMetastore
    from tests.support.metastore_db import Metastore

SIZES = (10_000, 50_000)
DELETED = 100
ROUNDS = 3
TARGET_TIMES = 20.0
# How many times as long the largest table may take: flat, but for what a busy machine adds to some tenths of a second.
TARGET_FLAT = 1.5
DB = "repair"


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Our seconds and MSCK's for each size, and how many times faster that is."""
    results = []
    ours_by_size = []
    for size in SIZES:
        count = max(DELETED * (2 * ROUNDS + 1), round(size * scale))
        ours, msck = _measure(rig, count)
        ours_by_size.append(median(ours))
        results += [
            Measurement(f"{DELETED} of {count:,} partitions deleted -> gone", median(ours), "s"),
            Measurement(f"the same by MSCK, {count:,} partitions", median(msck), "s"),
            Measurement(
                f"faster than MSCK, {count:,} partitions",
                median(msck) / median(ours),
                "times",
                TARGET_TIMES,
                at_least=True,
            ),
        ]
    flat = Measurement(
        "time with the largest table, compared with the smallest", ours_by_size[-1] / ours_by_size[0], "x", TARGET_FLAT
    )
    return [*results, flat]


def _measure(rig: Rig, count: int) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    msck: list[float] = []
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        client.create_database(DB, f"{rig.uri}/warehouse/{DB}.db")
        table = make_partitioned(rig, metastore, client, DB, f"t{count}", days(count))
        config = rig.config(metastore)
        left = list(table.names)
        with rig.server2(DB, port) as session:
            # The first statement of a session loads classes and opens connections.
            session.execute(f"SHOW PARTITIONS {DB}.t{count}")
            for turn in range(ROUNDS):
                with rig.daemon(metastore, config):
                    _warm_up(rig, metastore, client, f"canary{turn}")
                    gone = _delete(rig, table, left)
                    ours.append(_wait_until_gone(metastore, table, gone))
                    _expect(metastore, table, left)
                _delete(rig, table, left)
                began = time.perf_counter()
                session.execute(f"MSCK REPAIR TABLE {DB}.t{count} SYNC PARTITIONS")
                msck.append(time.perf_counter() - began)
                _expect(metastore, table, left)
        rig.directories.delete([f"/warehouse/{DB}.db"])
    return ours, msck


def _warm_up(rig: Rig, metastore: Metastore, client: ThriftMetastore, name: str) -> None:
    """Let a daemon that has just started bind and remove a table: the first removal reads the schema.

    And end its full comparison: what is measured is how it follows, not what it does once in a while.
    """
    path = f"/warehouse/{DB}.db/{name}"
    wait_for_value(metastore, "SELECT COUNT(*) FROM {state}.position WHERE compared_at IS NOT NULL", 1)
    wait_until_bound(metastore)
    client.create_table(DB, name, f"{rig.uri}{path}")
    wait_until_bound(metastore)
    rig.directories.delete([path])
    wait_for_value(metastore, f"SELECT COUNT(*) FROM TBLS WHERE TBL_NAME = '{name}'", 0)


def _delete(rig: Rig, table: Partitioned, left: list[str]) -> set[str]:
    """Delete directories from here and there in a table, one after the other as clients do; their partitions."""
    step = len(left) // DELETED
    names = left[::step][:DELETED]
    for name in names:
        rig.namenode.delete(f"{table.path}/{name}")
    gone = set(names)
    left[:] = [name for name in left if name not in gone]
    return gone


def _wait_until_gone(metastore: Metastore, table: Partitioned, gone: set[str]) -> float:
    """Seconds until the metastore has none of some partitions; what that asks does not grow with the table."""
    names = ", ".join(f"'{name}'" for name in gone)
    sql = f"SELECT COUNT(*) FROM PARTITIONS WHERE TBL_ID = {table.table_id} AND PART_NAME IN ({names})"
    return wait_for_value(metastore, sql, 0, pause=0.005)


def _expect(metastore: Metastore, table: Partitioned, left: list[str]) -> None:
    """That the metastore has what is left."""
    wait_for_value(metastore, f"SELECT COUNT(*) FROM PARTITIONS WHERE TBL_ID = {table.table_id}", len(left), seconds=1)
