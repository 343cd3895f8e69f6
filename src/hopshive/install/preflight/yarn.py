"""Checks of what an inventory needs of YARN: containers, Tez sessions, queues with their shares, Spark's executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hopshive.install.preflight.inventory import HostVariables, Inventory
from hopshive.install.preflight.problem import Problem, listed, merged
from hopshive.install.preflight.queues import PREFIX, Queue, called, capacity_faults, leaf_queues

COMPACTION_QUEUE = "server2_compaction_queue"
# YARN preempts a queue only if it is more than this part above its share.
UNTOUCHED = 0.1
# An executor's overhead beside its memory (spark.executor.memoryOverheadFactor and its minimum).
SPARK_OVERHEAD = 0.1
SPARK_LEAST_OVERHEAD_MB = 384


def check_spark(inventory: Inventory) -> Iterator[Problem]:
    """Spark's queue exists, and its executors fit into a container: otherwise YARN refuses each job."""
    scheduler = next(iter(inventory.members("resourcemanager")), None)
    if scheduler is None:
        return
    properties = inventory.hosts[scheduler].values.get("resourcemanager_queues")
    queues = leaf_queues(properties) if isinstance(properties, Mapping) else ()
    most = inventory.hosts[scheduler].number("cluster_container_max_mb")
    findings = []
    for host in inventory.members("client"):
        variables = inventory.hosts[host]
        defaults = variables.values.get("spark_defaults_extra")
        queue = defaults.get("spark.yarn.queue") if isinstance(defaults, Mapping) else None
        if queue and queues and called(queues, str(queue)) is None:
            known = ", ".join(one.path for one in queues)
            findings.append(
                (
                    f"spark_defaults_extra names the queue {queue!r} for {{hosts}}, but resourcemanager_queues has {known}",
                    host,
                )
            )
        size = variables.number("spark_executor_memory_mb")
        overhead = isinstance(defaults, Mapping) and any("memoryOverhead" in str(name) for name in defaults)
        if size is not None and most is not None and "spark_executor_memory_mb" in variables.given and not overhead:
            whole = size + max(round(size * SPARK_OVERHEAD), SPARK_LEAST_OVERHEAD_MB)
            if whole > most:
                findings.append(
                    (
                        f"spark_executor_memory_mb is {size} on {{hosts}}, {whole} MiB with its overhead, more than one container"
                        f" may have (cluster_container_max_mb, {most} MiB): lower the former, or raise the latter",
                        host,
                    )
                )
    yield from merged(findings, inventory.hosts)


def check_containers(inventory: Inventory) -> Iterator[Problem]:
    """The largest container fits a NodeManager: the ResourceManager grants it, and it would wait for ever."""
    offers = {
        host: offer
        for host in inventory.members("nodemanager")
        if (offer := inventory.hosts[host].number("cluster_nodemanager_memory_mb")) is not None
    }
    for scheduler in inventory.members("resourcemanager")[:1]:
        variables = inventory.hosts[scheduler]
        most = variables.number("cluster_container_max_mb")
        least = variables.number("cluster_container_min_mb")
        if most is None:
            continue
        if offers and most > max(offers.values()):
            yield Problem(
                f"cluster_container_max_mb is {most} MiB on {scheduler}, but no NodeManager offers more than"
                f" {max(offers.values())} MiB: lower the former, or raise cluster_nodemanager_memory_mb; set both for all hosts"
            )
        if least is not None and least > most:
            yield Problem(f"cluster_container_min_mb ({least} MiB) is above cluster_container_max_mb ({most} MiB)")
        findings = []
        for host in sorted({host for name in ("server2", "client") for host in inventory.members(name)}):
            for name in ("cluster_tez_container_mb", "cluster_tez_am_mb"):
                size = inventory.hosts[host].number(name)
                if size is not None and size > most:
                    findings.append(
                        (
                            f"{name} is {size} MiB on {{hosts}}, more than one container may have"
                            f" (cluster_container_max_mb, {most} MiB): lower the former, or raise the latter",
                            host,
                        )
                    )
        yield from merged(findings, inventory.hosts)


def check_sessions(inventory: Inventory) -> Iterator[Problem]:
    """Application masters of Tez sessions leave room for tasks: each HiveServer2 holds them from its start."""
    need = 0
    parts = []
    for host in inventory.members("server2"):
        variables = inventory.hosts[host]
        sessions = variables.number("server2_tez_sessions_per_queue")
        queues = variables.values.get("server2_tez_queues")
        size = variables.number("cluster_tez_am_mb")
        if sessions is None or size is None or not isinstance(queues, list | tuple):
            return
        need += sessions * len(queues) * size
        parts.append(f"{host}: {sessions} x {len(queues)} x {size}")
    offer = _container_memory(inventory)
    if offer and need > offer / 2:
        yield Problem(
            f"The Tez sessions of server2 hold {need} MiB of application masters (server2_tez_sessions_per_queue x"
            f" server2_tez_queues x cluster_tez_am_mb; {listed(parts)}), more than half of the {offer} MiB that all"
            " NodeManagers offer: lower server2_tez_sessions_per_queue or cluster_tez_am_mb, or raise"
            " cluster_nodemanager_memory_mb"
        )


def _container_memory(inventory: Inventory) -> int:
    """The memory that all NodeManagers offer to containers, in MiB."""
    offers = (
        inventory.hosts[host].number("cluster_nodemanager_memory_mb") for host in inventory.members("nodemanager")
    )
    return sum(offer or 0 for offer in offers)


def check_queues(inventory: Inventory) -> Iterator[Problem]:
    """Each queue that a variable names exists, and capacities add up: otherwise the ResourceManager does not start."""
    for scheduler in inventory.members("resourcemanager")[:1]:
        properties = inventory.hosts[scheduler].values.get("resourcemanager_queues")
        if not isinstance(properties, Mapping):
            continue
        for fault in capacity_faults(properties):
            yield Problem(f"The ResourceManager would not start with resourcemanager_queues of {scheduler}: {fault}")
        queues = leaf_queues(properties)
        yield from _check_queue_names(inventory, queues, scheduler)
        yield from _check_shares(inventory, queues)


def _check_queue_names(inventory: Inventory, queues: Sequence[Queue], scheduler: str) -> Iterator[Problem]:
    unknown: dict[tuple[str, str], list[str]] = {}
    for host in inventory.members("server2"):
        for variable, name in _queues_of(inventory.hosts[host]):
            if called(queues, name) is None:
                unknown.setdefault((variable, name), []).append(host)
    known = ", ".join(queue.path for queue in queues) or "none"
    for (variable, name), hosts in unknown.items():
        yield Problem(
            f"{variable} names the queue {name!r} for {listed(hosts)}, but resourcemanager_queues of {scheduler} has no such"
            f" leaf queue (it has {known}): add the queue there, with a capacity that others give up, or name one of these"
        )


def _check_shares(inventory: Inventory, queues: Sequence[Queue]) -> Iterator[Problem]:
    """A queue's share has room for the application masters in it: with busy queues, more would wait."""
    offer = _container_memory(inventory)
    for queue in queues:
        pools = _masters(inventory, queues, queue, "server2_tez_queues")
        compactions = _masters(inventory, queues, queue, COMPACTION_QUEUE)
        if pools and compactions:
            yield Problem(
                f"Compactions run in the queue {queue.path} ({COMPACTION_QUEUE}), as the sessions of server2 do"
                " (server2_tez_queues): while queries take all containers, no compaction ends. Give compactions another queue",
                warning=True,
            )
        if not offer or queue.share is None:
            continue
        share = queue.share * offer
        most = queue.masters * share
        need = sum(number * size for _, number, size in [*pools, *compactions])
        parts = listed(f"{host}: {number} x {size}" for host, number, size in [*pools, *compactions])
        if need > most + 1:
            yield Problem(
                f"server2 holds {need} MiB of application masters ({parts}) in the queue {queue.path}, whose share has room for"
                f" {most:.0f} MiB: while other queues use their shares, some of the masters wait. Raise"
                f" {PREFIX}{queue.path}.capacity or .maximum-am-resource-percent in resourcemanager_queues,"
                " or lower the number of sessions and workers",
                warning=True,
            )
        task = max(
            (inventory.hosts[host].number("cluster_tez_container_mb") or 0 for host, _, _ in compactions), default=0
        )
        back = share - UNTOUCHED * (offer - share)
        if compactions and not pools and need + task > back + 1:
            yield Problem(
                f"Compactions need {need + task} MiB in the queue {queue.path}: application masters ({parts}) and a task"
                f" (cluster_tez_container_mb). YARN brings back {back:.0f} of the {offer} MiB that all NodeManagers offer, so"
                f" some wait while queries take all containers: raise {PREFIX}{queue.path}.capacity in"
                " resourcemanager_queues, or lower server2_compactor_workers",
                warning=True,
            )


def _masters(inventory: Inventory, queues: Sequence[Queue], queue: Queue, variable: str) -> list[tuple[str, int, int]]:
    """The application masters in a queue that `variable` names: HiveServer2's host, their number, MiB of each."""
    number = "server2_compactor_workers" if variable == COMPACTION_QUEUE else "server2_tez_sessions_per_queue"
    found = []
    for host in inventory.members("server2"):
        variables = inventory.hosts[host]
        size = variables.number("cluster_tez_am_mb") or 0
        for by, name in _queues_of(variables):
            if by == variable and called(queues, name) == queue:
                found.append((host, variables.number(number) or 0, size))
    return found


def _queues_of(variables: HostVariables) -> Iterator[tuple[str, str]]:
    """The queues that a HiveServer2 uses, each after the variable that names it."""
    if variables.number("server2_compactor_workers"):
        yield COMPACTION_QUEUE, str(variables.values.get(COMPACTION_QUEUE))
    pools = variables.values.get("server2_tez_queues")
    if isinstance(pools, list | tuple):
        yield from (("server2_tez_queues", str(name)) for name in pools)
