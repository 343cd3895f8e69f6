"""Replicas without their data: one is made again, another is refused."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hopshive.edits import wait_taken
from hopshive.health import NoAnswer
from hopshive.namenode import NameNode
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
    assert f"ZooKeeper on {alone.name} has worked by itself, and there is no data on {empty.name}" in said
    site.wait_healthy(120)
