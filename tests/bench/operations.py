"""The metastore's own speed: stock, with the consistency schema, and with schema and mirror.

One metastore on one database, whose schema is applied and taken off between rounds, so that no two JVMs are compared and
what a machine does meanwhile falls on all alike: stock, schema, mirror, mirror, schema, stock, and again.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import TYPE_CHECKING

from hopshive.consistency import schema
from tests.bench.measurement import Measurement
from tests.bench.rig import wait_until_bound
from tests.bench.thrift_metastore import ThriftMetastore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.bench.rig import Daemon, Rig
    from tests.support.metastore_db import Metastore

STOCK, SCHEMA, MIRROR = "stock", "with schema", "with schema and mirror"
ORDER = (STOCK, SCHEMA, MIRROR, MIRROR, SCHEMA, STOCK)
# How often all of ORDER is gone through.
TURNS = 5
# Of one round, for each client.
CYCLES = 30
CLIENTS = 2
PARTITIONS = 20
# Cycles until the JVM has compiled what they run.
WARM = 400
TARGET_SCHEMA = 0.95
TARGET_MIRROR = 0.90
DB = "operations"

# Seconds of each call, by its name.
Times = dict[str, list[float]]


def measure(rig: Rig, scale: float) -> list[Measurement]:
    """Operations a second of each kind of warehouse, and their ratios: the median of those of each turn."""
    cycles = max(3, round(CYCLES * scale))
    rates: dict[str, list[float]] = {kind: [] for kind in (STOCK, SCHEMA, MIRROR)}
    calls: dict[str, Times] = {kind: {} for kind in rates}
    shares: list[float] = []
    with rig.database(DB, consistent=False) as metastore, rig.metastore(DB) as port, ExitStack() as stack:
        clients = [stack.enter_context(rig.client(port)) for _ in range(CLIENTS)]
        clients[0].create_database(DB, f"{rig.uri}/warehouse/{DB}.db")
        work_through(rig, clients, max(3, round(WARM * scale)) // CLIENTS, {})
        kind = STOCK
        for _ in range(TURNS):
            for wanted in ORDER:
                kind = _change(metastore, kind, wanted)
                with _mirror(rig, metastore, clients[0], running=wanted == MIRROR) as daemon:
                    before, began = daemon.cpu_s() if daemon else 0.0, time.perf_counter()
                    rates[wanted].append(work_through(rig, clients, cycles, calls[wanted]))
                    if daemon:
                        shares.append((daemon.cpu_s() - before) / (time.perf_counter() - began))
    results = [Measurement(f"metastore operations, {kind}", median(rates[kind]), "1/s") for kind in rates]
    for kind, target in ((SCHEMA, TARGET_SCHEMA), (MIRROR, TARGET_MIRROR)):
        ratio = median(mine / stock for mine, stock in zip(_turns(rates[kind]), _turns(rates[STOCK]), strict=True))
        results.append(Measurement(f"{kind}, compared with stock", ratio, "x", target, at_least=True))
    results.append(Measurement("the daemon's part of one processor meanwhile", median(shares), "x"))
    for name in calls[STOCK]:
        part = [median(calls[STOCK][name]) / median(calls[kind][name]) for kind in (SCHEMA, MIRROR)]
        results += [
            Measurement(f"- {name}: {kind}, compared with stock", value, "x")
            for kind, value in zip((SCHEMA, MIRROR), part, strict=True)
        ]
    return results


def _turns(rates: list[float]) -> list[float]:
    """The two rounds of each turn together: what drifts during a turn falls on all kinds alike."""
    return [(first + second) / 2 for first, second in zip(rates[::2], rates[1::2], strict=True)]


def _change(metastore: Metastore, kind: str, wanted: str) -> str:
    """Apply the schema or take it off."""
    if (kind == STOCK) != (wanted == STOCK):
        if wanted == STOCK:
            schema.remove(metastore.server, metastore.names, purge=True)
        else:
            schema.apply(metastore.server, metastore.names)
    return wanted


@contextmanager
def _mirror(rig: Rig, metastore: Metastore, client: ThriftMetastore, *, running: bool) -> Iterator[Daemon | None]:
    if not running:
        yield None
        return
    with rig.daemon(metastore, rig.config(metastore, grace=2.0)) as daemon:
        client.create_table(DB, "canary", f"{rig.uri}/warehouse/{DB}.db/canary")
        wait_until_bound(metastore)
        client.drop_table(DB, "canary")
        yield daemon


def work_through(rig: Rig, clients: list[ThriftMetastore], cycles: int, times: Times) -> float:
    """Operations a second of all clients together."""
    own: list[Times] = [{} for _ in clients]
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for cycle in range(cycles):
                _cycle(rig, clients[number], f"t{number}_{cycle}", own[number])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(clients))]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if failures:
        raise failures[0]
    for found in own:
        for name, values in found.items():
            times.setdefault(name, []).extend(values)
    return sum(len(values) for found in own for values in found.values()) / seconds


def _cycle(rig: Rig, client: ThriftMetastore, table: str, times: Times) -> None:
    """What becomes of a table: made, given partitions, looked at, and dropped."""
    location = f"{rig.uri}/warehouse/{DB}.db/{table}"
    parts = [([str(value)], f"{location}/p={value}") for value in range(PARTITIONS)]
    names = [f"p={value}" for value in range(PARTITIONS)]

    def timed(name: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        call()
        times.setdefault(name, []).append(time.perf_counter() - began)

    timed("create table", lambda: client.create_table(DB, table, location, ["p"]))
    timed(f"add {PARTITIONS} partitions", lambda: client.add_partitions(DB, table, parts))
    for name in names[:4]:
        timed("get table", lambda: client.get_table(DB, table))
        timed("get a partition", lambda one=name: client.get_partitions(DB, table, [one]))  # type: ignore[misc]
    timed(f"get {PARTITIONS} partitions", lambda: client.get_partitions(DB, table, names))
    for name in names[:2]:
        timed("drop a partition", lambda one=name: client.drop_partition(DB, table, one))  # type: ignore[misc]
    timed("drop table", lambda: client.drop_table(DB, table))
