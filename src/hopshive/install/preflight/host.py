"""Checks of the hosts of a run against what the inventory places on them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hopshive.install.artifacts.python_env import LOCKED_PYTHONS
from hopshive.install.preflight.firewall import asks_for_nft, check_nft
from hopshive.install.preflight.inventory import Inventory, component_of, ports_of
from hopshive.install.preflight.memory import check_memory
from hopshive.install.preflight.problem import Problem, listed, merged
from hopshive.install.preflight.users import wanted_groups, wanted_users
from hopshive.services.components import COMPONENTS, ROOT_GROUP

SUPPORTED = {"debian": ("12",), "ubuntu": ("22.04", "24.04")}
# The architecture of the locked Python wheels, and the release of the JDK.
ARCHITECTURE = "x86_64"
JAVA_RELEASE = 17


@dataclass(frozen=True)
class Listener:
    """A listening TCP port and the process that holds it; pid 0 and empty names if the kernel does not say."""

    port: int
    pid: int = 0
    process: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Disk:
    """A file system: hopshive's paths on it, existing or not, and its free MiB."""

    paths: tuple[str, ...]
    free_mb: int


@dataclass(frozen=True)
class User:
    """A user on the host: its uid, None without such a user, and `holder`, the user that has the wanted uid."""

    name: str
    uid: int | None = None
    holder: str = ""


@dataclass(frozen=True)
class HostInfo:
    """What the module hopshive_host_info found on a host.

    `java_release` is None without an installed JDK. `python_version` is None if the interpreter does not exist, and
    empty if it does not run. `addresses` has those of each wanted name, none if the name does not resolve. `groups`
    has those wanted groups that exist.
    """

    distribution: str
    version: str
    memory_mb: int
    java_release: int | None = None
    disks: tuple[Disk, ...] = ()
    listeners: tuple[Listener, ...] = ()
    architecture: str = ""
    python_version: str | None = None
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    users: tuple[User, ...] = ()
    groups: tuple[str, ...] = ()
    # The user that Ansible is on the host; empty for root.
    entered_as: str = ""
    # Why the host takes no rules of nftables; empty if it takes them, None if it was not asked.
    firewall: str | None = None


@dataclass(frozen=True)
class Limits:
    """The role's limits: free MiB of a file system, share of a host's memory, whether all hosts share one machine."""

    disk_mb: int = 5120
    memory_ratio: float = 1.0
    shared_host: bool = False


def questions(inventory: Inventory, host: str) -> dict[str, object]:
    """The options that the module hopshive_host_info is run with on a host."""
    values = inventory.hosts[host].values
    return {
        "java_home": values.get("cluster_java_home", ""),
        "paths": [values.get(name, "/") for name in ("cluster_prefix", "cluster_data_dir")],
        "python": values.get("artifacts_python_interpreter", ""),
        "resolve": sorted({_address(inventory, other) for other in inventory.members(ROOT_GROUP)}),
        "users": wanted_users(inventory, host),
        "groups": wanted_groups(inventory, host),
        "firewall": asks_for_nft(inventory.hosts[host]),
    }


def _address(inventory: Inventory, host: str) -> str:
    return str(inventory.hosts[host].values.get("cluster_address") or host)


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
    python = found.get("python_version")
    addresses = found.get("addresses")
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
        architecture=str(found.get("architecture", "")),
        python_version=None if python is None else str(python),
        addresses={str(k): names(v) for k, v in addresses.items()} if isinstance(addresses, Mapping) else {},
        users=tuple(
            User(
                str(item.get("name")),
                None if item.get("uid") is None else integer(item.get("uid")),
                str(item.get("holder") or ""),
            )
            for item in items("users")
        ),
        groups=names(found.get("groups")),
        entered_as=str(found.get("entered_as") or ""),
        firewall=None if found.get("firewall") is None else str(found["firewall"]),
    )


def unanswered(found: Mapping[str, object]) -> str:
    """Why the module did not run on a host, in one line; empty if it did."""
    if "memory_mb" in found:
        return ""
    said = (str(found.get(name) or "").strip().splitlines() for name in ("module_stderr", "module_stdout", "msg"))
    return next((lines[-1].strip().rstrip(".") for lines in said if lines), "no answer")


def check_hosts(
    inventory: Inventory,
    types: Mapping[str, str],
    found: Mapping[str, HostInfo],
    limits: Limits,
    silent: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Every problem of the hosts of this run. `silent`: those that did not answer, and why."""
    silent = silent or {}
    problems = [
        Problem(
            f"The host {host} cannot be asked ({reason}): start the host, correct its name, or leave it out with --limit"
        )
        for host, reason in silent.items()
    ]
    problems += merged(
        (
            (f"Ansible is {info.entered_as} on {{hosts}}, and only root can install: set ansible_become to true", host)
            for host, info in found.items()
            if info.entered_as
        ),
        inventory.hosts,
    )
    for host, info in found.items():
        problems += _check_system(inventory, host, info)
        problems += _check_python(inventory, host, info)
        problems += _check_names(inventory, host, info, found, silent)
        problems += _check_users(inventory, host, info)
        problems += _check_disks(host, info, limits)
        problems += _check_listeners(inventory, types, host, info)
        problems += check_nft(host, info.firewall)
    return [*problems, *check_memory(inventory, found, limits)]


def _check_system(inventory: Inventory, host: str, info: HostInfo) -> Iterator[Problem]:
    if info.version not in SUPPORTED.get(info.distribution, ()):
        known = " or ".join(f"{name.capitalize()} {'/'.join(versions)}" for name, versions in SUPPORTED.items())
        runs = f"{info.distribution} {info.version}".strip() or "an unknown system"
        yield Problem(f"The host {host} runs {runs}: this version installs on {known}")
    if info.architecture != ARCHITECTURE:
        yield Problem(
            f"The host {host} is {info.architecture or 'an unknown machine'}, but the locked Python packages and the"
            f" default of cluster_java_home are for {ARCHITECTURE}: use a host of that architecture"
        )
    if info.java_release not in (None, JAVA_RELEASE):
        home = inventory.hosts[host].values.get("cluster_java_home", "")
        yield Problem(
            f"cluster_java_home ({home}) on host {host} holds a JDK {info.java_release}: name a JDK of release"
            f" {JAVA_RELEASE}, or leave the variable unset, and the role installs one"
        )


def _check_python(inventory: Inventory, host: str, info: HostInfo) -> Iterator[Problem]:
    variables = inventory.hosts[host]
    wanted = str(variables.values.get("artifacts_python_version", ""))
    which = f"artifacts_python_interpreter ({variables.values.get('artifacts_python_interpreter', '')})"
    install = f"install the packages python{wanted} and python{wanted}-venv there"
    if info.python_version is None:
        # The role common installs the default interpreter.
        if "artifacts_python_interpreter" in variables.given:
            yield Problem(
                f"{which} does not exist on host {host}: {install} and set the variable to /usr/bin/python{wanted}"
            )
    elif not info.python_version:
        yield Problem(f"{which} on host {host} does not run as a Python: set it to a Python {wanted} of that host")
    elif info.python_version != wanted:
        cure = f"set artifacts_python_interpreter to a Python {wanted} of that host ({install} if it has none)"
        if info.python_version in LOCKED_PYTHONS:
            cure = (
                f"set artifacts_python_version to {info.python_version}, or artifacts_python_interpreter to a Python"
                f" {wanted} of that host"
            )
        yield Problem(
            f"{which} on host {host} is Python {info.python_version}, but artifacts_python_version is {wanted}: {cure}"
        )


def _check_names(
    inventory: Inventory, host: str, info: HostInfo, run: Iterable[str], silent: Iterable[str]
) -> Iterator[Problem]:
    unknown = {name for name, addresses in info.addresses.items() if not addresses}
    # A host that does not answer has a problem of its own.
    unknown -= {_address(inventory, other) for other in silent}
    taking_part = {_address(inventory, other) for other in run}
    if unknown & taking_part:
        yield Problem(
            f"The host {host} cannot resolve {listed(unknown, most=20)}: add the missing names to the DNS or to its"
            " /etc/hosts, or set cluster_address of these hosts to names that every host resolves"
        )
    elif unknown:
        # The name of a host that is down may be unknown too, and --limit serves to work on the others.
        yield Problem(
            f"The host {host} cannot resolve {listed(unknown, most=20)}, which this run does not touch (--limit)"
            + (": the rules of cluster_firewall need its address" if asks_for_nft(inventory.hosts[host]) else ""),
            warning=not asks_for_nft(inventory.hosts[host]),
        )
    own = _address(inventory, host)
    loopback = [address for address in info.addresses.get(own, ()) if ipaddress.ip_address(address).is_loopback]
    if loopback:
        yield Problem(
            f"The host {host} resolves its own cluster_address ({own}) to {listed(loopback)}, where no other host"
            " reaches its services: in its /etc/hosts, remove the name from that line and give the name the host's address"
        )


def _check_users(inventory: Inventory, host: str, info: HostInfo) -> Iterator[Problem]:
    variables = inventory.hosts[host]
    if not variables.true("cluster_manage_users"):
        missing = [f"the user {user.name}" for user in info.users if user.uid is None]
        missing += [f"the group {name}" for name in wanted_groups(inventory, host) if name not in info.groups]
        if missing:
            yield Problem(
                f"The host {host} lacks {', '.join(missing)}, and cluster_manage_users is false: create them there; or name"
                " existing ones in cluster_users, cluster_group and cluster_warehouse_group (its members are hive"
                " and the users of cluster_job_users); or set cluster_manage_users to true"
            )
        return
    wanted = wanted_users(inventory, host)
    unlike = []
    group = variables.values.get("cluster_warehouse_group")
    if isinstance(group, Mapping) and group.get("gid") in wanted.values():
        unlike.append(f"the gid {group['gid']} of cluster_warehouse_group is that of a user's own group")
    for user in info.users:
        uid = wanted.get(user.name)
        if uid is None:
            continue
        if user.uid not in (None, uid):
            unlike.append(f"the user {user.name} has the uid {user.uid} and not {uid}")
        if user.holder not in ("", user.name):
            unlike.append(f"the uid {uid} of {user.name} is taken by {user.holder}")
    if unlike:
        yield Problem(
            f"On host {host} {', '.join(unlike)}: set uids in cluster_users that fit or are free on every host, or"
            " create the users yourself and set cluster_manage_users to false"
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
    # A unit of this host's components may hold its port already. A unit of a component that left the host may not.
    ours = {f"{unit}.service" for name in inventory.components_of(host) for unit in COMPONENTS[name].units}
    gone = {
        f"{unit}.service": c.group for c in COMPONENTS.values() for unit in c.units if f"{unit}.service" not in ours
    }
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
        cure = f"set {variable} to a free port, or stop that process"
        if listener.unit in gone:
            cure = f"the host is no longer in the group {gone[listener.unit]}, so stop and disable that unit"
        yield Problem(f"The port {listener.port} of the {component} on host {host} is taken by {who}: {cure}")
