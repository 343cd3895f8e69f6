"""Files come and go in a directory, engines delete it and make it again: the metadata stays."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.contract import eventually
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from tests.contract import OwnDatabase

HIVE_TABLES = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) {ACID}",
    "insert-only": "CREATE TABLE {db}.t (a INT) STORED AS PARQUET"
    " TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) STORED AS PARQUET",
}
PARTITIONED = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (p INT) {ACID}",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
}
SPARK_TABLES = {
    "parquet": "CREATE TABLE {db}.t (a INT) USING parquet",
    "text of Hive": "CREATE TABLE {db}.t (a INT) STORED AS TEXTFILE",
}
SPARK_PARTITIONED = {
    "parquet": "CREATE TABLE {db}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
    "text of Hive": "CREATE TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
}
# Seconds that a query takes: much longer than the grace of the scenario, half a second.
SLOW = 8
# Spark deletes what it overwrites before the query runs. How, and the rows that are there afterwards.
SLOW_OVERWRITES = {
    "a partition": ("PARTITION (p = 1) SELECT {value}", [(2, 2), (10, 1)]),
    "the table": ("SELECT {value}, CAST(id AS INT) FROM range(1, 3)", [(10, 1), (10, 2)]),
}


class Before:
    """The ids of a table and its partitions, to see that they stay."""

    def __init__(self, db: OwnDatabase) -> None:
        db.warehouse.wait_quiet()
        self._db = db
        self._table = db.table_id("t")
        self._partitions = db.partition_ids("t")

    def must_stay(self) -> None:
        """Table and partitions are the same rows, bound to the directories of now, and nothing was ever removed."""
        db = self._db
        db.warehouse.wait_quiet()
        assert db.table_id("t") == self._table
        now = db.partition_ids("t")
        assert {name: now.get(name) for name in self._partitions} == self._partitions
        assert db.is_bound("t")
        assert [name for name in now if not db.is_bound("t", name)] == []
        assert db.removed() == []


def test_only_the_files_of_a_table_are_deleted(db: OwnDatabase) -> None:
    db.hive(HIVE_TABLES["external"], "INSERT INTO {db}.t VALUES (1)")
    before = Before(db)
    assert db.warehouse.hdfs.delete_files(db.path("t")) == 1
    before.must_stay()
    assert db.rows("t") == []


def test_only_the_deltas_of_a_transactional_table_are_deleted(db: OwnDatabase) -> None:
    db.hive(HIVE_TABLES["acid"], "INSERT INTO {db}.t VALUES (1)", "INSERT INTO {db}.t VALUES (2)")
    before = Before(db)
    for item in db.warehouse.hdfs.listing(db.path("t")):
        db.warehouse.hdfs.delete(f"{db.path('t')}/{item.name}")
    before.must_stay()
    assert db.rows("t") == []
    db.hive("INSERT INTO {db}.t VALUES (3)")
    assert db.rows("t") == [(3,)]


def test_a_directory_is_deleted_and_made_again_in_the_grace(db: OwnDatabase) -> None:
    db.hive(PARTITIONED["external"], "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before = Before(db)
    for path in (db.path("t", "p=1"), db.path("t", "p=2")):
        db.warehouse.hdfs.delete(path)
        db.warehouse.hdfs.mkdir(path)
    before.must_stay()
    # All of it, from the top.
    db.warehouse.hdfs.delete(db.path("t"))
    for path in (db.path("t"), db.path("t", "p=1"), db.path("t", "p=2")):
        db.warehouse.hdfs.mkdir(path)
    before.must_stay()
    db.hive("INSERT INTO {db}.t VALUES (3, 1)")
    assert db.rows("t") == [(3, 1)]


@pytest.mark.parametrize("form", PARTITIONED)
def test_hive_truncates(db: OwnDatabase, form: str) -> None:
    purge = " TBLPROPERTIES ('external.table.purge' = 'true')" if form == "external" else ""
    db.hive(PARTITIONED[form] + purge, "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before = Before(db)
    db.hive("TRUNCATE TABLE {db}.t PARTITION (p = 1)")
    before.must_stay()
    assert db.rows("t") == [(2, 2)]


@pytest.mark.parametrize("form", HIVE_TABLES)
def test_hive_overwrites_a_table(db: OwnDatabase, form: str) -> None:
    db.hive(HIVE_TABLES[form], "INSERT INTO {db}.t VALUES (1)")
    before = Before(db)
    for number in (2, 3):
        db.hive(f"INSERT OVERWRITE TABLE {{db}}.t SELECT {number}")
    before.must_stay()
    assert db.rows("t") == [(3,)]


@pytest.mark.parametrize("form", PARTITIONED)
def test_hive_overwrites_dynamic_partitions(db: OwnDatabase, form: str) -> None:
    db.hive(PARTITIONED[form], "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before = Before(db)
    db.hive("INSERT OVERWRITE TABLE {db}.t PARTITION (p) SELECT 10, 1 UNION ALL SELECT 30, 3")
    before.must_stay()
    assert db.rows("t") == [(2, 2), (10, 1), (30, 3)]


@pytest.mark.parametrize("form", SPARK_TABLES)
def test_spark_overwrites_a_table(db: OwnDatabase, form: str) -> None:
    db.spark(SPARK_TABLES[form], "INSERT INTO {db}.t VALUES (1)")
    before = Before(db)
    for number in (2, 3):
        db.spark(f"INSERT OVERWRITE {{db}}.t VALUES ({number})")
    before.must_stay()
    assert db.spark_rows("t") == db.rows("t") == [(3,)]


@pytest.mark.parametrize("form", SPARK_PARTITIONED)
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_spark_overwrites_partitions(db: OwnDatabase, form: str, mode: str) -> None:
    db.spark("SET hive.exec.dynamic.partition.mode = nonstrict", SPARK_PARTITIONED[form])
    db.spark("INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before = Before(db)
    if mode == "static":
        db.spark("INSERT OVERWRITE {db}.t PARTITION (p = 1) VALUES (10)")
        wanted = [(2, 2), (10, 1)]
    else:
        db.spark("SET spark.sql.sources.partitionOverwriteMode = dynamic")
        db.spark("INSERT OVERWRITE {db}.t VALUES (10, 1), (30, 3)")
        db.spark("SET spark.sql.sources.partitionOverwriteMode = static")
        wanted = [(2, 2), (10, 1), (30, 3)]
    before.must_stay()
    assert db.spark_rows("t") == db.rows("t") == wanted


def test_spark_replaces_a_table_with_a_dataframe(db: OwnDatabase) -> None:
    spark = db.warehouse.spark_session
    spark.write("SELECT 1 AS a, 1 AS p", f"{db.name}.t", partition_by="p")
    db.warehouse.wait_quiet()
    # A DROP and a CREATE to the metastore: another table, and a directory of the same name.
    spark.write("SELECT 2 AS a, 2 AS p", f"{db.name}.t", mode="overwrite", partition_by="p")
    db.warehouse.wait_quiet()
    assert db.is_bound("t")
    assert db.is_bound("t", "p=2")
    assert db.spark_rows("t") == db.rows("t") == [(2, 2)]
    assert db.removed() == []


@pytest.mark.parametrize("what", SLOW_OVERWRITES)
def test_spark_overwrites_with_a_query_that_takes_its_time(db: OwnDatabase, what: str) -> None:
    query, wanted = SLOW_OVERWRITES[what]
    db.spark(SPARK_PARTITIONED["parquet"], "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before = Before(db)
    files = db.warehouse.hdfs
    path = db.path("t", "p=1")
    # What it returns is a text, as of all that returns nothing.
    value = f"10 + 0 * length(java_method('java.lang.Thread', 'sleep', {SLOW * 1000}L))"
    failed: list[Exception] = []

    def overwrite() -> None:
        try:
            db.spark(f"INSERT OVERWRITE {{db}}.t {query.format(value=value)}")
        except Exception as error:
            failed.append(error)

    statement = threading.Thread(target=overwrite)
    statement.start()
    try:
        eventually(lambda: files.exists(path) and not failed, False, 60)
        time.sleep(SLOW / 2)
        assert (files.exists(path), failed) == (False, [])
        assert {"p=1", "p=2"} <= set(db.partitions("t"))
    finally:
        statement.join()
    assert failed == []
    before.must_stay()
    assert db.spark_rows("t") == db.rows("t") == wanted
