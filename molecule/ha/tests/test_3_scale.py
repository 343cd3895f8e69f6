"""Replicas and workers come and go, while another host is down or not."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hopshive.services.health import NoAnswer, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from molecule.ha.tests.conftest import Play
    from tests.faults.site import Site
    from tests.warehouse.hosts import Host


@pytest.mark.long
def test_a_replica_and_workers_are_added_and_leave_again(
    site: Site, play: Play, inventory_with: Callable[..., Path]
) -> None:
    one, three = site.lab.group("namenode")[0], site.lab.one("client")
    added = {"metastore": three, "nodemanager": one}
    # All nodes of NDB Cluster learn of a new one.
    limit = ("--limit", f"{one.name},{three.name}")
    if site.lab.group("ndb_sql"):
        added["ndb_sql"] = three
        limit = ()
    grown = inventory_with(**{component: [host.name] for component, host in added.items()})
    # A Tez session of HiveServer2 may be there, which does not end.
    soon = ("-e", "nodemanager_drain_timeout=20")
    # No three NodeManagers are full at once here.
    crowded = ("-e", "preflight_memory_ratio=1.5")
    done = play("site.yml", *limit, *crowded, inventory=grown)
    assert done.returncode == 0, done.stdout[-3000:]
    for component in ("metastore", "nodemanager"):
        wait_for(site.target(component, added[component]), 60)
    assert f"thrift://{three.name}:9083" in three.run("cat", "/etc/hive/conf/hive-site.xml").stdout
    leaving = [("metastore", three), ("nodemanager", one), ("datanode", one)]
    if "ndb_sql" in added:
        assert connected(three, 3306) == {three.address}
        refused = play("playbooks/decommission.yml", *named("ndb_sql", three), inventory=grown)
        assert "asks this SQL node first" in " ".join(refused.stdout.split()), refused.stdout[-3000:]
        assert three.run("systemctl", "is-active", "ndb-sql").stdout == "active\n"
        leaving.insert(1, ("ndb_sql", three))

    for component, host in leaving:
        done = play("playbooks/decommission.yml", *soon, *named(component, host), inventory=grown)
        assert done.returncode == 0, done.stdout[-3000:]
        with pytest.raises(NoAnswer):
            wait_for(site.target(component, host), 1)
    # One that is still in its group comes back, and so does one that is there again.
    done = play("site.yml")
    assert done.returncode == 0, done.stdout[-3000:]
    wait_for(site.target("datanode", one), 60)
    again = ("site.yml", "--tags", "nodemanager", "--limit", one.name, *crowded)
    done = play(*again, inventory=grown)
    assert done.returncode == 0, done.stdout[-3000:]
    wait_for(site.target("nodemanager", one), 60)
    assert play("playbooks/decommission.yml", *soon, *named("nodemanager", one), inventory=grown).returncode == 0


def named(component: str, host: Host) -> tuple[str, ...]:
    """What decommission.yml is to take out."""
    return ("-e", f"component={component}", "-e", f"host={host.name}")


def connected(host: Host, port: int) -> set[str]:
    """The addresses at which Hive's services on a host use a port of others."""
    lines = host.run("ss", "-Htn", "state", "established", f"( dport = :{port} )").stdout.splitlines()
    return {line.split()[-1].rpartition(":")[0].removeprefix("[::ffff:").removesuffix("]") for line in lines}


def test_a_host_is_deployed_while_another_one_is_down(site: Site, play: Play) -> None:
    down, host = site.active("namenode"), site.lab.one("client")
    subprocess.run(["docker", "stop", down.name], check=True, timeout=120)
    try:
        done = play("site.yml", "--limit", host.name)
    finally:
        subprocess.run(["docker", "start", down.name], check=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:]
    site.wait_healthy(300)


@pytest.mark.long
def test_a_hiveserver2_leaves_the_discovery_first(site: Site, play: Play) -> None:
    host = site.lab.group("server2")[1]
    done = play("playbooks/decommission.yml", *named("server2", host))
    assert done.returncode == 0, done.stdout[-3000:]
    with pytest.raises(NoAnswer):
        wait_for(site.target("server2", host), 1)
    done = play("site.yml", "--limit", host.name)
    assert done.returncode == 0, done.stdout[-3000:]
    wait_for(site.target("server2", host), 60)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "Nothing was changed. Name the component"),
        ("--limit {two}", "Nothing was changed. Name the component"),
        ("-e component=zookeeper -e host={one}", "Nothing was changed. Name the component"),
        ("-e component=metastore", "Nothing was changed. Name the host"),
        ("-e component=metastore -e host={three}", "Name the host: -e host= one of {one}, {two}."),
        ("-e component=metastore -e host={one} --limit {two}", "one of {one}, {two}, within --limit {two}."),
        ("-e component=datanode -e host={two} -e cluster_replication=3", "each block has 3 copies"),
    ],
)
def test_what_cannot_go_is_told(site: Site, play: Play, arguments: str, sentence: str) -> None:
    one, two = (host.name for host in site.lab.group("metastore"))
    names = {"one": one, "two": two, "three": site.lab.one("client").name}
    done = play("playbooks/decommission.yml", *arguments.format_map(names).split())
    assert done.returncode != 0
    assert sentence.format_map(names) in " ".join(done.stdout.split())
