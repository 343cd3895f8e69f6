"""The faults: each is bounded in time and undone, whatever comes of it."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.warehouse.hosts import ROOT, CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.faults.site import Site
    from tests.warehouse.hosts import Host

# How long a process is frozen, a host is away, a network is parted, in seconds.
FROZEN = 60.0
AWAY = 45.0
# hopshive's user on the hosts (cluster_users).
CLEANER_UID = 1516


@dataclass(frozen=True)
class Fault:
    """`cause` breaks something, waits, and undoes it; it returns what was broken, for the table.

    `bounds` are, by client, the longest time in seconds in which no call of it may succeed; `failures` tells whether calls may
    fail after the clients' own retries. `short` ones make up the short form.
    """

    name: str
    cause: Callable[[Site], str]
    needs: tuple[str, ...] = ()
    bounds: tuple[tuple[str, float], ...] = (("spark", 30.0), ("hive", 30.0), ("hdfs", 30.0))
    failures: bool = True
    short: bool = False


def _chosen(site: Site, component: str) -> Host:
    """The replica that leads where one does, else the first one."""
    if component in ("namenode", "resourcemanager", "cleaner", "zookeeper"):
        return site.active(component)
    return site.lab.one(component)


def _kill(component: str) -> Callable[[Site], str]:
    def cause(site: Site) -> str:
        host = _chosen(site, component)
        site.service(component, host).kill()
        return host.name

    return cause


def _freeze(component: str, seconds: float = FROZEN) -> Callable[[Site], str]:
    def cause(site: Site) -> str:
        host = _chosen(site, component)
        service = site.service(component, host)
        service.pause()
        try:
            time.sleep(seconds)
        finally:
            # A watchdog may have ended it; the one that was started since is not frozen.
            with suppress(CommandError):
                service.resume()
        return host.name

    return cause


def _part(ports: Sequence[int], group: str) -> Callable[[Site], str]:
    """Nothing that the leading cleaner sends to those ports arrives, nor any answer."""

    def cause(site: Site) -> str:
        host = site.active("cleaner")
        owner = ("-m", "owner", "--uid-owner", str(CLEANER_UID), "-j", "DROP")
        rules = [
            ["OUTPUT", "-p", "tcp", "-d", other.address, "--dport", str(port), *owner]
            for other in site.lab.group(group)
            for port in ports
        ]
        added = []
        try:
            for rule in rules:
                _netns(host, "iptables", "-I", *rule)
                added.append(rule)
            time.sleep(AWAY)
        finally:
            for rule in added:
                _netns(host, "iptables", "-D", *rule)
        return host.name

    return cause


def _netns(host: Host, *command: str) -> None:
    """Run a command of the controller in a container's network."""
    pid = _docker("inspect", "--format", "{{.State.Pid}}", host.name).strip()
    subprocess.run(
        ["nsenter", "--target", pid, "--net", *command], check=True, capture_output=True, text=True, timeout=30
    )


def _docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True, timeout=120).stdout


def _host_gone(site: Site) -> str:
    """The host with the most that leads."""
    host = site.active("namenode")
    _docker("kill", host.name)
    try:
        time.sleep(AWAY)
    finally:
        _docker("start", host.name)
    return host.name


def _all_gone(site: Site) -> str:
    names = list(site.lab.hosts)
    _docker("kill", *names)
    try:
        time.sleep(5)
    finally:
        _docker("start", *names)
    return ", ".join(names)


def _roll(component: str) -> Callable[[Site], str]:
    def cause(site: Site) -> str:
        inventory = site.lab.inventory.parent
        subprocess.run(
            [".venv/bin/ansible-playbook", "-i", str(inventory), "playbooks/rolling_restart.yml", "-e", f"component={component}"],
            cwd=ROOT, check=True, capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        return ", ".join(site.lab.groups[component])

    return cause


METASTORE = (("spark", 5.0), ("hive", 30.0), ("hdfs", 30.0))
# Everything is away for as long as hosts need to start: nothing is promised but that all of it comes back.
ANY = (("spark", 600.0), ("hive", 600.0), ("hdfs", 600.0))


def catalogue() -> Iterator[Fault]:
    """Every fault, in the order in which they are caused."""
    components = ("metastore", "server2", "ndb_sql", "ndb_data", "namenode", "resourcemanager", "zookeeper", "cleaner")
    for component in components:
        bounds = METASTORE if component == "metastore" else Fault.bounds
        yield Fault(f"kill -9 of {component}", _kill(component), (component,), bounds, short=component == "namenode")
    for component in components:
        bounds = METASTORE if component == "metastore" else Fault.bounds
        yield Fault(f"{component} frozen for {FROZEN:.0f} s", _freeze(component), (component,), bounds)
    yield Fault("metastore frozen for 15 s", _freeze("metastore", 15), ("metastore",), METASTORE, short=True)
    yield Fault("cleaner parted from the database", _part([3306], "mariadb"), ("mariadb", "cleaner"))
    yield Fault("cleaner parted from the database", _part([3306], "ndb_sql"), ("ndb_sql", "cleaner"))
    yield Fault("cleaner parted from the NameNodes", _part([8020], "namenode"), ("cleaner",))
    yield Fault("host gone and back", _host_gone, short=True)
    for component in ("metastore", "ndb_sql", "ndb_data"):
        yield Fault(
            f"rolling restart of {component}",
            _roll(component),
            (component,),
            failures=False,
            short=component == "metastore",
        )
    yield Fault("all hosts gone at once", _all_gone, (), ANY, short=True)
