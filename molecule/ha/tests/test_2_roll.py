"""A changed setting rolls through replicas, one at a time, and stops at the first that does not come back."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from hopshive.services.health import wait_for
from tests.warehouse.hiveserver2 import HiveError, HiveSession

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


def test_no_statement_fails_while_metastores_are_restarted(site: Site, play: Play) -> None:
    servers = [host.address for host in site.lab.group("server2")] * 3
    over = threading.Event()

    def read(server: str) -> tuple[int, list[str]]:
        """How many statements were answered, and errors. Each takes a lock in a transaction, and needs no task."""
        session, answered, errors = HiveSession(server, timeout=60), 0, []
        while not over.is_set():
            try:
                session.execute("SELECT n FROM rolled.t LIMIT 1")
                answered += 1
            except HiveError as error:
                errors.append(str(error))
                over.wait(0.2)
        session.close()
        return answered, errors

    session = HiveSession(servers[0], timeout=60)
    session.execute("DROP DATABASE IF EXISTS rolled CASCADE")
    session.execute("CREATE DATABASE rolled")
    session.execute("CREATE TABLE rolled.t (n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    with ThreadPoolExecutor(len(servers)) as readers:
        reading = [readers.submit(read, server) for server in servers]
        try:
            done = play("playbooks/rolling_restart.yml", "-e", "component=metastore")
        finally:
            over.set()
    assert done.returncode == 0, done.stdout[-3000:]
    for each in reading:
        answered, errors = each.result()
        assert not errors, errors[:3]
        assert answered > 5
    session.execute("DROP DATABASE rolled CASCADE")
    session.close()


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
