"""Transactional tables whose directories go, come back, or are made again: they read, write and compact as they should."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import eventually
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from tests.contract import OwnDatabase

# Seconds until a compaction has been done and cleaned up after.
COMPACTED = 120
FORMS = {
    "table": (f"CREATE TABLE {{db}}.t (a INT, b STRING) {ACID}", ""),
    "partitioned": (f"CREATE TABLE {{db}}.t (a INT, b STRING) PARTITIONED BY (p INT) {ACID}", ", 1"),
}


def with_deltas(db: OwnDatabase, form: str) -> None:
    """A table that was inserted into twice, updated and deleted from: rows 1, 20 and 3."""
    create, value = FORMS[form]
    db.hive(
        create,
        f"INSERT INTO {{db}}.t VALUES (1, 'x'{value}), (2, 'x'{value})",
        f"INSERT INTO {{db}}.t VALUES (3, 'x'{value}), (4, 'x'{value})",
        "UPDATE {db}.t SET b = 'y' WHERE a = 2",
        "DELETE FROM {db}.t WHERE a = 4",
    )
    db.warehouse.wait_quiet()


def compact(db: OwnDatabase, form: str) -> None:
    """A major compaction, to its end: one base, no delta."""
    where, spec = ("p=1", " PARTITION (p = 1)") if form == "partitioned" else ("", "")
    db.hive(f"ALTER TABLE {{db}}.t{spec} COMPACT 'major'")
    path = db.path("t", where)
    listed = lambda: {item.name.partition("_")[0] for item in db.warehouse.hdfs.listing(path)}  # noqa: E731
    eventually(listed, {"base"}, COMPACTED)


@pytest.mark.parametrize("form", FORMS)
def test_brought_back_it_reads_writes_and_compacts(db: OwnDatabase, form: str) -> None:
    with_deltas(db, form)
    path = db.path("t", "p=1" if form == "partitioned" else "")
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert db.tables() == (["t"] if form == "partitioned" else [])
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert db.rows("t", "a, b") == [(1, "x"), (2, "y"), (3, "x")]
    value = FORMS[form][1]
    db.hive(f"INSERT INTO {{db}}.t VALUES (5, 'x'{value})", "UPDATE {db}.t SET b = 'z' WHERE a = 3")
    wanted = [(1, "x"), (2, "y"), (3, "z"), (5, "x")]
    assert db.rows("t", "a, b") == wanted
    compact(db, form)
    assert db.rows("t", "a, b") == wanted
    db.hive("DELETE FROM {db}.t WHERE a = 1")
    assert db.rows("t", "a, b") == wanted[1:]
    assert db.is_bound("t")


def test_made_again_under_the_same_name_it_has_nothing_of_the_former(db: OwnDatabase) -> None:
    with_deltas(db, "table")
    former = db.footprint("t")
    db.warehouse.hdfs.delete(db.path("t"))
    db.warehouse.wait_quiet()
    assert db.leftovers(former) == {}
    db.hive(FORMS["table"][0])
    assert db.rows("t", "a, b") == []
    db.hive(
        "INSERT INTO {db}.t VALUES (7, 'x')", "INSERT INTO {db}.t VALUES (8, 'x')", "DELETE FROM {db}.t WHERE a = 7"
    )
    assert db.rows("t", "a, b") == [(8, "x")]
    compact(db, "table")
    assert db.rows("t", "a, b") == [(8, "x")]


def test_a_partition_made_again_under_the_same_name_has_nothing_of_the_former(db: OwnDatabase) -> None:
    with_deltas(db, "partitioned")
    former = db.footprint("t", "p=1")
    db.warehouse.hdfs.delete(db.path("t", "p=1"))
    db.warehouse.wait_quiet()
    assert db.partitions("t") == []
    assert db.leftovers(former) == {}
    db.hive("INSERT INTO {db}.t VALUES (7, 'x', 1)", "UPDATE {db}.t SET b = 'y' WHERE a = 7")
    assert db.rows("t") == [(7, "y", 1)]
    compact(db, "partitioned")
    assert db.rows("t") == [(7, "y", 1)]


def test_a_compaction_that_was_asked_for_does_not_trip_over_a_directory_that_went(db: OwnDatabase) -> None:
    with_deltas(db, "partitioned")
    db.hive("INSERT INTO {db}.t VALUES (9, 'x', 2)", "ALTER TABLE {db}.t PARTITION (p = 1) COMPACT 'major'")
    db.warehouse.hdfs.delete(db.path("t", "p=1"))
    db.warehouse.wait_quiet()
    # Of the partition that went nothing is queued, running or failed; the other compacts.
    mine = "SELECT CQ_PARTITION, CQ_STATE FROM COMPACTION_QUEUE WHERE CQ_DATABASE = %s AND CQ_PARTITION = 'p=1'"
    eventually(lambda: db.warehouse.metastore_sql(mine, (db.name,)), [], COMPACTED)
    db.hive("INSERT INTO {db}.t VALUES (10, 'x', 2)", "ALTER TABLE {db}.t PARTITION (p = 2) COMPACT 'major'")
    path = db.path("t", "p=2")
    eventually(lambda: [item.name.partition("_")[0] for item in db.warehouse.hdfs.listing(path)], ["base"], COMPACTED)
    assert db.rows("t", "a, p") == [(9, 2), (10, 2)]
