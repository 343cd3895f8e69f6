"""Of each service that elects one leads, and its clients know all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.services import health
from tests.contract.objects import ACID
from tests.warehouse import HiveSession

if TYPE_CHECKING:
    from tests.faults.site import Site


@pytest.mark.parametrize(
    ("component", "states"),
    [
        ("zookeeper", ["follower", "follower", "leader"]),
        ("namenode", ["active", "standby"]),
        ("resourcemanager", ["active", "standby"]),
        ("cleaner", ["leading", "standby"]),
    ],
)
def test_one_leads_and_the_others_wait(site: Site, component: str, states: list[str]) -> None:
    found = [health.QUESTIONS[component].ask(site.target(component, host), 10) for host in site.lab.group(component)]
    assert sorted(str(one.get("state") or one.get("mode")) for one in found) == states


def test_both_hiveserver2s_are_registered(site: Site) -> None:
    listed = site.lab.one("client").run(
        "beeline", "-n", "hive", "-p", "", "--silent=true", "-e", "SELECT 1", user="spark"
    )  # fmt: skip
    assert "1" in listed.stdout
    znodes = site.lab.one("server2").run(
        "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "@/etc/hive/conf.server2/jvm.args", "org.apache.zookeeper.ZooKeeperMain",
        "-server", "localhost:2181", "ls", "/hiveserver2",
    )  # fmt: skip
    for host in site.lab.group("server2"):
        assert f"serverUri={host.name}:10000" in znodes.stdout


def test_clients_name_all_metastores(site: Site) -> None:
    text = site.lab.one("client").run("cat", "/etc/hive/conf/hive-site.xml").stdout
    for host in site.lab.group("metastore"):
        assert f"thrift://{host.name}:9083" in text


def test_locations_hold_the_name_of_the_file_system(site: Site) -> None:
    said = site.lab.one("client").run(
        "beeline", "-n", "hive", "-p", "", "--silent=true", "--outputformat=tsv2", "-e", "DESCRIBE DATABASE default", user="spark"
    )  # fmt: skip
    assert "hdfs://hopshive/" in said.stdout


def test_no_hiveserver2_answers_by_a_materialized_view_that_another_made_again(site: Site) -> None:
    """The first one keeps the text of the view that it made; the second one drops the view, and makes another of that name."""
    one, other = (HiveSession(host.address) for host in site.lab.group("server2"))
    one.execute("CREATE DATABASE views")
    try:
        for table, number in (("x", 1), ("y", 2)):
            one.execute(f"CREATE TABLE views.{table} (a INT) {ACID}")
            one.execute(f"INSERT INTO views.{table} VALUES ({number})")
        one.execute("CREATE MATERIALIZED VIEW views.m AS SELECT a FROM views.x")
        assert one.execute("SELECT a FROM views.x") == [(1,)]
        other.execute("DROP MATERIALIZED VIEW views.m")
        other.execute("CREATE MATERIALIZED VIEW views.m AS SELECT a FROM views.y")
        for session in (one, other):
            assert session.execute("SELECT a FROM views.x") == [(1,)]
            assert session.execute("SELECT a FROM views.y") == [(2,)]
    finally:
        one.execute("DROP DATABASE views CASCADE")
        one.close()
        other.close()
