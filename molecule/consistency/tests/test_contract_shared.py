"""Directories that are not where one expects them: shared by two tables, outside of the table's, one in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import ELSEWHERE

if TYPE_CHECKING:
    from tests.contract import OwnDatabase

pytestmark = pytest.mark.usefixtures("an_empty_elsewhere")


def test_two_tables_on_one_directory_both_follow(db: OwnDatabase) -> None:
    for table in ("one", "two"):
        db.hive(f"CREATE EXTERNAL TABLE {{db}}.{table} (a INT) STORED AS PARQUET LOCATION '{ELSEWHERE}/shared'")
    db.hive("INSERT INTO {db}.one VALUES (1)")
    db.warehouse.wait_quiet()
    assert db.rows("two") == [(1,)]
    assert db.bound_to("one") == db.bound_to("two")
    gone = [db.footprint("one"), db.footprint("two")]
    place = db.warehouse.hdfs.delete(f"{ELSEWHERE}/shared", skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    assert [db.leftovers(table) for table in gone] == [{}, {}]
    db.warehouse.hdfs.move(place, f"{ELSEWHERE}/shared")
    db.warehouse.wait_quiet()
    assert db.rows("one") == db.rows("two") == [(1,)]
    assert db.bound_to("one") == db.bound_to("two") is not None
    # One of them is dropped: the other stays bound.
    db.hive("DROP TABLE {db}.one")
    db.warehouse.wait_quiet()
    assert db.is_bound("two")
    assert db.spark_rows("two") == [(1,)]


def test_a_table_in_another_tables_directory_goes_with_it(db: OwnDatabase) -> None:
    db.hive(
        f"CREATE EXTERNAL TABLE {{db}}.above (a INT) STORED AS PARQUET LOCATION '{ELSEWHERE}/above'",
        f"CREATE EXTERNAL TABLE {{db}}.below (a INT) STORED AS PARQUET LOCATION '{ELSEWHERE}/above/below'",
    )
    db.warehouse.wait_quiet()
    place = db.warehouse.hdfs.delete(f"{ELSEWHERE}/above/below", skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == ["above"]
    db.warehouse.hdfs.move(place, f"{ELSEWHERE}/above/below")
    db.warehouse.wait_quiet()
    assert db.tables() == ["above", "below"]
    db.warehouse.hdfs.delete(f"{ELSEWHERE}/above")
    db.warehouse.wait_quiet()
    assert db.tables() == []


@pytest.mark.parametrize("what", ["the partition", "the table"])
def test_a_partition_outside_of_its_table_follows(db: OwnDatabase, what: str) -> None:
    db.hive(
        "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS PARQUET",
        f"ALTER TABLE {{db}}.t ADD PARTITION (p = 1) LOCATION '{ELSEWHERE}/one'",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
    )
    db.warehouse.wait_quiet()
    assert db.path("t", "p=1") == f"{ELSEWHERE}/one"
    assert db.is_bound("t", "p=1")
    if what == "the partition":
        gone = db.footprint("t", "p=1")
        db.warehouse.hdfs.delete(f"{ELSEWHERE}/one")
        db.warehouse.wait_quiet()
        assert db.partitions("t") == ["p=2"]
        assert db.rows("t") == db.spark_rows("t") == [(2, 2)]
    else:
        # It is the table's all the same: it goes with it, and its directory stays, without an owner now.
        gone = db.footprint("t")
        db.warehouse.hdfs.delete(db.path("t"))
        db.warehouse.wait_quiet()
        assert db.tables() == []
        assert db.warehouse.hdfs.exists(f"{ELSEWHERE}/one")
    assert db.leftovers(gone) == {}
