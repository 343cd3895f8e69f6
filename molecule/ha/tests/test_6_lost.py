"""Replicas without their data: one is made again, another is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.edits import wait_taken
from hopshive.health import NoAnswer
from hopshive.namenode import NameNode

if TYPE_CHECKING:
    from molecule.ha.tests.conftest import Play
    from tests.faults.site import Site

EDITS = "/var/lib/hopshive/journalnode/edits"
ZOO_CFG = "/etc/zookeeper/conf/zoo.cfg"
DATA = "/var/lib/hopshive/zookeeper/data/version-2"


def taken(site: Site, timeout: float) -> None:
    """The names of the hosts are theirs alone, so the active NameNode is asked by its address."""

    def begin(_named: tuple[str, int]) -> int:
        with NameNode([(host.address, 8020) for host in site.lab.group("namenode")]) as namenode:
            return namenode.roll_edits()

    wait_taken([f"http://{host.address}:9870" for host in site.lab.group("namenode")], timeout, begin=begin)


@pytest.mark.long
def test_a_journalnode_that_lost_its_disk_takes_edits_again(site: Site, play: Play) -> None:
    host = site.lab.group("journalnode")[-1]
    journal = site.service("journalnode", host)
    taken(site, 30)
    journal.stop()
    host.run("sh", "-c", f"rm -rf {EDITS}/*")
    journal.start()
    with pytest.raises(NoAnswer, match=rf"writes no edits to {host.address}:8485"):
        taken(site, 10)
    done = play("site.yml", "--tags", "journalnode", "--limit", host.name)
    assert done.returncode == 0, done.stdout[-3000:]
    taken(site, 30)


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
