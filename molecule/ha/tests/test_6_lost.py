"""Replicas that lost their data, their number, or the one that is asked after them."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hopshive.hdfs.namenode import NameNode
from hopshive.services.edits import wait_taken
from hopshive.services.health import NoAnswer
from tests.faults.catalogue import comes
from tests.faults.site import PORTS

if TYPE_CHECKING:
    from molecule.ha.tests.conftest import Play
    from tests.faults.site import Site
    from tests.warehouse.hosts import Host
    from tests.warehouse.service import Service

EDITS = "/var/lib/hopshive/journalnode/edits"
ZOO_CFG = "/etc/zookeeper/conf/zoo.cfg"
DATA = "/var/lib/hopshive/zookeeper/data/version-2"


def taken(site: Site, timeout: float) -> None:
    """The names of the hosts are theirs alone, so the active NameNode is asked by its address."""

    def begin(_named: tuple[str, int]) -> int:
        with NameNode([(host.address, 8020) for host in site.lab.group("namenode")]) as namenode:
            return namenode.roll_edits()

    wait_taken([f"http://{host.address}:9870" for host in site.lab.group("namenode")], timeout, begin=begin)


def segments(host: Host) -> set[str]:
    """The edits that a JournalNode has, without those that are written now."""
    return set(host.run("sh", "-c", f"ls {EDITS}/*/current | grep -E '^edits_[0-9]+-[0-9]+$' || true").stdout.split())


@pytest.mark.long
def test_a_journalnode_that_lost_its_disk_takes_edits_again_and_fetches_the_others(site: Site, play: Play) -> None:
    other, host = site.lab.group("journalnode")[-2:]
    journal = site.service("journalnode", host)
    taken(site, 30)
    before = segments(other)
    assert before
    journal.stop()
    host.run("sh", "-c", f"rm -rf {EDITS}/*")
    journal.start()
    with pytest.raises(NoAnswer, match=rf"writes no edits to {host.address}:8485"):
        taken(site, 10)
    done = play("site.yml", "--tags", "journalnode", "--limit", host.name)
    assert done.returncode == 0, done.stdout[-3000:]
    taken(site, 30)
    # It looks every two minutes.
    assert comes(lambda: before <= segments(host), 300), journal.journal()


def test_an_sql_node_comes_back_where_another_process_has_its_number(site: Site) -> None:
    """As after a host was off. The server leaves its number beside its socket if it is killed."""
    host = next(iter(site.lab.group("ndb_sql")), None)
    if host is None:
        pytest.skip("MariaDB leaves none: HOPSHIVE_LAB=ha runs it on inventories/lab_ha")
    host.run("sh", "-c", "test -s /run/ndb-sql/mysqld.sock.lock && echo 1 > /run/ndb-sql/mysqld.sock.lock")
    node = site.service("ndb_sql", host)
    before = process(node)
    node.kill()
    assert comes(lambda: process(node) not in ("0", before) and greets(host), 60), node.journal()


@pytest.mark.long
def test_a_data_node_that_starts_outlives_the_management_node(site: Site) -> None:
    """Without that node no node arbitrates, so the end of the data node would be the end of the cluster."""
    node, host = data_node(site)
    management = site.service("ndb_management", site.lab.group("ndb_management")[0])
    try:
        number = started_anew(node)
        management.host.run("systemctl", "stop", "--no-block", management.unit)
        die(management)
        assert state(node) == "activating", node.journal()
        # The unit gives up asking after a good minute.
        assert comes(lambda: state(node) == "active", 180), node.journal()
        assert process(node) == number, node.journal()
        assert greets(host)
    finally:
        management.start()
    site.wait_healthy(180)
    assert process(node) == number, node.journal()


@pytest.mark.long
def test_a_data_node_that_dies_while_it_starts_is_started_again(site: Site) -> None:
    node, _ = data_node(site)
    number = started_anew(node)
    die(node)
    assert comes(lambda: process(node) not in ("0", number), 60), node.journal()
    assert comes(lambda: state(node) == "active", 180), node.journal()
    site.wait_healthy(180)


def data_node(site: Site) -> tuple[Service, Host]:
    """One of those that may go, and its host."""
    hosts = site.lab.group("ndb_data")
    if not hosts:
        pytest.skip("MariaDB has none: HOPSHIVE_LAB=ha runs it on inventories/lab_ha")
    return site.service("ndb_data", hosts[-1]), hosts[-1]


def started_anew(node: Service) -> str:
    """Kills it; returns the number of the process that took its place, which has its configuration and is still starting."""
    before = process(node)
    node.kill()
    assert comes(lambda: process(node) not in ("0", before) and state(node) == "activating", 60), node.journal()
    number = process(node)
    assert comes(lambda: f"ndb-data[{number}]" in fetched(node), 60), node.journal()
    assert state(node) == "activating"
    return number


def die(service: Service) -> None:
    """kill -9 at once, whatever systemd waits for."""
    service.host.run("systemctl", "kill", "--kill-who=main", "--signal=KILL", service.unit)


def fetched(node: Service) -> str:
    """What its journal says of the configurations that its processes were given."""
    return node.host.run("sh", "-c", f"journalctl -q -u {node.unit} | grep 'Configuration fetched' || true").stdout


def state(service: Service) -> str:
    """As systemd calls it."""
    return service.host.run("systemctl", "show", "--value", "--property=ActiveState", service.unit).stdout.strip()


def process(service: Service) -> str:
    """The number of its process, 0 if there is none."""
    return service.host.run("systemctl", "show", "--value", "--property=MainPID", service.unit).stdout.strip()


def greets(host: Host) -> bool:
    """Whether an SQL node takes connections: it speaks first."""
    with suppress(OSError), socket.create_connection((host.address, PORTS["ndb_sql"]), timeout=1) as connection:
        return bool(connection.recv(1))
    return False


@pytest.mark.long
def test_a_zookeeper_that_worked_by_itself_is_not_outvoted_by_an_empty_one(site: Site, play: Play) -> None:
    alone, empty = site.lab.group("zookeeper")[:2]
    stopped = site.service("zookeeper", empty)
    stopped.stop()
    empty.run("mv", DATA, f"{DATA}.away")
    alone.run("sed", "-i.away", "/^server[.]/d", ZOO_CFG)
    try:
        done = play("site.yml", "--tags", "zookeeper")
    finally:
        alone.run("mv", f"{ZOO_CFG}.away", ZOO_CFG)
        empty.run("mv", f"{DATA}.away", DATA)
        stopped.start()
    assert done.returncode != 0
    said = " ".join(done.stdout.split())
    assert f"ZooKeeper on {alone.name} ran as a single server, and there are no data on {empty.name}" in said
    site.wait_healthy(120)
