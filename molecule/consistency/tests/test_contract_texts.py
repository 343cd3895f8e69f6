"""Text is what was typed: names, values, comments and locations in any script, through Hive, Spark, MSCK, mirror and journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.contract import differences, metadata
from tests.contract.objects import ACID

if TYPE_CHECKING:
    from tests.contract import OwnDatabase
    from tests.warehouse import Warehouse

# A value of each of ten scripts, and what is special in paths, patterns and SQL. Hive writes / = % : \ and quotes as %XX.
VALUES = [
    "日本", "東京", "Zürich", "Санкт-Петербург", "Αθήνα", "القاهرة", "ירושלים", "กรุงเทพ", "서울", "दिल्ली",
    "🐘", "a b", "it's", 'say "x"', "a/b=c%d:e", "back\\slash", "%E6%97%A5", "語" * 83 + "e",
]  # fmt: skip
FORMS = {
    "acid": f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (town STRING) {ACID}",
    "external": "CREATE EXTERNAL TABLE {db}.t (a INT) PARTITIONED BY (town STRING) STORED AS PARQUET",
}


@pytest.fixture(autouse=True)
def on_mariadb(warehouse: Warehouse) -> None:
    """On NDB the columns stay in latin1: a row of it has no room for more."""
    ((engine,),) = warehouse.metastore_sql(
        "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'SDS'"
    )
    if engine != "InnoDB":
        pytest.skip("the metastore's database is NDB Cluster, where text stays in latin1 (docs/ndb.md); run on MariaDB")


def literal(text: str) -> str:
    """As Hive and Spark read it in quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_values(db: OwnDatabase, form: str) -> None:
    """A table with a partition and a row for each value."""
    rows = ", ".join(f"({number}, {literal(value)})" for number, value in enumerate(VALUES))
    db.hive(FORMS[form], f"INSERT INTO {{db}}.t VALUES {rows}")
    db.warehouse.wait_quiet()


@pytest.mark.parametrize("form", FORMS)
def test_each_value_is_a_partition_that_is_bound_and_found(db: OwnDatabase, form: str) -> None:
    with_values(db, form)
    assert db.rows("t") == list(enumerate(VALUES))
    for number, value in enumerate(VALUES):
        assert db.rows("t", "a", f"town = {literal(value)}") == [(number,)], value
    for partition in db.partitions("t"):
        assert db.is_bound("t", partition), partition
    assert db.told() == []


def test_spark_and_hive_read_each_other_s_values(db: OwnDatabase) -> None:
    with_values(db, "external")
    assert db.spark_rows("t") == list(enumerate(VALUES))
    db.spark(
        "CREATE TABLE {db}.s (a INT, town STRING) USING parquet PARTITIONED BY (town) COMMENT 'Zürich 日本 🐘'",
        *(
            f"INSERT INTO {{db}}.s PARTITION (town = {literal(value)}) VALUES ({n})"
            for n, value in enumerate(VALUES[:3])
        ),
        "INSERT INTO {db}.s VALUES (10, '🐘'), (14, 'a/b=c%d:e')",
    )
    db.warehouse.wait_quiet()
    assert db.rows("s") == [(0, "日本"), (1, "東京"), (2, "Zürich"), (10, "🐘"), (14, "a/b=c%d:e")]
    assert "Zürich 日本 🐘" in str(db.hive("DESCRIBE FORMATTED {db}.s"))


def test_comments_columns_properties_and_views_are_what_was_typed(db: OwnDatabase) -> None:
    db.hive(
        "CREATE EXTERNAL TABLE {db}.c (id INT COMMENT '列の説明', `名前` STRING COMMENT 'имя') COMMENT 'Zürich 日本 🐘'"
        " PARTITIONED BY (town STRING COMMENT 'πόλη') STORED AS PARQUET TBLPROPERTIES ('キー' = '値 🐘')",
        "INSERT INTO {db}.c VALUES (1, 'x', '日本')",
        "CREATE VIEW {db}.v AS SELECT id FROM {db}.c WHERE town = '日本'",
        "ANALYZE TABLE {db}.c COMPUTE STATISTICS FOR COLUMNS",
    )
    shown = str(db.hive("SHOW CREATE TABLE {db}.c")) + str(db.hive("DESCRIBE {db}.c"))
    for typed in ("列の説明", "`名前` string", "имя", "Zürich 日本 🐘", "πόλη", "値 🐘"):
        assert typed in shown, typed
    assert db.hive("SELECT * FROM {db}.v") == [(1,)]
    assert db.spark("SELECT * FROM {db}.v") == [(1,)]


def test_locations_that_differ_in_any_script_are_two_directories(db: OwnDatabase) -> None:
    places = ["日本", "東京", "🐘", "100%", "%E6%97%A5", "a b"]
    for number, place in enumerate(places):
        db.hive(
            f"CREATE EXTERNAL TABLE {{db}}.x{number} (a INT) STORED AS PARQUET LOCATION {literal(f'{db.external}/at/{place}')}",
            f"INSERT INTO {{db}}.x{number} VALUES ({number})",
        )
    db.warehouse.wait_quiet()
    assert sorted(one.name for one in db.warehouse.hdfs.listing(f"{db.external}/at")) == sorted(places)
    for number in range(len(places)):
        assert db.rows(f"x{number}") == [(number,)]
        assert db.is_bound(f"x{number}")
    db.warehouse.hdfs.delete(f"{db.external}/at/東京")
    db.warehouse.wait_quiet()
    assert db.tables() == ["x0", "x2", "x3", "x4", "x5"]


def test_msck_finds_what_hdfs_has(db: OwnDatabase) -> None:
    db.hive("CREATE EXTERNAL TABLE {db}.m (a INT) PARTITIONED BY (p STRING) STORED AS PARQUET")
    for value in ("日本", "🐘", "a b", "Zürich"):
        db.warehouse.hdfs.mkdir(f"{db.path('m')}/p={value}")
    db.hive("MSCK REPAIR TABLE {db}.m")
    assert set(db.partitions("m")) == {"p=日本", "p=🐘", "p=a b", "p=Zürich"}


@pytest.mark.parametrize("form", FORMS)
def test_all_come_back_from_the_trash_as_they_were(db: OwnDatabase, form: str) -> None:
    with_values(db, form)
    before, path = metadata(db.warehouse), db.path("t")
    db.warehouse.hdfs.shell_rm(path)
    db.warehouse.wait_quiet()
    assert db.tables() == []
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert differences(before, metadata(db.warehouse)) == {}
    assert db.rows("t") == list(enumerate(VALUES))


def test_the_journal_names_what_went_and_restores_it_by_that_name(db: OwnDatabase) -> None:
    with_values(db, "external")
    path = db.path("t", "town=日本")
    db.warehouse.hdfs.delete(path)
    db.warehouse.wait_quiet()
    cleaner = db.warehouse.cleaners[0]
    (removal,) = [one for one in json.loads(cleaner.command("journal", "--json")) if one["path"] == path]
    (entry,) = json.loads(cleaner.command("journal", str(removal["id"]), "--json"))
    assert (entry["name"], entry["path"]) == (f"hive.{db.name}.t/town=日本", path)
    db.warehouse.hdfs.mkdir(path)
    cleaner.command("restore", "--name", entry["name"])
    assert "town=日本" in db.partitions("t")


def test_a_compaction_names_its_partition(db: OwnDatabase) -> None:
    db.hive(
        FORMS["acid"],
        "INSERT INTO {db}.t VALUES (1, '日本'), (2, '東京')",
        "INSERT INTO {db}.t VALUES (3, '日本')",
        "ALTER TABLE {db}.t PARTITION (town = '日本') COMPACT 'major' AND WAIT",
    )
    done = db.warehouse.metastore_sql(
        "SELECT CC_PARTITION, CC_STATE FROM COMPLETED_COMPACTIONS WHERE CC_DATABASE = %s"
        " UNION SELECT CQ_PARTITION, CQ_STATE FROM COMPACTION_QUEUE WHERE CQ_DATABASE = %s",
        (db.name, db.name),
    )
    assert {partition for partition, _state in done} == {"town=日本"}
    assert {state for _partition, state in done} <= {"r", "s"}
    assert db.rows("t") == [(1, "日本"), (2, "東京"), (3, "日本")]


def test_what_is_not_there_is_said_to_be_so(db: OwnDatabase) -> None:
    with pytest.raises(Exception, match="Table not found '表'"):
        db.hive("SELECT * FROM {db}.`表`")
