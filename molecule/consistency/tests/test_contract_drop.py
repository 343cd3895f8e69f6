"""DROP in Hive and in Spark: as stock. That nothing is left behind after the cleaner is asked at the end, in test_whole.py.

The cleaner looks twice at what no removal told it of, a minute apart: waiting for it here would take a minute each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.objects import ACID, COVERED, TABLES, fill

if TYPE_CHECKING:
    from tests.contract import Footprint, OwnDatabase

_PARTITIONED = "(a INT) PARTITIONED BY (p INT)"
TEXT = "STORED AS TEXTFILE"


@pytest.mark.parametrize("form", [TEXT, ACID], ids=["text", "acid"])
def test_hive_drops_a_partition(db: OwnDatabase, dropped: list[Footprint], form: str) -> None:
    db.hive(
        f"CREATE TABLE {{db}}.t {_PARTITIONED} {form}",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
        "ANALYZE TABLE {db}.t COMPUTE STATISTICS FOR COLUMNS",
    )
    db.warehouse.wait_quiet()
    dropped.append(db.footprint("t", "p=1"))
    db.hive("ALTER TABLE {db}.t DROP PARTITION (p = 1)")
    db.warehouse.wait_quiet()
    assert db.rows("t") == [(2, 2)]


@pytest.mark.parametrize("form", [TEXT, ACID], ids=["text", "acid"])
def test_hive_drops_a_table(db: OwnDatabase, dropped: list[Footprint], form: str) -> None:
    db.hive(f"CREATE TABLE {{db}}.t {_PARTITIONED} {form}", "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    db.warehouse.wait_quiet()
    dropped.append(db.footprint("t"))
    db.hive("DROP TABLE {db}.t")
    db.warehouse.wait_quiet()
    assert db.tables() == []


def test_hive_drops_a_database_with_one_of_everything(db: OwnDatabase, dropped: list[Footprint]) -> None:
    fill(db)
    assert db.tables() == TABLES
    whole = db.footprint()
    # So that the proof at the end is one: there is something to be left in each of these.
    assert {place.replace(" by name", "").split(".")[0] for place in db.leftovers(whole)} >= COVERED
    dropped.append(whole)
    db.warehouse.wait_quiet()
    db.drop()
    db.warehouse.wait_quiet()
    assert not db.exists()


def test_spark_drops_a_partition_a_table_and_a_database(db: OwnDatabase, dropped: list[Footprint]) -> None:
    db.spark(
        "CREATE TABLE {db}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
        "ANALYZE TABLE {db}.t COMPUTE STATISTICS FOR ALL COLUMNS",
    )
    db.warehouse.wait_quiet()
    dropped += [db.footprint("t", "p=1"), db.footprint("t"), db.footprint()]
    db.spark("ALTER TABLE {db}.t DROP PARTITION (p = 1)")
    db.warehouse.wait_quiet()
    assert db.spark_rows("t") == [(2, 2)]
    db.spark("DROP TABLE {db}.t")
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.spark("DROP DATABASE {db} CASCADE")
    db.warehouse.wait_quiet()
    assert not db.exists()
