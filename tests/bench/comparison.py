"""The full comparison of a large warehouse, the first binding of it, and the most memory that the daemon takes for both."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.bench.dataset import days, hours, make_partitioned
from tests.bench.measurement import Measurement
from tests.bench.rig import ask, wait_until_bound

if TYPE_CHECKING:
    from tests.bench.rig import Rig

PARTITIONS = 200_000
TABLES = 20
TARGET_S = 60.0
TARGET_MB = 300.0
DB = "comparison"


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Seconds and megabytes; half of the tables have partitions on two levels."""
    each = max(24, round(PARTITIONS * scale / TABLES))
    count = TABLES * each
    with rig.database(DB) as metastore, rig.metastore(DB) as port, rig.client(port) as client:
        client.create_database(DB, f"{rig.uri}/warehouse/{DB}.db")
        for number in range(TABLES):
            names = hours(each) if number % 2 else days(each)
            make_partitioned(rig, metastore, client, DB, f"t{number}", names)
        with rig.daemon(metastore, rig.config(metastore)) as daemon:
            binding = wait_until_bound(metastore, 1800)
            # The first comparison, which continues beside the first binding.
            ask(metastore, "sync")
            began = time.perf_counter()
            done = ask(metastore, "sync")
            seconds = time.perf_counter() - began
            if done.message != f"Compared {count + TABLES + 1} storage descriptors: 0 differed.":
                raise AssertionError(f"{done.state}: {done.message}")
            peak, cpu = daemon.peak_mb(), daemon.cpu_s()
        rig.directories.delete([f"/warehouse/{DB}.db"])
    return [
        Measurement(f"full comparison of {count:,} partitions", seconds, "s", TARGET_S),
        Measurement("most memory of the daemon", peak, "MB", TARGET_MB),
        Measurement(f"first binding of {count:,} partitions", binding, "s"),
        Measurement("processor time of the daemon for a binding and three comparisons", cpu, "s"),
    ]
