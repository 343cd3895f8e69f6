"""Checks of the hosts of a run against what the inventory places on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.components import COMPONENTS
from hopshive.preflight.inventory import Inventory, component_of, ports_of
from hopshive.preflight.problem import Problem, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SUPPORTED = {"debian": ("12",), "ubuntu": ("22.04", "24.04")}
JAVA_RELEASE = 17
# Of a JVM's memory beyond its heap: class data, code cache, threads, direct buffers.
HEAP_OVERHEAD = 1.3


@dataclass(frozen=True)
class Listener:
    """A listening TCP port and who holds it; pid 0 and empty names where the kernel did not tell."""

    port: int
    pid: int = 0
    process: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Disk:
    """A file system: the paths of ours that it holds or will hold, and its free MiB."""

    paths: tuple[str, ...]
    free_mb: int


@dataclass(frozen=True)
class HostInfo:
    """What the module hopshive_host_info found on a host; `java_release` is None where no JDK is installed yet."""

    distribution: str
    version: str
    memory_mb: int
    java_release: int | None = None
    disks: tuple[Disk, ...] = ()
    listeners: tuple[Listener, ...] = ()


@dataclass(frozen=True)
class Limits:
    """The role's variables: free MiB of a file system, share of a host's memory, whether all hosts are one machine."""

    disk_mb: int = 5120
    memory_ratio: float = 1.0
    shared_host: bool = False


def host_info(found: Mapping[str, object]) -> HostInfo:
    """What the module returned, as a value."""

    def items(name: str) -> list[dict[str, object]]:
        value = found.get(name)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def integer(value: object) -> int:
        return int(str(value or 0))

    def names(value: object) -> tuple[str, ...]:
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    release = found.get("java_release")
    return HostInfo(
        distribution=str(found.get("distribution", "")),
        version=str(found.get("version", "")),
        memory_mb=integer(found.get("memory_mb")),
        java_release=None if release is None else integer(release),
        disks=tuple(Disk(names(item.get("paths")), integer(item.get("free_mb"))) for item in items("disks")),
        listeners=tuple(
            Listener(
                integer(item.get("port")),
                integer(item.get("pid")),
                str(item.get("process") or ""),
                str(item.get("unit") or ""),
            )
            for item in items("listeners")
        ),
    )


def check_hosts(
    inventory: Inventory, types: Mapping[str, str], found: Mapping[str, HostInfo], limits: Limits
) -> list[Problem]:
    """Every problem of the hosts of this run."""
    problems: list[Problem] = []
    for host, info in found.items():
        problems += _check_system(inventory, host, info)
        problems += _check_disks(host, info, limits)
        problems += _check_listeners(inventory, types, host, info)
    return [*problems, *_check_memory(inventory, found, limits)]


def memory_need(inventory: Inventory, hosts: Iterable[str]) -> dict[str, int]:
    """The MiB that the hosts' daemons may take, by component, and their `containers`; what has no size is left out."""
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
        if "nodemanager" in placed:
            add("containers", variables.number("cluster_nodemanager_memory_mb") or 0)
        if "mariadb" in placed:
            add("mariadb", variables.number("cluster_mariadb_buffer_pool_mb") or 0)
    return need


def _check_memory(inventory: Inventory, found: Mapping[str, HostInfo], limits: Limits) -> Iterator[Problem]:
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
            variable = "cluster_nodemanager_memory_mb" if "containers" in need else "the cluster_*_mb of its groups"
            yield Problem(
                f"{who} has {memory} MiB of memory, but what is placed there may take {total} MiB ({parts}):"
                f" lower {variable}, move a component to another host, or raise preflight_memory_ratio"
                f" (now {limits.memory_ratio:g}) if they never use it all"
            )


def _check_system(inventory: Inventory, host: str, info: HostInfo) -> Iterator[Problem]:
    if info.version not in SUPPORTED.get(info.distribution, ()):
        known = " or ".join(f"{name.capitalize()} {'/'.join(versions)}" for name, versions in SUPPORTED.items())
        runs = f"{info.distribution} {info.version}".strip() or "an unknown system"
        yield Problem(f"The host {host} runs {runs}: this version installs on {known}")
    if info.java_release not in (None, JAVA_RELEASE):
        home = inventory.hosts[host].values.get("cluster_java_home", "")
        yield Problem(
            f"cluster_java_home ({home}) on host {host} holds a JDK {info.java_release}: name one of release"
            f" {JAVA_RELEASE}, or leave the variable unset and it is installed"
        )


def _check_disks(host: str, info: HostInfo, limits: Limits) -> Iterator[Problem]:
    for disk in info.disks:
        if disk.free_mb < limits.disk_mb:
            yield Problem(
                f"The host {host} has {disk.free_mb} MiB free for {listed(disk.paths)}, fewer than preflight_disk_mb"
                f" ({limits.disk_mb}): make room, set cluster_prefix and cluster_data_dir to a larger disk, or lower"
                " preflight_disk_mb"
            )


def _check_listeners(inventory: Inventory, types: Mapping[str, str], host: str, info: HostInfo) -> Iterator[Problem]:
    # A unit of ours may still hold a port that this run takes from it; one that was moved away from the host may not.
    ours = {f"{COMPONENTS[name].unit}.service" for name in inventory.components_of(host) if COMPONENTS[name].unit}
    gone = {f"{c.unit}.service": c.group for c in COMPONENTS.values() if c.unit and f"{c.unit}.service" not in ours}
    wanted = {port: name for name, port in ports_of(inventory, host, types).items()}
    told = set()
    for listener in info.listeners:
        if listener.port not in wanted or listener.unit in ours or listener.port in told:
            continue
        told.add(listener.port)
        variable = wanted[listener.port]
        component = component_of(variable, "port")
        who = f"process {listener.process or 'of another user or container'}"
        details = [f"pid {listener.pid}"] if listener.pid else []
        details += [f"unit {listener.unit}"] if listener.unit else []
        if details:
            who += f" ({', '.join(details)})"
        cure = f"set {variable} to a free port, or stop it"
        if listener.unit in gone:
            cure = f"the host is no longer in the group {gone[listener.unit]}, so stop and disable that unit"
        yield Problem(f"The port {listener.port} of the {component} on host {host} is taken by {who}: {cure}")
