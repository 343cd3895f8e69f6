"""The commands as their users run them: two daemons as processes, a NameNode, a MariaDB with Hive's own schema."""

from __future__ import annotations

import signal
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest
import yaml

from hopshive.namenode import report
from tests.live_site import LEASE, Site, run_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.metastore_db import Metastore
    from tests.servers import Hdfs


@pytest.fixture(scope="module")
def site(metastore: Metastore, hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with run_site(metastore, hdfs, tmp_path_factory.mktemp("live"), "/live") as found:
        yield found


# The tests go on from each other: the warehouse is made once.


def test_without_a_daemon_nobody_leads_and_nothing_is_asked_for_ever(site: Site) -> None:
    site.write("one", lease=1)
    assert "Nobody leads" in site.run("status", code=4)
    assert "the request is withdrawn" in site.run("sync", code=4)
    assert site.world.metastore.execute("SELECT * FROM {state}.request") == []


def test_one_of_two_daemons_leads(site: Site) -> None:
    site.start("one")
    site.until(lambda: site.leads("one"))
    site.start("two")
    site.until(lambda: "one leads" in site.logs())
    site.until(lambda: report.ask(site.world.config.namenodes, "hdfs").problems == [])
    status = site.json("status")
    assert (status["leader"], status["epoch"], status["problems"]) == ("one", 1, [])
    assert (status["hdfs"]["datanodes"], status["hdfs"]["full"]) == (1, [])
    assert "1 live" in site.run("status")
    port = yaml.safe_load((site.directory / "one.yml").read_text())["metrics"]["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        shown = answer.read().decode()
    assert "hopshive_leader 1.0" in shown
    assert f'hopshive_hdfs_namenode_ready{{namenode="{site.world.config.hdfs.namenodes[0]}"}} 1.0' in shown


def test_what_was_removed_is_told_and_comes_back(site: Site) -> None:
    world = site.world
    database = world.make_database("shop")
    table = world.make_table(database, "orders", "/live/external/shop.db/orders")
    days = [f"/live/external/shop.db/orders/day={day}" for day in (1, 2)]
    world.make_partitions(table, days)
    site.until(lambda: site.bound() == 4)
    before = world.objects()
    world.files.delete("/live/external/shop.db/orders")
    site.until(lambda: world.objects() == {"shop"})
    site.until(lambda: site.json("journal")[0]["ended"])
    (removal,) = site.json("journal")
    assert (removal["kind"], removal["path"], removal["objects"], removal["left"]) == (
        "unlink",
        "/live/external/shop.db/orders",
        3,
        3,
    )
    number = str(removal["id"])
    assert "deleted, transaction" in site.run("journal")
    assert {entry["name"] for entry in site.json("journal", number)} == {
        "hive.shop.orders",
        "hive.shop.orders/day=1",
        "hive.shop.orders/day=2",
    }
    assert "day=1" in site.run("restore", number, "--dry-run")
    assert "is not there" in site.run("restore", number, code=1)
    for path in days:
        world.files.mkdir(path)
    assert site.json("restore", "--name", "hive.shop.orders")["message"] == "Restored 3 objects."
    assert world.objects() == before
    assert "nothing of that" in site.run("restore", number, code=1)
    assert "nothing of a removal 99" in site.run("journal", "99", code=1)


def test_what_the_fuse_holds_waits_for_an_approval(site: Site) -> None:
    world = site.world
    ((database,),) = world.metastore.execute("SELECT DB_ID FROM DBS WHERE NAME = 'shop'")
    for number in range(4):
        world.make_table(database, f"t{number}", f"/live/external/shop.db/t{number}")
    site.until(lambda: site.bound() == 8)
    assert site.json("status")["bound"] == 8
    for number in range(4):
        world.files.delete(f"/live/external/shop.db/t{number}")
    site.until(site.fuse_blown)
    status = site.json("status", code=3)
    assert "hopshive approve" in status["problems"][0]
    assert "blown" in site.run("status", code=3)
    waits = {one["path"] for one in site.json("held")}
    first = min(waits)
    assert len(waits) > 1
    assert first in site.run("held")
    assert {one["path"] for one in site.json("approve", "--dry-run")} == waits
    assert "say --yes for all" in site.run("approve", code=2)
    assert "Nothing waits for an approval at /live/external/other" in site.run(
        "approve", "/live/external/other", code=1
    )
    assert {one["path"] for one in site.json("held")} == waits
    assert "Approved: the metadata of 1 directory goes" in site.run("approve", first)
    site.until(lambda: {one["path"] for one in site.json("held")} == waits - {first})
    site.until(lambda: f"shop.{first.rpartition('/')[2]}" not in world.objects())
    assert "Approved" in site.run("approve", "--yes")
    site.until(lambda: world.objects() == {"shop", "shop.orders", "shop.orders/day=1", "shop.orders/day=2"})
    site.until(lambda: not site.fuse_blown())
    assert "Nothing waits" in site.run("approve", "--yes")
    assert site.json("held") == []


def test_a_difference_is_found_and_settled(site: Site) -> None:
    world = site.world
    world.files.mkdir("/live/external/shop.db/stranger")
    # As if somebody had written into the database by hand.
    world.metastore.execute("UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = '' WHERE SD_ID = 2")
    shown = site.run("check", code=3)
    for words in (
        "2 differences",
        "not bound",
        "table hive.shop.orders",
        "no metadata",
        "/live/external/shop.db/stranger",
    ):
        assert words in shown
    world.files.delete("/live/external/shop.db/stranger")
    fixed = site.json("check", "--fix")
    assert fixed["differences"] == []
    assert fixed["fixed"][0].startswith("Compared 4 storage descriptors: 1 differed")
    assert "Compared 4 storage descriptors: 0 differed" in site.run("sync")


def test_a_killed_leader_is_followed_and_a_told_one_hands_over(site: Site) -> None:
    one, two = site.daemons
    one.kill()
    began = time.monotonic()
    site.until(lambda: site.leads("two"))
    assert time.monotonic() - began < LEASE + 1
    two.send_signal(signal.SIGTERM)
    assert two.wait(10) == 0
    assert site.json("status", code=4)["leader"] is None


def test_an_endpoint_that_cannot_be_served_ends_the_daemon(site: Site) -> None:
    assert site.start("wrong", metrics={"host": "192.0.2.1"}).wait(10) == 78, site.logs()
    assert "192.0.2.1:9853 (metrics.host, metrics.port) cannot be served" in site.logs()


def test_a_database_and_a_namenode_that_are_away_are_said(site: Site) -> None:
    site.write("one", hdfs={"uris": ["hdfs://nn"], "namenodes": ["127.0.0.1:1"]})
    status = site.json("status", code=1)
    assert "127.0.0.1:1" in status["problems"][0]
    site.write("one", database={"unix_socket": "/not/there"})
    status = site.json("status", code=1)
    assert (status["leader"], status["namenode"] is None) == (None, False)
    assert "/not/there" in status["problems"][0]
    assert "/not/there" in site.run("journal", code=1)
