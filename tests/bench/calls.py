"""Calls that one, two and three metastores answer in a second: tables made, given partitions, read and dropped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING

from tests.bench import operations
from tests.bench.measurement import Measurement
from tests.bench.sites import REPLICAS

if TYPE_CHECKING:
    from tests.bench.rig import Rig
    from tests.bench.sites import Site
    from tests.bench.thrift_metastore import ThriftMetastore

# Clients, as many with each number of metastores.
CLIENTS = 6
# Of one round, for each client.
CYCLES = 12
ROUNDS = 4
# Cycles of each metastore until its JVM has compiled what it runs.
WARM = 200


def measure(rig: Rig, sites: list[Site], scale: float) -> list[Measurement]:
    """Calls a second; databases and numbers of metastores take turns."""
    rates: dict[tuple[str, int], list[float]] = {}
    cycles = max(2, round(CYCLES * scale))
    with ExitStack() as stack:
        clients: dict[tuple[str, int], list[ThriftMetastore]] = {}
        for site in sites:
            ports = [stack.enter_context(site.metastore_server(number)) for number in range(REPLICAS)]
            with rig.client(ports[0]) as client:
                client.create_database(operations.DB, f"{rig.uri}/warehouse/{site.name}/external/{operations.DB}.db")
            for replicas in range(1, REPLICAS + 1):
                clients[site.name, replicas] = [
                    stack.enter_context(rig.client(ports[number % replicas])) for number in range(CLIENTS)
                ]
            operations.work_through(
                rig, clients[site.name, REPLICAS], max(2, round(WARM * scale) * REPLICAS // CLIENTS), {}
            )
        order = [(replicas, site) for replicas in range(1, REPLICAS + 1) for site in sites]
        for turn in range(max(1, round(ROUNDS * scale))):
            for replicas, site in order if turn % 2 == 0 else reversed(order):
                rate = operations.work_through(rig, clients[site.name, replicas], cycles, {})
                rates.setdefault((site.name, replicas), []).append(rate)
                time.sleep(0.5)
    return [
        Measurement(f"metastore calls, {replicas} metastores, {name}", median(values), "1/s")
        for (name, replicas), values in rates.items()
    ]
