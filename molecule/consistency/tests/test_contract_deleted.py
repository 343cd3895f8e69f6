"""The directory of a partition, a table or a database is deleted or moved to the trash: the object goes with all below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.objects import ACID, COVERED, MANAGED, TABLES, fill
from tests.warehouse import HiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract import OwnDatabase
    from tests.warehouse import Warehouse

NOT_FOUND = "Table not found"

# How a directory goes: as a client does it, and really by Hadoop's shell (two seconds of a JVM).
WAYS: dict[str, Callable[[Warehouse, str], object]] = {
    "deleted": lambda warehouse, path: warehouse.hdfs.delete(path),
    "to the trash": lambda warehouse, path: warehouse.hdfs.delete(path, skip_trash=False),
    "by hdfs dfs -rm -skipTrash": lambda warehouse, path: warehouse.hdfs.shell_rm(path, skip_trash=True),
    "by hdfs dfs -rm": lambda warehouse, path: warehouse.hdfs.shell_rm(path),
}
CASES = [
    ("deleted", "external"),
    ("to the trash", "acid"),
    ("by hdfs dfs -rm -skipTrash", "acid"),
    ("by hdfs dfs -rm", "external"),
]
FORMS = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (p INT) {ACID}",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
}


def with_table(db: OwnDatabase, form: str) -> None:
    """A table of two partitions, bound."""
    db.hive(
        FORMS[form], "INSERT INTO {db}.t VALUES (1, 1), (2, 2)", "ANALYZE TABLE {db}.t COMPUTE STATISTICS FOR COLUMNS"
    )
    db.warehouse.wait_quiet()
    assert db.is_bound("t")
    assert db.is_bound("t", "p=1")


@pytest.mark.parametrize(("way", "form"), CASES)
def test_a_partition_goes_with_its_directory(db: OwnDatabase, way: str, form: str) -> None:
    with_table(db, form)
    gone = db.footprint("t", "p=1")
    WAYS[way](db.warehouse, db.path("t", "p=1"))
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["p=2"]
    assert db.leftovers(gone) == {}
    assert db.rows("t") == [(2, 2)]


@pytest.mark.parametrize(("way", "form"), CASES)
def test_a_table_goes_with_its_directory(db: OwnDatabase, way: str, form: str) -> None:
    with_table(db, form)
    gone = db.footprint("t")
    WAYS[way](db.warehouse, db.path("t"))
    db.warehouse.wait_quiet()
    assert db.tables() == []
    assert db.leftovers(gone) == {}
    with pytest.raises(HiveError, match=NOT_FOUND):
        db.hive("SELECT * FROM {db}.t")


@pytest.mark.parametrize("way", ["deleted", "by hdfs dfs -rm"])
def test_a_database_goes_with_its_directories(db: OwnDatabase, way: str) -> None:
    fill(db)
    db.warehouse.wait_quiet()
    gone = db.footprint()
    assert {place.replace(" by name", "").split(".")[0] for place in db.leftovers(gone)} >= COVERED
    WAYS[way](db.warehouse, db.managed)
    WAYS[way](db.warehouse, db.external)
    db.warehouse.wait_quiet()
    assert not db.exists()
    assert db.leftovers(gone) == {}


def test_with_its_directory_for_managed_tables_a_database_loses_these_only(db: OwnDatabase) -> None:
    fill(db)
    db.warehouse.wait_quiet()
    gone = [db.footprint(table) for table in MANAGED]
    db.warehouse.hdfs.delete(db.managed)
    db.warehouse.wait_quiet()
    assert db.tables() == [table for table in TABLES if table not in MANAGED]
    assert [db.leftovers(one) for one in gone] == [{}] * len(gone)
    assert db.rows("visits", "page, n, day") == [("home", 3, "tue"), ("home", 5, "mon"), ("shop", 7, "mon")]
    # Its directory is made again with the next table.
    db.hive(f"CREATE TABLE {{db}}.customers (id INT) {ACID}", "INSERT INTO {db}.customers VALUES (7)")
    db.warehouse.wait_quiet()
    assert db.rows("customers") == [(7,)]
    assert db.is_bound("customers")


def test_with_its_directory_for_external_tables_a_database_loses_these_only(db: OwnDatabase) -> None:
    db.hive(
        f"CREATE TABLE {{db}}.kept (a INT) {ACID}",
        "CREATE EXTERNAL TABLE {db}.lost (a INT) STORED AS ORC",
        "INSERT INTO {db}.kept VALUES (1)",
    )
    db.warehouse.wait_quiet()
    gone = db.footprint("lost")
    db.warehouse.hdfs.delete(db.external)
    db.warehouse.wait_quiet()
    assert db.tables() == ["kept"]
    assert db.leftovers(gone) == {}
    db.hive("INSERT INTO {db}.kept VALUES (2)")
    assert db.rows("kept") == [(1,), (2,)]
    # With the other one too, nothing is left of it.
    whole = db.footprint()
    db.warehouse.hdfs.delete(db.managed)
    db.warehouse.wait_quiet()
    assert not db.exists()
    assert db.leftovers(whole) == {}


def test_a_directory_above_partitions_takes_those_below_it(db: OwnDatabase) -> None:
    db.hive(
        "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (day STRING, hour INT) STORED AS ORC",
        "INSERT INTO {db}.t VALUES (1, 'mon', 1), (2, 'mon', 2), (3, 'tue', 1)",
    )
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(f"{db.path('t')}/day=mon")
    db.warehouse.wait_quiet()
    assert db.partitions("t") == ["day=tue/hour=1"]
    assert db.rows("t") == [(3, "tue", 1)]


def test_names_that_need_escapes_are_followed_too(db: OwnDatabase) -> None:
    names = ["a b", "50%", "x=y", "ü", "o'clock", "A", "a"]
    db.hive("CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (p STRING) STORED AS TEXTFILE")
    for name in names:
        quoted = name.replace("'", "\\'")
        db.hive(f"ALTER TABLE {{db}}.t ADD PARTITION (p = '{quoted}')")
    db.warehouse.wait_quiet()
    shown = db.partitions("t")
    assert len(shown) == len(names)
    for name in shown[:-1]:
        db.warehouse.hdfs.delete(db.path("t", name))
    db.warehouse.wait_quiet()
    assert db.partitions("t") == shown[-1:]
