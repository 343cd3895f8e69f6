"""The commands as their users run them: two daemons as processes, a NameNode, a MariaDB with Hive's own schema."""

from __future__ import annotations

import http.client
import re
import signal
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import yaml

from hopshive.hdfs.namenode import report
from tests.support.live_site import LEASE, Site, run_site
from tests.support.mirror_world import TRASH
from tests.support.patience import scaled, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs


@pytest.fixture(scope="module")
def site(metastore: Metastore, hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with run_site(metastore, hdfs, tmp_path_factory.mktemp("live"), "/live") as found:
        yield found


# Each test begins where the one before ended: the warehouse is made once.


def test_without_a_daemon_no_process_leads_and_nothing_is_asked_for_ever(site: Site) -> None:
    site.write("one", lease=1)
    assert "No daemon leads" in site.run("status", code=4)
    assert "The request was withdrawn" in site.run("sync", code=4)
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


def test_both_daemons_are_well_and_one_says_that_it_leads(site: Site) -> None:
    def ask(name: str, path: str) -> tuple[int, str]:
        port = yaml.safe_load((site.directory / f"{name}.yml").read_text())["metrics"]["port"]
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    site.until(lambda: ask("one", "/healthz")[0] == ask("two", "/healthz")[0] == 200)
    assert site.world.config.hdfs.namenodes[0] in ask("two", "/healthz")[1]
    (here, said), (elsewhere, repeated) = ask("one", "/leader"), ask("two", "/leader")
    assert (here, elsewhere) == (200, 503)
    assert said == repeated
    assert re.fullmatch(r"one leads, epoch \d+\.\n", said)


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
    nothing = f"The journal has nothing to restore of the removal {number}."
    assert f"Error: {nothing}" in site.run("restore", number, code=1)
    assert f"Error: {nothing}" in site.run("restore", number, "--dry-run", code=1)
    assert "begins with the catalog" in site.run("restore", "--name", "orders", code=2)
    assert "no removal 99" in site.run("journal", "99", code=1)


def forget_removals(site: Site) -> None:
    """For the fuse: what earlier tests removed counts, too."""
    site.world.metastore.execute("UPDATE {state}.removal SET ended = ended - INTERVAL 1 HOUR WHERE ended IS NOT NULL")


def test_what_was_deleted_twice_is_undone_from_wherever_the_trash_has_it(site: Site) -> None:
    world = site.world
    before = world.objects()
    path = "/live/external/shop.db/orders"
    stub = f"{TRASH}{path}"
    forget_removals(site)
    world.files.mkdir(stub)
    world.files.move(path, f"{stub}1795558823456")
    assert "The metastore follows HDFS" in site.run("wait")
    assert world.objects() == {"shop"}
    removal = site.json("journal", "--limit", "1")[0]
    number = str(removal["id"])
    assert removal["what"] == "table shop.orders with 2 partitions"
    # As each hour.
    checkpoint = TRASH.replace("Current", "261124220000")
    world.files.move(TRASH, checkpoint)
    lies = f"{checkpoint}{path}1795558823456"
    (entry,) = [one for one in site.json("journal", "--limit", "1") if one["id"] == removal["id"]]
    assert entry["lies"] == lies
    assert entry["until"] > entry["event_at"]
    assert site.json("undo", number, "--dry-run")["moves"][0]["source"] == lies
    assert world.objects() == {"shop"}
    world.files.mkdir(path)
    assert f"Another file or directory is at {path}" in site.run("undo", number, code=1)
    world.files.delete(path)
    told = site.run("undo", "--path", path)
    assert f"moved {lies} to {path}" in told
    assert "3 objects came back" in told
    assert world.objects() == before
    assert "can come back: all of it is back already" in site.run("undo", number, code=1)
    assert "can come back: all that the journal has of it is back already" in site.run("undo", "--path", path, code=1)
    assert "no removal 99" in site.run("undo", "99", code=1)
    assert f"no removal of {path}_other, or" in site.run("undo", "--path", f"{path}_other", code=1)
    world.files.delete(checkpoint)


def test_of_some_partitions_the_journal_says_so_and_an_emptied_trash_is_refused(site: Site) -> None:
    world = site.world
    ((table,),) = world.metastore.execute("SELECT TBL_ID FROM TBLS WHERE TBL_NAME = 'orders'")
    days = [f"/live/external/shop.db/orders/day={day}" for day in (3, 4)]
    world.make_partitions(table, days)
    site.until(lambda: site.bound() == 6)
    forget_removals(site)
    world.files.trash(days[0])
    world.files.trash(days[1])
    site.run("wait")
    (first, *_) = site.json("journal", "--limit", "2")
    assert first["what"] in ("2 partitions of shop.orders", "partition shop.orders/day=4")
    world.files.delete(TRASH)
    assert "the trash was emptied" in site.run("undo", "--path", days[1], code=1)


def test_what_was_moved_elsewhere_is_waited_for_as_long_as_its_grace(site: Site) -> None:
    world = site.world
    before = world.objects()
    path = "/live/external/shop.db/orders"
    world.files.move(path, "/live/elsewhere")
    said = rf"pending, the first is of {path}, due in 2\d\d s \(it was moved: cleaner_rename_grace\)\."
    # The leader may be at an earlier transaction yet.
    site.until(lambda: re.search(said, site.run("wait", "--timeout", "1", code=1)))
    world.files.move("/live/elsewhere", path)
    # What is back does not wait for the end of that grace.
    site.run("wait")
    assert world.objects() == before


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
    # The daemon learns of one deletion after the other. A first one may go before the fuse blows.
    waits: set[str] = set()

    def holds_all_that_is_left() -> bool:
        waits.clear()
        waits.update(one["path"] for one in site.json("held"))
        return {f"shop.{path.rpartition('/')[2]}" for path in waits} == {
            name for name in world.objects() if name.startswith("shop.t")
        }

    site.until(holds_all_that_is_left)
    first = min(waits)
    assert len(waits) > 1
    assert first in site.run("held")
    assert f"{first} waits for an approval, and none of its metadata was removed. Look" in site.run(
        "undo", "--path", f"{first}/day=1/", code=1
    )
    assert {one["path"] for one in site.json("approve", "--dry-run")} == waits
    assert "give --yes to approve all" in site.run("approve", code=2)
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
    # As if an operator had written into the database by hand.
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


@pytest.mark.wall_time
def test_a_killed_leader_is_followed_and_a_told_one_hands_over(site: Site) -> None:
    one, two = site.daemons
    one.kill()
    with within(LEASE + 1):
        site.until(lambda: site.leads("two"))
    two.send_signal(signal.SIGTERM)
    assert two.wait(scaled(10)) == 0
    assert site.json("status", code=4)["leader"] is None


def test_an_endpoint_that_cannot_be_served_ends_the_daemon(site: Site) -> None:
    assert site.start("wrong", metrics={"host": "192.0.2.1"}).wait(scaled(10)) == 78, site.logs()
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
