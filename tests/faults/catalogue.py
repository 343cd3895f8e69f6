"""The faults: each is bounded in time and undone, whatever comes of it."""

from __future__ import annotations

import functools
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.services import health
from tests.faults import told
from tests.faults.disk import SMALL, small_disk
from tests.faults.site import NAMENODE_RPC, PORTS
from tests.warehouse.hosts import ROOT, CommandError
from tests.warehouse.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.faults.site import Site
    from tests.warehouse.hosts import Host, Lab

# How long a process is frozen, a host is away, a network is parted, in seconds.
FROZEN = 60.0
AWAY = 45.0
# Bytes that are left first on a disk that runs full: fewer than a NameNode keeps free (dfs.namenode.resource.du.reserved).
LOW = 64 << 20
# Seconds for what was told before to be told again; in which a service answers after a start.
AGAIN = 10.0
ANSWERS = 180.0
# Until application masters of a HiveServer2 that was restarted have ended (tez.am.client.heartbeat.timeout.secs), in seconds.
ORPHANED = 70.0
# Where the roles keep what is written, by component.
DIRECTORIES = {
    "datanode": "/var/lib/hopshive/datanode/data",
    "journalnode": "/var/lib/hopshive/journalnode/edits",
    "namenode": "/var/lib/hopshive/namenode/name",
}
ZKFC = "hadoop-hdfs-zkfc"
# hopshive's user on the hosts (cluster_users).
CLEANER_UID = 1516


@dataclass(frozen=True)
class Outcome:
    """What was broken, for the table, and what did not hold while it was, in words."""

    where: str
    broken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """`cause` breaks something, waits, and undoes it.

    `prepare` is called before, while no client works. `bounds` are, by client, the longest time in seconds in which no call of it
    may succeed; `failures` tells whether calls may fail after the clients' own retries. It is for labs that have all groups of
    `needs` and none of `lacks`. `short` ones make up the short form.
    """

    name: str
    cause: Callable[[Site], Outcome]
    needs: tuple[str, ...] = ()
    bounds: tuple[tuple[str, float], ...] = (("spark", 30.0), ("hive", 30.0), ("hdfs", 30.0))
    failures: bool = True
    short: bool = False
    lacks: tuple[str, ...] = ()
    prepare: Callable[[Site], None] | None = None

    def fits(self, lab: Lab) -> bool:
        """Whether a lab has what it takes."""
        return all(lab.group(group) for group in self.needs) and not any(lab.group(group) for group in self.lacks)


def _chosen(site: Site, component: str) -> Host:
    """The replica that leads where one does, else the first one."""
    if component in ("namenode", "resourcemanager", "cleaner", "zookeeper"):
        return site.active(component)
    return site.lab.one(component)


def _kill(component: str) -> Callable[[Site], Outcome]:
    def cause(site: Site) -> Outcome:
        host = _chosen(site, component)
        site.service(component, host).kill()
        return Outcome(host.name)

    return cause


def _freeze(component: str, seconds: float = FROZEN) -> Callable[[Site], Outcome]:
    def cause(site: Site) -> Outcome:
        host = _chosen(site, component)
        service = site.service(component, host)
        service.pause()
        try:
            time.sleep(seconds)
        finally:
            # A watchdog may have ended it; the one that was started since is not frozen.
            with suppress(CommandError):
                service.resume()
        return Outcome(host.name)

    return cause


def _part(ports: Sequence[int], group: str) -> Callable[[Site], Outcome]:
    """Nothing that the leading cleaner sends to those ports arrives, nor any answer."""

    def cause(site: Site) -> Outcome:
        host = site.active("cleaner")
        with parted(host, CLEANER_UID, [(other.address, port) for other in site.lab.group(group) for port in ports]):
            time.sleep(AWAY)
        return Outcome(host.name)

    return cause


@contextmanager
def parted(host: Host, uid: int, to: Iterable[tuple[str, int]]) -> Iterator[None]:
    """What a user of a host sends to those addresses and ports is lost."""
    added: list[list[str]] = []
    try:
        for address, port in to:
            rule = ["OUTPUT", "-p", "tcp", "-d", address, "--dport", str(port)]
            rule += ["-m", "owner", "--uid-owner", str(uid), "-j", "DROP"]
            netns(host, "iptables", "-I", *rule)
            added.append(rule)
        yield
    finally:
        for rule in added:
            netns(host, "iptables", "-D", *rule)


def netns(host: Host, *command: str) -> None:
    """Run a command of the controller in a container's network."""
    pid = _docker("inspect", "--format", "{{.State.Pid}}", host.name).strip()
    subprocess.run(
        ["nsenter", "--target", pid, "--net", *command], check=True, capture_output=True, text=True, timeout=30
    )


def _docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True, timeout=120).stdout


def _host_gone(site: Site) -> Outcome:
    """The host with the most that leads."""
    host = site.active("namenode")
    _away(host)
    return Outcome(host.name)


def _away(host: Host) -> None:
    _docker("kill", host.name)
    try:
        time.sleep(AWAY)
    finally:
        _docker("start", host.name)


def _gather(site: Site) -> None:
    """A host that costs most when it is lost: active NameNode and ResourceManager, and another HiveServer2's application master.

    That one is started again while no other NodeManager is there to run it.
    """
    host = _gathered(site)
    active = site.active("resourcemanager")
    if active != host:
        site.service("resourcemanager", active).restart()
        if not comes(lambda: site.active("resourcemanager") == host, ANSWERS):
            raise health.NoAnswer(f"the ResourceManager of {host.name} did not become active within {ANSWERS:.0f} s")
    before = site.masters()
    others = [site.service("nodemanager", other) for other in site.lab.group("nodemanager") if other != host]
    try:
        for other in others:
            other.stop()
        site.service("server2", next(one for one in site.lab.group("server2") if one != host)).restart()
        if not comes(lambda: bool(site.masters() - before), ANSWERS):
            raise health.NoAnswer(f"no application master began on {host.name} within {ANSWERS:.0f} s")
    finally:
        for other in others:
            other.start()
    site.wait_healthy(ANSWERS)
    if site.active("namenode") != host:
        _make_active(site, host)
    time.sleep(ORPHANED)


def _gathered(site: Site) -> Host:
    groups = [site.lab.group(group) for group in ("resourcemanager", "nodemanager")]
    return next(host for host in site.lab.group("namenode") if all(host in group for group in groups))


def _gathered_gone(site: Site) -> Outcome:
    host = _gathered(site)
    _away(host)
    return Outcome(host.name)


def _all_gone(site: Site) -> Outcome:
    names = list(site.lab.hosts)
    _docker("kill", *names)
    try:
        time.sleep(5)
    finally:
        _docker("start", *names)
    return Outcome(", ".join(names))


def _roll(component: str) -> Callable[[Site], Outcome]:
    def cause(site: Site) -> Outcome:
        inventory = site.lab.inventory.parent
        subprocess.run(
            [".venv/bin/ansible-playbook", "-i", str(inventory), "playbooks/rolling_restart.yml", "-e", f"component={component}"],
            cwd=ROOT, check=True, capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        return Outcome(", ".join(site.lab.groups[component]))

    return cause


def _kill_rolled(site: Site) -> Outcome:
    """Each JournalNode has missed edits, and an unfinished segment of its own, when the other NameNode has to read them."""
    _roll("journalnode")(site)
    time.sleep(AGAIN)
    return _kill("namenode")(site)


def _datanode_full(site: Site) -> Outcome:
    """The disk of one DataNode, to the last byte. Its blocks are linked to: all of HDFS would be too much for the small disk."""
    host = site.lab.one("datanode")
    service = site.service("datanode", host)
    directory = DIRECTORIES["datanode"]
    with small_disk(service, directory, lambda: _wait_small(host), linked=True) as disk:
        disk.fill()
        began = time.monotonic()
        broken = told.after(site, told.datanode_full(host))
        time.sleep(max(0.0, AWAY - (time.monotonic() - began)))
        broken += told.after(site, told.datanode_full(host), AGAIN)
        disk.free()
        broken += told.after(site, told.datanode_well(host))
    return Outcome(host.name, tuple(broken))


def _namenode_full(site: Site) -> Outcome:
    """The disk with the edits of the active NameNode, and of the JournalNode beside it: low at first, then to the last byte."""
    several = len(site.lab.group("namenode")) > 1
    # The one that gets the small disk while another works, and becomes the active one then.
    host = _standby(site) if several else site.lab.one("namenode")
    broken: list[str] = []
    where = host.name
    with ExitStack() as stack:
        disks = [
            stack.enter_context(
                small_disk(site.service(one, host), DIRECTORIES[one], functools.partial(_wait, site, one, host))
            )
            for one in ("journalnode", "namenode")
            if host in site.lab.group(one)
        ]
        if several:
            _make_active(site, host)
        for disk in disks:
            disk.fill(LOW)
        began = time.monotonic()
        broken += told.after(site, told.namenode_full(host))
        if several and not _becomes(site, [one for one in site.lab.group("namenode") if one != host], told.TOLD):
            broken.append(f"no other NameNode became active while that of {host.name} had no space for edits")
        for disk in disks:
            disk.fill()
        time.sleep(max(0.0, AWAY - (time.monotonic() - began)))
        broken += told.after(site, told.namenode_full(host), AGAIN)
        for disk in disks:
            disk.free()
        if told.after(site, told.namenode_well(host)):
            # As docs/troubleshooting.md says: Hadoop 3.3 does not leave the safe mode of a full disk by itself.
            host.run("hdfs", "dfsadmin", "-safemode", "leave", user="hdfs")
            where += ", let out of its safe mode by hand"
            broken += told.after(site, told.namenode_well(host))
    return Outcome(where, tuple(broken))


def _wait(site: Site, component: str, host: Host) -> None:
    health.wait_for(site.target(component, host), ANSWERS)


def _wait_small(host: Host) -> None:
    """Until a DataNode has opened its small disk. Before that it answers too, and one that is full it would not open."""
    base = f"http://{host.address}:{PORTS['datanode']}"
    name = "Hadoop:service=DataNode,name=FSDatasetState*"
    if not comes(lambda: 0 < health.bean(base, name, 5)["Capacity"] < SMALL, ANSWERS):
        raise health.NoAnswer(f"the DataNode of {host.name} did not open its disk within {ANSWERS:.0f} s")


def _standby(site: Site) -> Host:
    active = site.active("namenode")
    return next(host for host in site.lab.group("namenode") if host != active)


def _make_active(site: Site, host: Host) -> None:
    """The failover controllers beside the other NameNodes go away until this one has taken over."""
    others = [Service(other, ZKFC) for other in site.lab.group("namenode") if other != host]
    try:
        for controller in others:
            controller.stop()
        if not _becomes(site, [host], ANSWERS):
            raise health.NoAnswer(f"the NameNode of {host.name} did not become active within {ANSWERS:.0f} s")
    finally:
        for controller in others:
            controller.start()


def _becomes(site: Site, hosts: Sequence[Host], seconds: float) -> bool:
    """Whether the NameNode of one of some hosts is the active one within so many seconds."""
    return comes(lambda: site.active("namenode") in hosts, seconds)


def comes(holds: Callable[[], object], seconds: float, every: float = 1.0) -> bool:
    """Whether something is so within so many seconds, asked as often; without an answer it is not."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(health.NoAnswer):
            if holds():
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(every)


METASTORE = (("spark", 5.0), ("hive", 30.0), ("hdfs", 30.0))
# Everything is away for as long as hosts need to start: nothing is promised but that all of it comes back.
ANY = (("spark", 600.0), ("hive", 600.0), ("hdfs", 600.0))


def catalogue() -> Iterator[Fault]:
    """Every fault, in the order in which they are caused."""
    components = ("metastore", "server2", "ndb_sql", "ndb_data", "namenode", "resourcemanager", "zookeeper", "cleaner")
    for component in components:
        bounds = METASTORE if component == "metastore" else Fault.bounds
        yield Fault(f"kill -9 of {component}", _kill(component), (component,), bounds)
    for component in components:
        bounds = METASTORE if component == "metastore" else Fault.bounds
        yield Fault(f"{component} frozen for {FROZEN:.0f} s", _freeze(component), (component,), bounds)
    yield Fault("kill -9 of namenode after its JournalNodes were rolled", _kill_rolled, ("journalnode",), short=True)
    yield Fault("metastore frozen for 15 s", _freeze("metastore", 15), ("metastore",), METASTORE, short=True)
    yield Fault("cleaner parted from the database", _part([3306], "mariadb"), ("mariadb", "cleaner"))
    yield Fault("cleaner parted from the database", _part([3306], "ndb_sql"), ("ndb_sql", "cleaner"))
    yield Fault("cleaner parted from the NameNodes", _part([NAMENODE_RPC], "namenode"), ("cleaner",))
    yield Fault("disk full on a DataNode", _datanode_full, ("datanode", "cleaner"))
    yield Fault("disk full on a NameNode's edits", _namenode_full, ("journalnode", "cleaner"))
    yield Fault("disk full on the only NameNode's edits", _namenode_full, ("cleaner",), ANY, lacks=("journalnode",))
    yield Fault("host gone and back", _host_gone, short=True)
    yield Fault(
        "host gone with another's application master",
        _gathered_gone,
        ("resourcemanager", "journalnode"),
        prepare=_gather,
    )
    for component in ("metastore", "ndb_sql", "ndb_data"):
        yield Fault(
            f"rolling restart of {component}",
            _roll(component),
            (component,),
            failures=False,
            short=component == "metastore",
        )
    yield Fault("all hosts gone at once", _all_gone, (), ANY, short=True)
