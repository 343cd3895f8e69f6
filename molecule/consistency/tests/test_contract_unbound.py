"""Views, what lies on other file systems, and what only Spark can read: never bound, never removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import ELSEWHERE, differences, metadata
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from tests.contract import OwnDatabase


def test_a_view_is_never_bound_nor_removed(db: OwnDatabase) -> None:
    db.hive(
        f"CREATE TABLE {{db}}.t (a INT) {ACID}",
        "INSERT INTO {db}.t VALUES (1)",
        "CREATE VIEW {db}.v AS SELECT a FROM {db}.t",
    )
    db.warehouse.wait_quiet()
    # A descriptor that has no location, and is looked at no more.
    assert db.bound_to("v") is None
    db.warehouse.hdfs.delete(db.path("t"))
    db.warehouse.wait_quiet()
    assert db.tables() == ["v"]
    db.warehouse.cleaners[0].command("sync")
    db.warehouse.wait_quiet()
    assert db.tables() == ["v"]
    # Over a table that was made again it answers as before.
    db.hive(f"CREATE TABLE {{db}}.t (a INT) {ACID}", "INSERT INTO {db}.t VALUES (2)")
    assert db.rows("v") == [(2,)]


def test_what_lies_on_another_file_system_is_never_bound_nor_removed(db: OwnDatabase) -> None:
    db.hive(
        "CREATE EXTERNAL TABLE {db}.on_disk (a INT) STORED AS TEXTFILE LOCATION 'file:///tmp/{db}'",
        "CREATE EXTERNAL TABLE {db}.cloud (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
        "ALTER TABLE {db}.cloud ADD PARTITION (p = 1)",
        "CREATE EXTERNAL TABLE {db}.other_hdfs (a INT) STORED AS TEXTFILE",
    )
    # The lab has no object store to ask, and the metastore asks it before it lets a table lie there.
    places = {"cloud": "s3a://bucket/cloud", "other_hdfs": "hdfs://elsewhere:8020/warehouse/other"}
    for table, place in places.items():
        sds = f"s.SD_ID IN (SELECT SD_ID FROM TBLS WHERE TBL_ID = {db.table_id(table)} UNION"
        sds += f" SELECT SD_ID FROM PARTITIONS WHERE TBL_ID = {db.table_id(table)})"
        db.warehouse.metastore_sql(f"UPDATE SDS s SET s.LOCATION = %s WHERE {sds}", (place,))
    db.warehouse.wait_quiet()
    for table in ("on_disk", *places):
        assert db.bound_to(table) is None
    before = metadata(db.warehouse)
    # Nothing there is of interest, whatever happens to a directory of the same name here.
    db.warehouse.hdfs.delete(f"{db.external}/cloud")
    db.warehouse.hdfs.delete(f"{db.external}/other_hdfs")
    db.warehouse.cleaners[0].command("sync")
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.told() == []
    assert db.removed() == []


@pytest.mark.usefixtures("an_empty_elsewhere")
def test_a_table_that_only_spark_can_read_stays(db: OwnDatabase) -> None:
    # Hive learns of another directory, which Spark has it make and deletes at once.
    db.spark(f"CREATE TABLE {{db}}.t (a INT) USING csv LOCATION '{ELSEWHERE}/t'", "INSERT INTO {db}.t VALUES (1), (2)")
    db.warehouse.wait_quiet()
    assert db.location("t").endswith("/t-__PLACEHOLDER__")
    assert db.bound_to("t") is None
    assert db.spark_rows("t") == [(1,), (2,)]
    db.warehouse.cleaners[0].command("sync")
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(f"{ELSEWHERE}/t")
    db.warehouse.wait_quiet()
    assert db.tables() == ["t"]
    assert db.told() == []
    assert db.removed() == []
