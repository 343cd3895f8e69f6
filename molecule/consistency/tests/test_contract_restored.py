"""What is brought back from the trash gets its metadata back, exactly as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import differences, metadata
from tests.contract.objects import ACID, MANAGED, TABLES, fill

if TYPE_CHECKING:
    from tests.contract import OwnDatabase

FORMS = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (p INT) {ACID}",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS PARQUET",
}
# Statements on a table advance its write ids when its partitions change, and so do removal and return of a partition.
WRITE_IDS = ("NEXT_WRITE_ID", "TXN_TO_WRITE_ID")


def with_table(db: OwnDatabase, form: str) -> None:
    """A table of two partitions with statistics and a privilege."""
    db.hive(
        FORMS[form],
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2)",
        "ANALYZE TABLE {db}.t COMPUTE STATISTICS FOR COLUMNS",
        "GRANT SELECT ON TABLE {db}.t TO USER bob",
    )
    db.warehouse.wait_quiet()


def grants(db: OwnDatabase) -> list[tuple[object, ...]]:
    """What bob may do with the table."""
    return db.warehouse.metastore_sql(
        "SELECT PRINCIPAL_NAME, TBL_PRIV FROM TBL_PRIVS WHERE TBL_ID = %s AND PRINCIPAL_NAME = 'bob'",
        (db.table_id("t"),),
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_table_comes_back_from_the_trash_as_it_was(db: OwnDatabase, form: str) -> None:
    with_table(db, form)
    before, granted, path = metadata(db.warehouse), grants(db), db.path("t")
    assert granted
    db.warehouse.hdfs.shell_rm(path)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.is_bound("t")
    assert db.is_bound("t", "p=1")
    assert grants(db) == granted
    assert db.rows("t") == [(1, 1), (2, 2)]
    if form == "external":
        assert db.spark_rows("t") == [(1, 1), (2, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_a_partition_comes_back_from_the_trash_as_it_was(db: OwnDatabase, form: str) -> None:
    with_table(db, form)
    before, path = metadata(db.warehouse, ignore=WRITE_IDS), db.path("t", "p=1")
    db.warehouse.hdfs.shell_rm(path)
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["p=2"]
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse, ignore=WRITE_IDS)) == {}
    assert db.is_bound("t", "p=1")
    assert db.rows("t") == [(1, 1), (2, 2)]


def test_a_database_with_one_of_everything_comes_back_from_the_trash_as_it_was(db: OwnDatabase) -> None:
    fill(db)
    db.warehouse.wait_quiet()
    before = metadata(db.warehouse)
    db.warehouse.hdfs.shell_rm(db.managed)
    db.warehouse.hdfs.shell_rm(db.external)
    db.warehouse.wait_quiet()
    assert not db.exists()
    db.warehouse.hdfs.restore_from_trash(db.managed)
    db.warehouse.hdfs.restore_from_trash(db.external)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("customers", "id, name") == [(1, "Ada"), (2, "Grace")]
    assert db.rows("big", "id, amount") == [(2, 20), (3, 30)]
    assert db.rows("per_customer") == [(1, 41), (2, 20)]
    assert db.spark_rows("visits", "page, n") == [("home", 3), ("home", 5), ("shop", 7)]
    assert db.hive("SELECT {db}.shout('x')") == [("X",)]


def test_a_database_comes_back_with_the_directory_that_is_back(db: OwnDatabase) -> None:
    fill(db)
    db.warehouse.wait_quiet()
    before = metadata(db.warehouse)
    for path in (db.managed, db.external):
        db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.restore_from_trash(db.external)
    db.warehouse.wait_quiet()
    # What has no directory comes back with what it is about.
    assert [table for table in db.tables() if table != "big"] == [
        table for table in TABLES if table not in [*MANAGED, "big"]
    ]
    db.warehouse.hdfs.restore_from_trash(db.managed)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}


def test_what_goes_and_comes_back_twice_is_as_it_was(db: OwnDatabase) -> None:
    with_table(db, "external")
    before, path = metadata(db.warehouse), db.path("t")
    for _ in range(2):
        db.warehouse.hdfs.delete(path, skip_trash=False)
        db.warehouse.wait_quiet()
        assert db.tables() == []
        db.warehouse.hdfs.restore_from_trash(path)
        db.warehouse.wait_quiet()
        assert differences(before, metadata(db.warehouse)) == {}


def test_what_was_copied_back_is_restored_by_hand(db: OwnDatabase) -> None:
    with_table(db, "external")
    before, path = metadata(db.warehouse), db.path("t")
    place = db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    # Another directory than the one that went: only a human knows that it is the same.
    db.warehouse.hdfs.copy_back(place, path)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.warehouse.cleaners[0].command("restore", "--name", f"hive.{db.name}.t")
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("t") == [(1, 1), (2, 2)]


def test_a_table_that_goes_as_soon_as_it_was_made_comes_back(db: OwnDatabase) -> None:
    db.hive(FORMS["external"], "INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    before, path = metadata(db.warehouse), db.path("t")
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("t") == [(1, 1), (2, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_what_comes_and_goes_faster_than_it_is_looked_at_comes_back(db: OwnDatabase, form: str) -> None:
    with_table(db, form)
    before, path = metadata(db.warehouse), db.path("t")
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    for _ in range(5):
        db.warehouse.hdfs.restore_from_trash(path)
        db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("t") == [(1, 1), (2, 2)]


@pytest.mark.parametrize("back", ["the old one", "the last one"])
def test_of_a_directory_and_its_replacement_the_first_that_returns_has_the_metadata(db: OwnDatabase, back: str) -> None:
    with_table(db, "external")
    before, path = metadata(db.warehouse, ignore=WRITE_IDS), db.path("t", "p=1")
    places = []
    # No client looks in between.
    for cleaner in db.warehouse.cleaners:
        cleaner.stop()
    try:
        for _ in range(3):
            places.append(db.warehouse.hdfs.delete(path, skip_trash=False))
            db.warehouse.hdfs.mkdir(path)
        places.append(db.warehouse.hdfs.delete(path, skip_trash=False))
    finally:
        for cleaner in db.warehouse.cleaners:
            cleaner.start()
    db.warehouse.wait_leader()
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["p=2"]
    first, second = places[:: 3 if back == "the old one" else -3]
    db.warehouse.hdfs.move(first, path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse, ignore=WRITE_IDS)) == {}
    assert db.rows("t") == ([(1, 1), (2, 2)] if back == "the old one" else [(2, 2)])
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.move(second, path)
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["p=2"]


def test_a_partition_that_spark_overwrote_and_that_went_at_once_comes_back(db: OwnDatabase) -> None:
    with_table(db, "external")
    db.warehouse.spark(f"INSERT OVERWRITE {db.name}.t PARTITION (p = 1) SELECT 10")
    before, path = metadata(db.warehouse, ignore=WRITE_IDS), db.path("t", "p=1")
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["p=2"]
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse, ignore=WRITE_IDS)) == {}
    assert db.spark_rows("t") == [(2, 2), (10, 1)]


def test_partitions_that_were_made_and_deleted_without_a_leader_come_back_with_their_table(db: OwnDatabase) -> None:
    with_table(db, "external")
    for cleaner in db.warehouse.cleaners:
        cleaner.stop()
    try:
        db.hive("INSERT INTO {db}.t VALUES (3, 3), (4, 4)")
        before, path = metadata(db.warehouse), db.path("t")
        db.warehouse.hdfs.delete(path, skip_trash=False)
    finally:
        for cleaner in db.warehouse.cleaners:
            cleaner.start()
    db.warehouse.wait_leader()
    db.warehouse.wait_quiet()
    assert db.tables() == []
    leader = db.warehouse.leading()
    assert leader is not None
    # Another process leads, or the same one again.
    leader.kill()
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_leader()
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("t") == [(1, 1), (2, 2), (3, 3), (4, 4)]
