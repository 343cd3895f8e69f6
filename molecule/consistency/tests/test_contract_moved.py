"""A directory is moved to another place than the trash: nothing for a while, then what the policy says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import ELSEWHERE, OwnDatabase, differences, metadata
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warehouse import Warehouse

pytestmark = pytest.mark.usefixtures("an_empty_elsewhere")


@pytest.fixture(scope="class")
def follow(warehouse: Warehouse) -> Iterator[None]:
    """The policy `follow`."""
    with warehouse.configured({"mirror": {"rename_policy": "follow"}}):
        yield


@pytest.fixture(scope="class")
def report(warehouse: Warehouse) -> Iterator[None]:
    """The policy `report`."""
    with warehouse.configured({"mirror": {"rename_policy": "report"}}):
        yield


def with_tables(db: OwnDatabase) -> None:
    """Table t of two partitions, external, and a transactional one."""
    db.hive(
        "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS PARQUET",
        f"CREATE TABLE {{db}}.acid (a INT) {ACID}",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
        "INSERT INTO {db}.acid VALUES (1)",
    )
    db.warehouse.wait_quiet()


class TestDelete:
    """The default: as if it were deleted."""

    def test_its_metadata_goes_after_the_grace(self, db: OwnDatabase) -> None:
        with_tables(db)
        gone = db.footprint("t")
        db.warehouse.hdfs.move(db.path("t"), f"{ELSEWHERE}/t")
        waited = db.warehouse.wait_quiet()
        assert waited > 5
        assert db.tables() == ["acid"]
        assert db.leftovers(gone) == {}

    def test_renamed_by_hand_it_goes_too(self, db: OwnDatabase) -> None:
        with_tables(db)
        gone = [db.footprint("t", "p=1"), db.footprint("acid")]
        db.warehouse.hdfs.move(db.path("t", "p=1"), f"{db.path('t')}/p=10")
        db.warehouse.hdfs.move(db.path("acid"), f"{db.managed}/renamed")
        db.warehouse.wait_quiet()
        assert db.tables() == ["t"]
        assert db.partitions("t") == ["p=2"]
        assert [db.leftovers(one) for one in gone] == [{}, {}]
        # Both are directories without metadata now; MSCK makes a partition of the one.
        assert db.told() == [("no metadata", f"{db.path('t')}/p=10"), ("no metadata", f"{db.managed}/renamed")]
        db.hive("MSCK REPAIR TABLE {db}.t")
        db.warehouse.wait_quiet()
        assert db.is_bound("t", "p=10")
        assert db.rows("t") == [(1, 10), (2, 2)]

    def test_moved_back_in_time_nothing_happens(self, db: OwnDatabase) -> None:
        with_tables(db)
        before, path = metadata(db.warehouse), db.path("t")
        db.warehouse.hdfs.move(path, f"{ELSEWHERE}/t")
        db.warehouse.hdfs.move(f"{ELSEWHERE}/t", path)
        db.warehouse.wait_quiet()
        assert db.removed() == []
        assert differences(before, metadata(db.warehouse)) == {}
        assert db.is_bound("t", "p=2")

    def test_moved_back_later_it_is_as_it_was(self, db: OwnDatabase) -> None:
        with_tables(db)
        before, path = metadata(db.warehouse), db.path("t")
        db.warehouse.hdfs.move(path, f"{ELSEWHERE}/t")
        db.warehouse.wait_quiet()
        assert db.tables() == ["acid"]
        db.warehouse.hdfs.move(f"{ELSEWHERE}/t", path)
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}
        assert db.rows("t") == [(1, 1), (2, 2)]


@pytest.mark.usefixtures("follow")
class TestFollow:
    """The metadata goes where the directory went."""

    def test_a_partition_follows(self, db: OwnDatabase) -> None:
        with_tables(db)
        ids = db.partition_ids("t")
        db.warehouse.hdfs.move(db.path("t", "p=1"), f"{ELSEWHERE}/one")
        db.warehouse.wait_quiet()
        assert db.path("t", "p=1") == f"{ELSEWHERE}/one"
        assert db.is_bound("t", "p=1")
        assert db.partition_ids("t") == ids
        assert db.rows("t") == [(1, 1), (2, 2)]
        assert db.spark_rows("t") == [(1, 1), (2, 2)]

    def test_renamed_by_hand_they_follow(self, db: OwnDatabase) -> None:
        with_tables(db)
        db.warehouse.hdfs.move(db.path("t", "p=1"), f"{db.path('t')}/p=10")
        db.warehouse.hdfs.move(db.path("acid"), f"{db.managed}/renamed")
        db.warehouse.wait_quiet()
        assert db.path("t", "p=1") == f"{db.path('t')}/p=10"
        assert db.path("acid") == f"{db.managed}/renamed"
        assert db.rows("t") == [(1, 1), (2, 2)]
        assert db.rows("acid") == [(1,)]
        assert db.told() == []

    def test_a_table_follows_with_its_partitions(self, db: OwnDatabase) -> None:
        with_tables(db)
        for table in ("t", "acid"):
            db.warehouse.hdfs.move(db.path(table), f"{ELSEWHERE}/{table}")
        db.warehouse.wait_quiet()
        assert db.path("t", "p=2") == f"{ELSEWHERE}/t/p=2"
        assert db.is_bound("t")
        assert db.is_bound("t", "p=2")
        assert db.removed() == []
        db.hive("INSERT INTO {db}.t VALUES (3, 3)", "INSERT INTO {db}.acid VALUES (2)")
        assert db.rows("t") == db.spark_rows("t") == [(1, 1), (2, 2), (3, 3)]
        assert db.rows("acid") == [(1,), (2,)]

    def test_a_database_follows_with_its_tables(self, db: OwnDatabase) -> None:
        with_tables(db)
        db.warehouse.hdfs.move(db.external, f"{ELSEWHERE}/external")
        db.warehouse.hdfs.move(db.managed, f"{ELSEWHERE}/managed")
        db.warehouse.wait_quiet()
        described = db.hive("DESCRIBE DATABASE {db}")[0]
        assert [str(place).partition(":8020")[2] for place in described[2:4]] == [
            f"{ELSEWHERE}/external",
            f"{ELSEWHERE}/managed",
        ]
        assert db.rows("t") == [(1, 1), (2, 2)]
        assert db.rows("acid") == [(1,)]
        assert db.removed() == []


@pytest.mark.usefixtures("report")
class TestReport:
    """Nothing happens before a human has said so."""

    def test_it_is_reported_and_forgotten_when_it_is_back(self, db: OwnDatabase) -> None:
        with_tables(db)
        before, path = metadata(db.warehouse), db.path("t")
        db.warehouse.hdfs.move(path, f"{ELSEWHERE}/t")
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}
        assert db.warehouse.status()["pending_checks"]["reported"] == 1
        assert any("hopshive approve" in problem for problem in db.warehouse.status()["problems"])
        assert {kind for kind, _ in db.told()} == {"no directory"}
        db.warehouse.hdfs.move(f"{ELSEWHERE}/t", path)
        db.warehouse.cleaners[0].command("approve", "--yes")
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}
        assert db.warehouse.status()["problems"] == []

    def test_approved_it_goes(self, db: OwnDatabase) -> None:
        with_tables(db)
        gone = db.footprint("t")
        db.warehouse.hdfs.move(db.path("t"), f"{ELSEWHERE}/t")
        db.warehouse.wait_quiet()
        assert db.tables() == ["acid", "t"]
        db.warehouse.cleaners[0].command("approve", "--yes")
        db.warehouse.wait_quiet()
        assert db.leftovers(gone) == {}
