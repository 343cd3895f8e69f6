"""A changed setting rolls through replicas, one at a time, and stops at the first that does not come back."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from hopshive.health import wait_for

if TYPE_CHECKING:
    from molecule.ha.tests.conftest import Play
    from tests.faults.site import Site
    from tests.warehouse.hosts import Host


def started(site: Site, host: Host) -> str:
    """When the metastore of a host was started."""
    unit = site.service("metastore", host).unit
    return host.run("systemctl", "show", "--property=ExecMainStartTimestampMonotonic", "--value", unit).stdout.strip()


def test_a_setting_that_breaks_the_first_replica_stops_there(site: Site, play: Play) -> None:
    first, second = site.lab.group("metastore")
    before = started(site, second)
    broken = {"metastore_jvm_options": ["-XX:ThereIsNoSuchOption"], "cluster_check_timeout": 20}
    done = play("site.yml", "-e", json.dumps(broken))
    assert done.returncode != 0
    assert "hive-metastore was restarted and did not come back" in done.stdout
    assert "hive-metastore was not restarted, because another replica is down" in done.stdout
    assert started(site, second) == before
    wait_for(site.target("metastore", second), 5)

    # The next run brings the first one back; the second one never read the broken setting.
    done = play("site.yml", "--tags", "metastore")
    assert done.returncode == 0, done.stdout[-3000:]
    for host in (first, second):
        wait_for(site.target("metastore", host), 30)


@pytest.mark.long
def test_a_rolling_restart_restarts_each_replica(site: Site, play: Play) -> None:
    before = [started(site, host) for host in site.lab.group("metastore")]
    done = play("playbooks/rolling_restart.yml", "-e", "component=metastore")
    assert done.returncode == 0, done.stdout[-3000:]
    after = [started(site, host) for host in site.lab.group("metastore")]
    assert all(int(new) > int(old) for old, new in zip(before, after, strict=True))
    # One was up again before the other one went.
    assert abs(int(after[0]) - int(after[1])) > 2_000_000


@pytest.mark.long
def test_a_hiveserver2_leaves_the_discovery_before_its_restart(site: Site, play: Play) -> None:
    began = f"@{time.time():.0f}"
    done = play("playbooks/rolling_restart.yml", "-e", "component=server2")
    assert done.returncode == 0, done.stdout[-3000:]
    for host in site.lab.group("server2"):
        unit = site.service("server2", host).unit
        said = host.run("journalctl", "--no-pager", f"--unit={unit}", f"--since={began}").stdout
        left = said.index("is now de-registered from ZooKeeper")
        assert left < said.index(f"Started {unit}.service")


def test_a_rolling_restart_wants_a_component(play: Play) -> None:
    for arguments in ([], ["-e", "component=client"], ["-e", "component=metastores"]):
        done = play("playbooks/rolling_restart.yml", *arguments)
        assert done.returncode != 0
        assert "Nothing was restarted. Name the component" in done.stdout
