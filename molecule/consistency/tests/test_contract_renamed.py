"""ALTER TABLE RENAME, SET LOCATION and ALTER PARTITION RENAME work, are bound to the new place, and lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import OwnDatabase
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) {ACID}",
    "acid-partitioned": f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (p INT) {ACID}",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) STORED AS PARQUET",
    "external-partitioned": "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
}


@pytest.fixture(name="other")
def another_database(db: OwnDatabase) -> Iterator[OwnDatabase]:
    """To move tables to."""
    other = OwnDatabase(db.warehouse, f"{db.name[:50]}_other")
    other.create()
    yield other
    other.drop()


def with_table(db: OwnDatabase, form: str) -> list[tuple[int, ...]]:
    """Table t; its rows."""
    partitioned = "partitioned" in form
    rows: list[tuple[int, ...]] = [(1, 1), (2, 2)] if partitioned else [(1,), (2,)]
    db.hive(TABLES[form], f"INSERT INTO {{db}}.t VALUES {'(1, 1), (2, 2)' if partitioned else '(1), (2)'}")
    db.warehouse.wait_quiet()
    return rows


def whole(db: OwnDatabase, table: str, rows: list[tuple[int, ...]]) -> None:
    """All rows are there, each directory is bound, and nothing was ever removed."""
    db.warehouse.wait_quiet()
    assert db.rows(table) == rows
    assert db.is_bound(table)
    assert [name for name in db.partition_ids(table) if not db.is_bound(table, name)] == []
    assert db.removed() == []


@pytest.mark.parametrize("form", TABLES)
def test_a_table_is_renamed_by_hive(db: OwnDatabase, form: str) -> None:
    rows = with_table(db, form)
    before = db.table_id("t")
    db.hive("ALTER TABLE {db}.t RENAME TO {db}.renamed")
    whole(db, "renamed", rows)
    assert db.table_id("renamed") == before
    assert db.tables() == ["renamed"]


@pytest.mark.parametrize("form", ["acid-partitioned", "external-partitioned"])
def test_a_table_is_renamed_to_another_database(db: OwnDatabase, other: OwnDatabase, form: str) -> None:
    rows = with_table(db, form)
    db.hive(f"ALTER TABLE {{db}}.t RENAME TO {other.name}.t")
    whole(other, "t", rows)
    assert db.tables() == []
    assert db.removed() == []


def test_a_table_is_renamed_by_spark(db: OwnDatabase) -> None:
    db.spark(
        "CREATE TABLE {db}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
    )
    db.warehouse.wait_quiet()
    db.spark("ALTER TABLE {db}.t RENAME TO {db}.renamed")
    whole(db, "renamed", [(1, 1), (2, 2)])
    assert db.spark_rows("renamed") == [(1, 1), (2, 2)]


@pytest.mark.parametrize("form", ["acid-partitioned", "external-partitioned"])
def test_a_partition_is_renamed(db: OwnDatabase, form: str) -> None:
    with_table(db, form)
    before = db.partition_ids("t")
    db.hive("ALTER TABLE {db}.t PARTITION (p = 1) RENAME TO PARTITION (p = 10)")
    whole(db, "t", [(1, 10), (2, 2)])
    assert db.partition_ids("t") == {"p=10": before["p=1"], "p=2": before["p=2"]}


def test_a_partition_is_renamed_by_spark(db: OwnDatabase) -> None:
    db.spark(
        "CREATE TABLE {db}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
    )
    db.warehouse.wait_quiet()
    db.spark("ALTER TABLE {db}.t PARTITION (p = 1) RENAME TO PARTITION (p = 10)")
    whole(db, "t", [(1, 10), (2, 2)])


def test_a_table_gets_another_location(db: OwnDatabase) -> None:
    with_table(db, "external")
    old, new = db.path("t"), f"{db.external}/elsewhere"
    db.warehouse.hdfs.mkdir(new)
    db.hive(f"ALTER TABLE {{db}}.t SET LOCATION '{db.location('t').removesuffix('/t')}/elsewhere'")
    whole(db, "t", [])
    assert db.path("t") == new
    db.hive("INSERT INTO {db}.t VALUES (3)")
    # Its former directory no longer matters.
    db.warehouse.hdfs.delete(old)
    whole(db, "t", [(3,)])


def test_a_table_gets_a_location_that_is_made_afterwards(db: OwnDatabase) -> None:
    with_table(db, "external")
    db.hive(f"ALTER TABLE {{db}}.t SET LOCATION '{db.location('t').removesuffix('/t')}/later'")
    db.hive("INSERT INTO {db}.t VALUES (3)")
    whole(db, "t", [(3,)])


def test_a_partition_gets_another_location(db: OwnDatabase) -> None:
    with_table(db, "external-partitioned")
    old, new = db.path("t", "p=1"), f"{db.external}/elsewhere"
    db.warehouse.hdfs.mkdir(new)
    db.hive(f"ALTER TABLE {{db}}.t PARTITION (p = 1) SET LOCATION '{db.location('t').removesuffix('/t')}/elsewhere'")
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(old)
    whole(db, "t", [(2, 2)])
    assert db.path("t", "p=1") == new
