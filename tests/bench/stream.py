"""Events that do not concern us: the mirror's whole step over a stream of them, against a bare Java loop in turns."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

from hopshive import config as configuration
from hopshive.consistency.mirror import Mirror
from hopshive.daemon.metrics import Metrics
from tests.bench import events
from tests.bench.dataset import days, make_partitioned
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_until_bound

if TYPE_CHECKING:
    from tests.bench.rig import Rig
    from tests.support.metastore_db import Metastore

# Each leads to six events.
FILES = 10_000
# Metadata that the events are held against.
PARTITIONS = 10_000
ROUNDS = 5
TARGET_RATE = 10_000.0
TARGET_JAVA = 0.8
DB = "stream"


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Events a second, the median of some rounds, and the median of the rounds' ratios."""
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        client.create_database(DB, f"{rig.uri}/warehouse/{DB}.db")
        make_partitioned(rig, metastore, client, DB, "t", days(max(10, round(PARTITIONS * scale))))
        with rig.daemon(metastore, rig.config(metastore)):
            wait_until_bound(metastore)
        begin = rig.namenode.current_txid()
        events.write_files(rig.hdfs, max(500, round(FILES * scale)))
        end = rig.namenode.current_txid()
        client_only, mirror, java = [], [], []
        for _ in range(ROUNDS):
            count, seconds = events.read_in_java(rig.hdfs, begin, end)
            java.append(count / seconds)
            mirror.append(count / _follow(rig, metastore, begin, end))
            client_only.append(count / events.read(rig.namenode, begin, end)[1])
        rig.directories.delete([f"/warehouse/{DB}.db", "/warehouse/t"])
    return [
        Measurement("NameNode events that do not concern us", median(mirror), "1/s", TARGET_RATE, at_least=True),
        Measurement("the same by the client alone", median(client_only), "1/s"),
        Measurement("the same by a bare Java loop", median(java), "1/s"),
        Measurement(
            "compared with the Java loop",
            median(mine / its for mine, its in zip(mirror, java, strict=True)),
            "x",
            TARGET_JAVA,
            at_least=True,
        ),
    ]


def _follow(rig: Rig, metastore: Metastore, begin: int, end: int) -> float:
    """Seconds of a mirror's steps from a transaction to another, with all that a step does besides reading events."""
    config = configuration.read(rig.config(metastore))
    database = metastore.database()
    mirror = Mirror(config, database, rig.namenode, Metrics())
    try:
        with database.transaction() as tx:
            tx.execute("UPDATE {state}.position SET txid = %s, compared_at = UTC_TIMESTAMP(3) WHERE id = 1", (begin,))
        mirror.start()
        began = time.perf_counter()
        while mirror.txid < end:
            mirror.step()
        seconds = time.perf_counter() - began
        with database.reading() as tx:
            checks = tx.value("SELECT COUNT(*) FROM {state}.recheck")
        if checks:
            raise AssertionError(f"{checks} pending checks of events that do not concern us")
        return seconds
    finally:
        database.close()
