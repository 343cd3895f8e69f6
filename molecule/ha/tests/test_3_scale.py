"""Replicas and workers come and go, while another host is down or not."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hopshive.health import NoAnswer, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from molecule.ha.tests.conftest import Play
    from tests.faults.site import Site


@pytest.mark.long
def test_a_replica_and_workers_are_added_and_leave_again(
    site: Site, play: Play, inventory_with: Callable[..., Path]
) -> None:
    one, three = site.lab.hosts["failover-one"], site.lab.hosts["failover-three"]
    grown = inventory_with(metastore=[three.name], nodemanager=[one.name])
    # A Tez session of HiveServer2 may be there, which does not end.
    soon = ("-e", "nodemanager_drain_timeout=20")
    # No three NodeManagers are full at once here.
    crowded = ("-e", "preflight_memory_ratio=1.5")
    done = play("site.yml", "--limit", f"{one.name},{three.name}", *crowded, inventory=grown)
    assert done.returncode == 0, done.stdout[-3000:]
    for component, host in (("metastore", three), ("nodemanager", one)):
        wait_for(site.target(component, host), 60)
    assert f"thrift://{three.name}:9083" in three.run("cat", "/etc/hive/conf/hive-site.xml").stdout

    for component, host in (("metastore", three), ("nodemanager", one), ("datanode", one)):
        leaving = ("-e", f"component={component}", "-e", f"host={host.name}")
        done = play("playbooks/decommission.yml", *soon, *leaving, inventory=grown)
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
    leaving = ("-e", "component=nodemanager", "-e", f"host={one.name}")
    assert play("playbooks/decommission.yml", *soon, *leaving, inventory=grown).returncode == 0


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
    done = play("playbooks/decommission.yml", "-e", "component=server2", "-e", f"host={host.name}")
    assert done.returncode == 0, done.stdout[-3000:]
    with pytest.raises(NoAnswer):
        wait_for(site.target("server2", host), 1)
    done = play("site.yml", "--limit", host.name)
    assert done.returncode == 0, done.stdout[-3000:]
    wait_for(site.target("server2", host), 60)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Nothing was changed. Name the component"),
        (["-e", "component=zookeeper", "-e", "host=failover-one"], "Nothing was changed. Name the component"),
        (["-e", "component=metastore"], "Nothing was changed. Name the host"),
        (
            ["-e", "component=metastore", "-e", "host=failover-three"],
            "Name the host: -e host= one of failover-one, failover-two",
        ),
        (
            ["-e", "component=datanode", "-e", "host=failover-two", "-e", "cluster_replication=3"],
            "each block has 3 copies",
        ),
    ],
)
def test_what_cannot_go_is_told(play: Play, arguments: list[str], sentence: str) -> None:
    done = play("playbooks/decommission.yml", *arguments)
    assert done.returncode != 0
    assert sentence in " ".join(done.stdout.split())
