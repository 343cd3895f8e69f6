"""How long metadata outlives its directory: partitions and tables, one after the other, each deleted through the NameNode."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench.figures import percentile
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_until_bound
from tests.bench.thrift_metastore import MetastoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.database import Database
    from tests.bench.rig import Rig
    from tests.bench.thrift_metastore import ThriftMetastore

DELETIONS = 1000
PARTITIONS_A_TABLE = 100
# Of the deletions: tables, and of these one in four with partitions of its own.
TABLES = 0.2
CHILDREN = 5
# Of the deletions: those that are watched through the metastore instead of its database.
THRIFT = 0.1
# Seconds between two looks.
LOOK = 0.002
PATIENCE = 60.0
TARGET_P50_S = 0.2
TARGET_P99_S = 1.0
DB = "deletions"


@dataclass(frozen=True)
class Victim:
    """A table, or a partition of one, and its directory."""

    table: str
    partition: str
    path: str


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Percentiles of the time from the call that deletes a directory until its metadata is gone."""
    count = max(20, round(DELETIONS * scale))
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        victims = _make(rig, client, count)
        database = metastore.database()
        with rig.daemon(metastore, rig.config(metastore)):
            wait_until_bound(metastore)
            by_database, by_thrift = _delete(rig, client, database, victims)
        database.close()
    seconds = by_database + by_thrift
    return [
        Measurement(f"directory deleted -> gone, p50 of {count}", percentile(seconds, 50), "s", TARGET_P50_S),
        Measurement(f"directory deleted -> gone, p99 of {count}", percentile(seconds, 99), "s", TARGET_P99_S),
        Measurement("the slowest", max(seconds), "s"),
        Measurement(f"p50 of {len(by_thrift)} seen through the metastore", percentile(by_thrift, 50), "s"),
    ]


def _make(rig: Rig, client: ThriftMetastore, count: int) -> list[Victim]:
    """Tables and partitions made by the metastore, in no order."""
    base = f"/warehouse/{DB}.db"
    client.create_database(DB, f"{rig.uri}{base}")
    victims = []
    tables = round(count * TABLES)
    for number in range(tables):
        name = f"t{number}"
        keys = ["p"] if number % 4 == 0 else []
        client.create_table(DB, name, f"{rig.uri}{base}/{name}", keys)
        if keys:
            _add(rig, client, name, base, CHILDREN)
        victims.append(Victim(name, "", f"{base}/{name}"))
    rest, number = count - tables, 0
    while rest:
        name, some = f"p{number}", min(rest, PARTITIONS_A_TABLE)
        client.create_table(DB, name, f"{rig.uri}{base}/{name}", ["p"])
        victims += [Victim(name, part, f"{base}/{name}/{part}") for part in _add(rig, client, name, base, some)]
        rest, number = rest - some, number + 1
    random.Random(1).shuffle(victims)  # noqa: S311 - the same order each time
    return victims


def _add(rig: Rig, client: ThriftMetastore, table: str, base: str, count: int) -> list[str]:
    client.add_partitions(DB, table, [([str(value)], f"{rig.uri}{base}/{table}/p={value}") for value in range(count)])
    return [f"p={value}" for value in range(count)]


def _delete(
    rig: Rig, client: ThriftMetastore, database: Database, victims: list[Victim]
) -> tuple[list[float], list[float]]:
    pauses = random.Random(2)  # noqa: S311
    by_database: list[float] = []
    by_thrift: list[float] = []
    for number, victim in enumerate(victims):
        through_thrift = number % round(1 / THRIFT) == 0
        gone = _gone_from_metastore(client, victim) if through_thrift else _gone_from_database(database, victim)
        # Not in step with the daemon's own questions.
        time.sleep(pauses.uniform(0, 0.1))
        began = time.perf_counter()
        rig.namenode.delete(victim.path)
        while not gone():
            if time.perf_counter() - began > PATIENCE:
                raise TimeoutError(f"{victim.path} was deleted {PATIENCE:.0f} s ago, its metadata is still there")
            time.sleep(LOOK)
        (by_thrift if through_thrift else by_database).append(time.perf_counter() - began)
    return by_database, by_thrift


def _gone_from_database(database: Database, victim: Victim) -> Callable[[], bool]:
    """Whether it is gone with all that is below it, by its id."""
    with database.reading() as tx:
        table = tx.value("SELECT TBL_ID FROM TBLS WHERE TBL_NAME = %s", (victim.table,))
    if victim.partition:
        sql, arguments = (
            "SELECT COUNT(*) FROM PARTITIONS WHERE TBL_ID = %s AND PART_NAME = %s",
            (table, victim.partition),
        )
    else:
        sql = (
            "SELECT (SELECT COUNT(*) FROM TBLS WHERE TBL_ID = %s) + (SELECT COUNT(*) FROM PARTITIONS WHERE TBL_ID = %s)"
        )
        arguments = (table, table)

    def gone() -> bool:
        with database.reading() as tx:
            return not tx.value(sql, arguments)

    return gone


def _gone_from_metastore(client: ThriftMetastore, victim: Victim) -> Callable[[], bool]:
    def gone() -> bool:
        if victim.partition:
            return not client.get_partitions(DB, victim.table, [victim.partition])
        try:
            client.get_table(DB, victim.table)
        except MetastoreError:
            return True
        return False

    return gone
