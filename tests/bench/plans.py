"""How long HiveServer2 takes to plan queries of TPC-DS: EXPLAIN, with metadata and statistics out of the metastore."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING

from tests.bench.measurement import Measurement
from tests.bench.sites import MARIADB, NDB
from tests.bench.tpcds import DB, QUERIES, make, read_queries, read_tables

if TYPE_CHECKING:
    from tests.bench.rig import Rig
    from tests.bench.sites import Site
    from tests.bench.tpcds import Table
    from tests.warehouse.hiveserver2 import HiveSession

# Rounds of each database, by the number of clients; in a round each client plans each query once.
ROUNDS = {1: 6, 4: 2, 16: 2}
# Rounds of four clients before anything is measured, until the JVMs have compiled what they run.
WARM = 2
# The first line of each plan: made by cost, from statistics.
PLANNED = "Plan optimized by CBO"
# NDB's time in times of MariaDB's.
TARGETS = {1: 1.3, 16: 1.0}

# Seconds of each plan, by its query.
Times = dict[int, list[float]]


def measure(rig: Rig, sites: list[Site], days: int, scale: float) -> list[Measurement]:
    """Seconds for each query on each database, and how they compare. Databases take turns: A, B, B, A ..."""
    queries = read_queries()
    tables = read_tables(days)
    times: dict[tuple[str, int], Times] = {}
    with ExitStack() as stack:
        ports = {site.name: _start(rig, stack, site, tables) for site in sites}
        sessions = {
            site.name: [stack.enter_context(site.session(ports[site.name])) for _ in range(max(ROUNDS))]
            for site in sites
        }
        for site in sites:
            for _ in range(max(1, round(WARM * scale))):
                _round(sessions[site.name][:4], queries, {})
        for clients, rounds in ROUNDS.items():
            for turn in range(max(1, round(rounds * scale))):
                for site in sites if turn % 2 == 0 else reversed(sites):
                    _round(sessions[site.name][:clients], queries, times.setdefault((site.name, clients), {}))
    return _measurements(times)


def _start(rig: Rig, stack: ExitStack, site: Site, tables: list[Table]) -> int:
    """A metastore with the tables of TPC-DS, and a HiveServer2; its port."""
    metastore = stack.enter_context(site.metastore_server(0))
    port = stack.enter_context(site.server2(metastore))
    with site.session(port) as session, rig.client(metastore) as client:
        make(session, client, tables, f"{rig.uri}/warehouse/{site.name}/external/{DB}.db")
    return port


def _round(sessions: list[HiveSession], queries: dict[int, str], times: Times) -> None:
    """Each session plans each query, all sessions at a time, each beginning with another query."""
    failures: list[Exception] = []
    lock = threading.Lock()

    def work(number: int, session: HiveSession) -> None:
        try:
            session.execute(f"USE {DB}")
            at = number * len(QUERIES) // len(sessions)
            for query in QUERIES[at:] + QUERIES[:at]:
                began = time.perf_counter()
                plan = session.execute(f"EXPLAIN {queries[query]}")
                taken = time.perf_counter() - began
                if PLANNED not in str(plan[0][0]):
                    raise ValueError(f"query {query} was not planned as the others: {plan[:5]}")
                with lock:
                    times.setdefault(query, []).append(taken)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number, one)) for number, one in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _measurements(times: dict[tuple[str, int], Times]) -> list[Measurement]:
    found: list[Measurement] = []
    for clients in dict.fromkeys(number for _, number in times):
        medians = {
            name: {query: median(values) for query, values in times[name, clients].items()} for name in (MARIADB, NDB)
        }
        for query in QUERIES:
            for name in (MARIADB, NDB):
                found.append(
                    Measurement(f"- plan of query {query}, clients {clients}, {name}", medians[name][query], "s")
                )
        for name in (MARIADB, NDB):
            every = [value for values in times[name, clients].values() for value in values]
            found.append(
                Measurement(f"plan, clients {clients}, {name}: median of the nine queries", median(every), "s")
            )
        ratio = median(medians[NDB][query] / medians[MARIADB][query] for query in QUERIES)
        what = f"plan, clients {clients}: NDB in times of MariaDB, median of the nine ratios"
        found.append(Measurement(what, ratio, "x", TARGETS.get(clients)))
    return found
