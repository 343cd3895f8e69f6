"""An open warehouse becomes one where people log in over TLS, and opens again. The tests are steps of one way."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from hopshive.services.health.answer import NoAnswer
from hopshive.services.health.hadoop import bean
from tests.faults.catalogue import comes
from tests.warehouse.hiveserver2 import HiveError, HiveSession
from tests.warehouse.people import PeopleLab
from tests.warehouse.playbook import run_playbook
from tests.warehouse.service import Service
from tests.warehouse.spark import SparkSession

SCENARIO = Path(__file__).parents[1]
LABEL = "molecule-tenancy-upgrade"
OPEN = ["-i", str(SCENARIO / "inventory")]
PEOPLE = [*OPEN, "-i", str(SCENARIO / "people")]
# What opens it, as docs/tenancy.md says.
OPENED = {
    "server2_authentication": "none",
    "cluster_tls": "none",
    "cluster_without": ["login", "tls"],
    "gateway_service_enabled": False,
    "login_service_enabled": False,
}
ROWS = [(1, "one"), (2, "two")]
# Units, each with a group of the open warehouse whose hosts had them.
SWITCHED_OFF = {"hopshive-login": "server2", "hopshive-gateway": "nodemanager"}
STATUS = "Hadoop:service=NameNode,name=NameNodeStatus"
NAMENODE = "hadoop-hdfs-namenode"
IMAGE = "/var/lib/hopshive/namenode"


@pytest.fixture(scope="session", name="lab")
def the_lab() -> PeopleLab:
    return PeopleLab.find(LABEL)


def play(inventory: list[str], playbook: str, *arguments: str) -> None:
    """A playbook as an operator runs it."""
    run_playbook(*inventory, *arguments, playbook, timeout=1800)


def spark_of(lab: PeopleLab) -> HiveSession:
    """The job user of an open warehouse: every name is believed."""
    return HiveSession(lab.lab.one("server2").address, 10000, "spark")


def test_an_open_warehouse_has_tables_of_its_job_user(lab: PeopleLab) -> None:
    session = spark_of(lab)
    session.execute("CREATE DATABASE old")
    session.execute("CREATE TABLE old.acid (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.execute("CREATE EXTERNAL TABLE old.plain (id INT, name STRING) STORED AS ORC")
    for table in ("acid", "plain"):
        session.execute(f"INSERT INTO old.{table} VALUES (1, 'one'), (2, 'two')")
    session.execute("UPDATE old.acid SET name = 'two' WHERE id = 2")
    session.close()


def test_one_run_lets_people_in_and_keeps_others_out(lab: PeopleLab) -> None:
    play(PEOPLE, "site.yml")
    with pytest.raises((HiveError, OSError, EOFError)):
        spark_of(lab).execute("SELECT 1")
    alice = lab.session(lab.person("alice"), "sales")
    assert alice.execute("SELECT current_user()") == [("sales__alice",)]
    alice.execute("CREATE TABLE mine AS SELECT 1 AS id")
    # A database without a project stays as it was: its files let everyone read.
    assert sorted(alice.execute("SELECT * FROM old.acid")) == ROWS
    with pytest.raises(HiveError, match=r"ermission denied"):
        alice.execute("INSERT INTO old.acid VALUES (3, 'three')")
    alice.close()


def test_tables_of_before_are_read_by_their_owner(lab: PeopleLab) -> None:
    spark = SparkSession(lab.lab.one("client"))
    try:
        assert sorted(spark.sql("SELECT * FROM old.plain")) == ROWS
    finally:
        spark.close()


def test_namenodes_follow_each_other_over_tls(lab: PeopleLab) -> None:
    """A standby reads edits from the HTTPS ports of the JournalNodes."""
    before = states(lab)
    alice = lab.session(lab.person("alice"), "sales")
    alice.execute("CREATE TABLE before_it AS SELECT 1 AS id")
    Service(lab.lab.hosts[before["active"]], NAMENODE).kill()
    assert comes(lambda: states(lab) == {"active": before["standby"], "standby": before["active"]}, 90)
    assert alice.execute("SELECT * FROM before_it") == [(1,)]
    alice.close()


def test_a_namenode_copies_the_image_over_tls(lab: PeopleLab) -> None:
    standby = lab.lab.hosts[states(lab)["standby"]]
    namenode = Service(standby, NAMENODE)
    namenode.stop()
    standby.run("sh", "-c", f"rm -rf {IMAGE}/*")
    play(PEOPLE, "site.yml", "--tags", "namenode", "--limit", standby.name, "-e", "namenode_format=true")
    assert comes(lambda: states(lab).get("standby") == standby.name, 60), namenode.journal()


def states(lab: PeopleLab) -> dict[str, str]:
    """The name of the active NameNode's host and of the standby's; without one that does not answer."""
    found = {}
    for host in lab.lab.group("namenode"):
        with suppress(NoAnswer):
            status = bean(f"https://{host.address}:9870", STATUS, 5, str(lab.authority))
            found[str(status["State"])] = host.name
    return found


def test_a_second_run_changes_nothing(lab: PeopleLab) -> None:
    del lab
    play(PEOPLE, "site.yml", "--check")


def test_the_warehouse_opens_again(lab: PeopleLab) -> None:
    play(PEOPLE, "site.yml", "-e", json.dumps(OPENED))
    play(OPEN, "site.yml")
    for host, unit in ((host, unit) for unit, names in SWITCHED_OFF.items() for host in lab.lab.group(names)):
        assert "ActiveState=inactive" in host.run("systemctl", "show", unit).stdout
    session = spark_of(lab)
    assert sorted(session.execute("SELECT * FROM old.acid")) == ROWS
    assert session.execute("SELECT * FROM sales.mine") == [(1,)]
    session.execute("INSERT INTO old.acid VALUES (3, 'three')")
    assert len(session.execute("SELECT * FROM old.acid")) == len(ROWS) + 1
    session.close()
