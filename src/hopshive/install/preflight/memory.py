"""Check of the hosts' memory against what the inventory places on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.install.preflight.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hopshive.install.preflight.host import HostInfo, Limits
    from hopshive.install.preflight.inventory import Inventory

# A JVM's memory as a multiple of its heap: class data, code cache, threads and direct buffers come on top.
HEAP_OVERHEAD = 1.3
# The variables of the sizes that are not a heap.
SIZES = {
    "containers": "cluster_nodemanager_memory_mb",
    "mariadb": "cluster_mariadb_buffer_pool_mb",
    "ndb_data": "cluster_ndb_data_memory_mb",
    "ndb_sql": "what is placed beside ndb_sql",
}
# MiB that a data node of NDB Cluster takes beside its rows, and an SQL node in all, measured in /proc.
NDB_DATA_OWN = 900
NDB_SQL = 600


def memory_need(inventory: Inventory, hosts: Iterable[str]) -> dict[str, int]:
    """The MiB that the hosts' daemons may take, by component, and `containers`; without daemons of unknown size."""
    need: dict[str, int] = {}

    def add(name: str, size: float) -> None:
        need[name] = need.get(name, 0) + round(size)

    for host in hosts:
        variables = inventory.hosts[host]
        placed = inventory.components_of(host)
        for name in placed:
            heap = variables.number(f"cluster_{name}_heap_mb")
            if heap is not None:
                add(name, heap * HEAP_OVERHEAD)
        if "namenode" in placed and len(inventory.members("namenode")) > 1:
            add("namenode", (variables.number("cluster_namenode_failover_heap_mb") or 0) * HEAP_OVERHEAD)
        if "nodemanager" in placed:
            add("containers", variables.number("cluster_nodemanager_memory_mb") or 0)
        if "mariadb" in placed:
            add("mariadb", variables.number("cluster_mariadb_buffer_pool_mb") or 0)
        if "ndb_data" in placed:
            add("ndb_data", (variables.number("cluster_ndb_data_memory_mb") or 0) + NDB_DATA_OWN)
        if "ndb_sql" in placed:
            add("ndb_sql", NDB_SQL)
    return need


def check_memory(inventory: Inventory, found: Mapping[str, HostInfo], limits: Limits) -> Iterator[Problem]:
    placements: list[tuple[str, Sequence[str], int]]
    if limits.shared_host:
        memory = max((info.memory_mb for info in found.values()), default=0)
        placements = [("The machine that all hosts share", sorted(inventory.hosts), memory)] if found else []
    else:
        placements = [(f"The host {host}", [host], info.memory_mb) for host, info in found.items()]
    for who, hosts, memory in placements:
        need = memory_need(inventory, hosts)
        total = sum(need.values())
        if memory and total > memory * limits.memory_ratio:
            parts = ", ".join(f"{name} {size}" for name, size in sorted(need.items(), key=lambda item: -item[1]))
            largest = max(need, key=lambda name: need[name])
            variable = SIZES.get(largest, f"cluster_{largest}_heap_mb")
            yield Problem(
                f"{who} has {memory} MiB of memory, but what is placed there may take {total} MiB ({parts}):"
                f" lower {variable}, move a component to another host, or raise preflight_memory_ratio"
                f" (now {limits.memory_ratio:g}) if they never use it all"
            )
