"""What no user can have meant is held, such as the loss of the whole warehouse. Without a NameNode nothing is removed."""

from __future__ import annotations

import json
import posixpath
import time
from typing import TYPE_CHECKING

import pytest

from tests.contract import WAREHOUSE, differences, eventually, metadata
from tests.contract.objects import ACID, fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract import OwnDatabase
    from tests.warehouse import Warehouse

# Seconds; longer than it takes to stop a NameNode or to let it into safe mode.
GRACE = 4


@pytest.fixture(scope="class")
def patient(warehouse: Warehouse) -> Iterator[None]:
    """Time to do something to the NameNode between a deletion and the second question."""
    with warehouse.configured({"mirror": {"grace": GRACE}}):
        yield


@pytest.fixture(scope="class")
def a_small_fuse(warehouse: Warehouse) -> Iterator[None]:
    """Three objects at most."""
    with warehouse.configured({"mirror": {"max_removals": 3, "fuse_window": 600}}):
        yield


def held(warehouse: Warehouse) -> int:
    """How many removals wait for a human."""
    return int(warehouse.status()["pending_checks"].get("held", 0))


@pytest.mark.usefixtures("a_small_fuse")
class TestTooMany:
    """More objects at once than `max_removals`."""

    @pytest.fixture(autouse=True)
    def nothing_was_removed_lately(self, warehouse: Warehouse) -> None:
        """What earlier tests removed counts, too."""
        warehouse.metastore_sql("UPDATE hopshive.removal SET ended = ended - INTERVAL 1 HOUR WHERE ended IS NOT NULL")

    def test_it_is_held_and_mends_when_the_directories_are_back(self, db: OwnDatabase) -> None:
        fill(db)
        db.warehouse.wait_quiet()
        before = metadata(db.warehouse)
        place = db.warehouse.hdfs.delete(db.managed, skip_trash=False)
        db.warehouse.wait_quiet()
        assert db.removed() == []
        assert differences(before, metadata(db.warehouse)) == {}
        (problem,) = db.warehouse.status()["problems"]
        assert "The fuse is blown" in problem
        assert db.managed in problem
        assert {kind for kind, _ in db.told()} == {"no directory"}
        db.warehouse.hdfs.move(place, db.managed)
        # It looks again every half a minute.
        eventually(lambda: db.warehouse.status()["problems"], [], 60)
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}
        assert db.is_bound("orders", "day=mon")
        assert db.removed() == []

    def test_approved_it_goes_and_can_still_come_back(self, db: OwnDatabase) -> None:
        fill(db)
        db.warehouse.wait_quiet()
        before = metadata(db.warehouse)
        places = {path: db.warehouse.hdfs.delete(path, skip_trash=False) for path in (db.managed, db.external)}
        db.warehouse.wait_quiet()
        assert held(db.warehouse) >= 2
        assert db.removed() == []
        db.warehouse.cleaners[0].command("approve", "--yes")
        db.warehouse.wait_quiet()
        assert not db.exists()
        assert db.warehouse.status()["problems"] == []
        for path, place in places.items():
            db.warehouse.hdfs.move(place, path)
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}


class TestTheWholeWarehouse:
    """A directory that holds whole databases: nothing of it goes before a human has said so, however few objects it has."""

    def test_deleted_it_is_held_and_approved_all_goes_and_comes_back(self, db: OwnDatabase) -> None:
        warehouse = db.warehouse
        fill(db)
        warehouse.wait_quiet()
        before = metadata(warehouse)
        gone = db.footprint()
        place = warehouse.hdfs.delete(WAREHOUSE, skip_trash=False)
        try:
            warehouse.wait_quiet()
            assert held(warehouse)
            assert differences(before, metadata(warehouse)) == {}
            warehouse.cleaners[0].command("approve", "--yes")
            warehouse.wait_quiet()
            assert [name for (name,) in warehouse.hive("SHOW DATABASES")] == ["default"]
            assert db.leftovers(gone) == {}
        finally:
            warehouse.hdfs.move(place, WAREHOUSE)
        warehouse.wait_quiet()
        assert differences(before, metadata(warehouse)) == {}
        assert db.rows("customers", "id, name") == [(1, "Ada"), (2, "Grace")]

    def test_moved_it_is_reported_and_forgotten_when_it_is_back(self, db: OwnDatabase) -> None:
        warehouse = db.warehouse
        fill(db)
        warehouse.wait_quiet()
        before = metadata(warehouse)
        warehouse.hdfs.move("/warehouse", "/moved")
        try:
            warehouse.wait_quiet()
            assert warehouse.status()["problems"] != []
            assert differences(before, metadata(warehouse)) == {}
        finally:
            warehouse.hdfs.move("/moved", "/warehouse")
        warehouse.cleaners[0].command("approve", "--yes")
        warehouse.wait_quiet()
        assert warehouse.status()["problems"] == []
        assert differences(before, metadata(warehouse)) == {}
        assert db.is_bound("orders", "day=mon")

    def test_unreadable_nothing_of_it_goes(self, db: OwnDatabase) -> None:
        fill(db)
        db.warehouse.wait_quiet()
        before = metadata(db.warehouse)
        mode = db.warehouse.hdfs.status(WAREHOUSE)
        assert mode
        db.warehouse.hdfs.chmod(WAREHOUSE, "000")
        try:
            db.warehouse.cleaners[0].command("sync")
            db.warehouse.wait_quiet()
            assert differences(before, metadata(db.warehouse)) == {}
            assert db.told() == []
        finally:
            db.warehouse.hdfs.chmod(WAREHOUSE, mode.mode)

    def test_it_is_held_alone_and_others_are_followed(self, db: OwnDatabase) -> None:
        warehouse = db.warehouse
        db.hive(
            f"CREATE TABLE {{db}}.t (a INT) {ACID}",
            f"CREATE TABLE {{db}}.kept (a INT) {ACID}",
            "CREATE EXTERNAL TABLE {db}.far (a INT) STORED AS ORC",
        )
        warehouse.wait_quiet()
        root = posixpath.dirname(db.external)
        place = warehouse.hdfs.delete(root, skip_trash=False)
        try:
            warehouse.wait_quiet()
            waits = [one["path"] for one in json.loads(warehouse.cleaners[0].command("held", "--json"))]
            assert waits == [root]
            warehouse.hdfs.delete(db.path("t"))
            warehouse.wait_quiet()
            assert db.tables() == ["far", "kept"]
        finally:
            warehouse.hdfs.move(place, root)
        eventually(lambda: warehouse.status()["problems"], [], 60)


class TestUndo:
    """`hopshive undo` brings the right directory back from wherever the trash has it."""

    def test_of_two_deletions_of_one_name_the_newest_comes_back(self, db: OwnDatabase) -> None:
        path = ""
        for value in (1, 2):
            db.hive(f"CREATE TABLE {{db}}.t (a INT) {ACID}", f"INSERT INTO {{db}}.t VALUES ({value})")
            db.warehouse.wait_quiet()
            path = db.path("t")
            place = db.warehouse.hdfs.delete(path, skip_trash=False)
            db.warehouse.cleaners[0].command("wait")
            assert db.tables() == []
        assert f"moved {place} to {path}" in db.warehouse.cleaners[0].command("undo", "--path", path)
        assert db.rows("t") == [(2,)]


@pytest.mark.usefixtures("patient")
class TestTheNameNode:
    """Without a NameNode that answers nothing is removed; afterwards it is, if the directory is gone then."""

    def test_in_safe_mode_nothing_is_removed(self, db: OwnDatabase) -> None:
        db.hive(f"CREATE TABLE {{db}}.t (a INT) {ACID}", f"CREATE TABLE {{db}}.kept (a INT) {ACID}")
        db.warehouse.wait_quiet()
        db.warehouse.hdfs.delete(db.path("t"))
        began = time.monotonic()
        db.warehouse.hdfs.safe_mode(True)
        try:
            entered = time.monotonic() - began
            assert entered < GRACE, "too slow to show anything"
            assert any("safe mode" in problem for problem in db.warehouse.status()["problems"])
            time.sleep(GRACE)
            assert db.tables() == ["kept", "t"]
        finally:
            db.warehouse.hdfs.safe_mode(False)
        db.warehouse.wait_quiet()
        assert db.tables() == ["kept"]
        assert db.removed() == [f"hive.{db.name}.t"]

    def test_while_it_is_down_nothing_is_removed(self, db: OwnDatabase) -> None:
        db.hive(f"CREATE TABLE {{db}}.t (a INT) {ACID}", f"CREATE TABLE {{db}}.kept (a INT) {ACID}")
        db.warehouse.wait_quiet()
        began = time.monotonic()
        db.warehouse.hdfs.delete(db.path("t"))
        db.warehouse.namenode.kill()
        db.warehouse.namenode.stop()
        try:
            assert time.monotonic() - began < GRACE, "too slow to show anything"
            time.sleep(GRACE)
            assert db.removed() == []
        finally:
            db.warehouse.namenode.start()
            db.warehouse.hdfs.wait()
        db.warehouse.wait_quiet()
        assert db.tables() == ["kept"]
        db.hive("INSERT INTO {db}.kept VALUES (1)")
        assert db.rows("kept") == [(1,)]
