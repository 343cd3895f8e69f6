"""Hive 4.0.1's own statements on the converted schema: a metastore with direct SQL and a HiveServer2, and what was typed."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pymysql
import pytest

from tests.bench.rig import UNMEASURED, Rig, wait_for_value, wait_until_bound
from tests.support.mirror_world import Files
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.thrift_metastore import ThriftMetastore
    from tests.support.metastore_db import Metastore

DATABASE = "texts"
# A value of each of ten scripts, and what is special in paths, patterns and SQL. Hive writes / = % : \ and quotes as %XX.
VALUES = [
    "日本", "東京", "Zürich", "Санкт-Петербург", "Αθήνα", "القاهرة", "ירושלים", "กรุงเทพ", "서울", "दिल्ली",
    "🐘", "a b", " lead", "it's", 'say "x"', "a/b=c%d:e", "back\\slash", "%E6%97%A5", "_", "語" * 83 + "e",
]  # fmt: skip
# Locations: HDFS has no colon in a name.
PLACES = ["日本", "東京", "🐘", "a b", "100%", "%E6%97%A5", "it's"]


@dataclass(frozen=True)
class Warehouse:
    """The servers of the test."""

    rig: Rig
    metastore: Metastore
    hive: HiveSession
    thrift: ThriftMetastore

    def text(self, sql: str) -> str:
        """What a statement answers, in one string."""
        return "\n".join("\t".join(str(value) for value in row) for row in self.hive.execute(sql))


def literal(text: str) -> str:
    """As Hive reads it in quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with ExitStack() as stack:
        rig = Rig(tmp_path_factory.mktemp("texts"), stack, UNMEASURED)
        metastore = stack.enter_context(rig.database(DATABASE))
        metastore.mariadb.execute("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1")
        assert rig.namenode
        Files(rig.hdfs).ready()
        port = stack.enter_context(rig.metastore(DATABASE))
        hive = stack.enter_context(rig.server2(DATABASE, port))
        hive.execute("CREATE DATABASE d COMMENT 'データ 🐘' WITH DBPROPERTIES ('キー' = '値')")
        hive.execute("USE d")
        hive.execute("SET hive.exec.dynamic.partition.mode=nonstrict")
        yield Warehouse(rig, metastore, hive, stack.enter_context(rig.client(port)))


# Each test begins where the one before ended: the servers are started once.


def test_what_is_not_there_is_said_to_be_so_in_any_script(warehouse: Warehouse) -> None:
    with pytest.raises(HiveError, match="Table not found '表'"):
        warehouse.hive.execute("SELECT * FROM `表`")
    with pytest.raises(HiveError, match="Database does not exist: データ"):
        warehouse.hive.execute("USE `データ`")
    warehouse.hive.execute("DROP TABLE IF EXISTS `表`")


def test_comments_columns_and_properties_are_what_was_typed(warehouse: Warehouse) -> None:
    warehouse.hive.execute(
        "CREATE EXTERNAL TABLE t (id int COMMENT '列の説明', `名前` string COMMENT 'имя') COMMENT 'Zürich 日本 🐘'"
        " PARTITIONED BY (town string COMMENT 'πόλη') STORED AS TEXTFILE TBLPROPERTIES ('キー' = '値 🐘')"
    )
    shown = warehouse.text("SHOW CREATE TABLE t") + warehouse.text("DESCRIBE t")
    for typed in ("'列の説明'", "`名前` string COMMENT 'имя'", "COMMENT 'Zürich 日本 🐘'", "πόλη", "'キー'='値 🐘'"):
        assert typed in shown
    described = warehouse.text("DESCRIBE DATABASE EXTENDED d")
    assert "データ 🐘" in described
    assert "{キー=値}" in described


def test_partitions_are_made_found_and_dropped_by_their_values(warehouse: Warehouse) -> None:
    rows = ", ".join(f"({number}, 'x', {literal(value)})" for number, value in enumerate(VALUES))
    warehouse.hive.execute(f"INSERT INTO t PARTITION (town) VALUES {rows}")
    found = warehouse.hive.execute("SELECT id, town FROM t")
    assert sorted(found) == list(enumerate(VALUES))
    for number, value in enumerate(VALUES):
        assert warehouse.hive.execute(f"SELECT id FROM t WHERE town = {literal(value)}") == [(number,)], value
    warehouse.hive.execute("ALTER TABLE t PARTITION (town='東京') RENAME TO PARTITION (town='京都')")
    warehouse.hive.execute("ALTER TABLE t DROP PARTITION (town='Zürich')")
    names = warehouse.text("SHOW PARTITIONS t").splitlines()
    assert {"town=京都", "town=日本", "town=🐘", "town=a%2Fb%3Dc%25d%3Ae"} <= set(names)
    assert not {"town=東京", "town=Zürich"} & set(names)


def test_a_filter_on_partitions_is_answered_by_direct_sql(warehouse: Warehouse) -> None:
    for condition, wanted in (("LIKE '日%'", {"日本"}), ("IN ('京都', '서울')", {"京都", "서울"})):
        # What a query would read: no job runs.
        ((plan,),) = warehouse.hive.execute(f"EXPLAIN DEPENDENCY SELECT * FROM t WHERE town {condition}")
        read = {one["partitionName"] for one in json.loads(plan)["input_partitions"]}
        assert read == {f"d@t@town={value}" for value in wanted}
    by_name = warehouse.thrift.get_partitions("d", "t", ["town=日本", "town=🐘", "town=Zürich"])
    assert sorted(one[1][0].decode() for one in by_name) == ["日本", "🐘"]
    log = (warehouse.rig.directory / f"metastore.{DATABASE}.log").read_text(errors="replace")
    assert "Falling back to ORM" not in log
    assert "Illegal mix" not in log


def test_statistics_are_kept_by_partition_and_column(warehouse: Warehouse) -> None:
    warehouse.hive.execute("ANALYZE TABLE t PARTITION (town) COMPUTE STATISTICS FOR COLUMNS")
    assert "distinct_count\t1" in warehouse.text("DESCRIBE FORMATTED t PARTITION (town='日本') `名前`")
    names = {row[0] for row in warehouse.metastore.execute("SELECT DISTINCT PARTITION_NAME FROM PART_COL_STATS")}
    assert {"town=日本", "town=京都", "town=🐘"} <= names


def test_a_view_asks_for_what_was_typed(warehouse: Warehouse) -> None:
    warehouse.hive.execute("CREATE VIEW v AS SELECT id FROM t WHERE town = '日本'")
    assert warehouse.hive.execute("SELECT * FROM v") == [(0,)]
    assert "'日本'" in warehouse.text("SHOW CREATE TABLE v")


def test_each_location_is_a_directory_of_its_own(warehouse: Warehouse) -> None:
    for number, place in enumerate(PLACES):
        warehouse.hive.execute(f"CREATE EXTERNAL TABLE x{number} (a string) LOCATION {literal('/x/' + place)}")
    warehouse.hive.execute("CREATE EXTERNAL TABLE y (a string) PARTITIONED BY (p string) LOCATION '/y'")
    for number, place in enumerate(PLACES):
        warehouse.hive.execute(f"ALTER TABLE y ADD PARTITION (p='{number}') LOCATION {literal('/z/' + place)}")
    locations = {row[0] for row in warehouse.metastore.execute("SELECT LOCATION FROM SDS")}
    assert {f"{warehouse.rig.uri}/{above}/{place}" for above in "xz" for place in PLACES} <= locations
    files = Files(warehouse.rig.hdfs)
    for above in ("/x", "/z"):
        listed = files.ask("GET", "LISTSTATUS", above)["FileStatuses"]["FileStatus"]
        assert {one["pathSuffix"] for one in listed} == set(PLACES)


def test_the_mirror_follows_each_of_them(warehouse: Warehouse) -> None:
    metastore = warehouse.metastore
    with warehouse.rig.daemon(metastore, warehouse.rig.config(metastore)):
        wait_until_bound(metastore, 60)
        apart = metastore.execute("SELECT LOCATION FROM SDS WHERE LOCATION IS NOT NULL AND PARTITION_ID IS NULL")
        assert apart == []
        files = Files(warehouse.rig.hdfs)
        for place in PLACES:
            files.delete(f"/x/{place}")
        files.delete(f"{warehouse.thrift.get_table('d', 't')[7][2].decode().removeprefix(warehouse.rig.uri)}/town=日本")
        wait_for_none(warehouse, "SELECT 1 FROM TBLS WHERE TBL_NAME LIKE 'x_'")
        wait_for_none(warehouse, "SELECT 1 FROM PARTITIONS WHERE PART_NAME = 'town=日本'")
    assert warehouse.hive.execute("SELECT id FROM t WHERE town = '日本'") == []
    assert warehouse.hive.execute("SELECT id FROM t WHERE town = '京都'") == [(1,)]


def wait_for_none(warehouse: Warehouse, sql: str) -> None:
    wait_for_value(warehouse.metastore, f"SELECT NOT EXISTS ({sql})", 1, 60)


def test_msck_finds_partitions_by_their_directories(warehouse: Warehouse) -> None:
    warehouse.hive.execute(
        "CREATE EXTERNAL TABLE m (a string) PARTITIONED BY (p string) STORED AS TEXTFILE LOCATION '/m'"
    )
    files = Files(warehouse.rig.hdfs)
    for value in ("日本", "🐘", "a b", "a%2Fb", "Zürich"):
        files.mkdir(f"/m/p={value}")
    warehouse.hive.execute("SET hive.msck.path.validation=ignore")
    warehouse.hive.execute("MSCK REPAIR TABLE m")
    assert set(warehouse.text("SHOW PARTITIONS m").splitlines()) == {
        "p=日本", "p=🐘", "p=a b", "p=a%2Fb", "p=Zürich",
    }  # fmt: skip
    files.delete("/m/p=🐘")
    warehouse.hive.execute("MSCK REPAIR TABLE m SYNC PARTITIONS")
    assert "p=🐘" not in warehouse.text("SHOW PARTITIONS m")


def test_transactions_and_compactions_name_partitions_as_they_are(warehouse: Warehouse) -> None:
    warehouse.hive.execute(
        "CREATE TABLE a (id int, name string) PARTITIONED BY (town string) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    warehouse.hive.execute("INSERT INTO a VALUES (1, 'one', '日本'), (2, 'two', '東京'), (3, 'x', 'a'), (4, 'y', 'A')")
    warehouse.hive.execute("UPDATE a SET name = 'eins' WHERE town = '日本'")
    warehouse.hive.execute("ALTER TABLE a PARTITION (town='日本') COMPACT 'major'")
    warehouse.hive.execute("ALTER TABLE a DROP PARTITION (town='A')")
    assert sorted(warehouse.hive.execute("SELECT name, town FROM a")) == [("eins", "日本"), ("two", "東京"), ("x", "a")]
    queued = warehouse.metastore.execute("SELECT CQ_PARTITION FROM COMPACTION_QUEUE")
    assert queued == [("town=日本",)]
    left = warehouse.metastore.execute("SELECT DISTINCT CTC_PARTITION FROM COMPLETED_TXN_COMPONENTS")
    assert {row[0] for row in left} == {"town=日本", "town=東京", "town=a"}


def test_defaults_and_names_of_constraints_are_what_was_typed(warehouse: Warehouse) -> None:
    warehouse.hive.execute(
        "CREATE TABLE c (i int, s string DEFAULT '日本', CONSTRAINT `制約` PRIMARY KEY (i) DISABLE NOVALIDATE)"
    )
    constraints = warehouse.metastore.execute("SELECT CONSTRAINT_NAME, DEFAULT_VALUE FROM KEY_CONSTRAINTS ORDER BY 2")
    assert constraints[0][0] == "制約"
    assert constraints[1][1] == "'日本'"


def test_no_statement_of_hive_compares_two_character_sets(warehouse: Warehouse) -> None:
    """Of all that the tests above made Hive ask: a column that the server converts is one whose index it does not use."""
    converted = set()
    asked = 0
    with pymysql.connect(
        unix_socket=warehouse.metastore.mariadb.socket, user="root", database=DATABASE, autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("SET GLOBAL general_log = 0")
        cursor.execute("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES'")
        cursor.execute(
            "SELECT DISTINCT argument FROM mysql.general_log WHERE command_type = 'Query' AND user_host LIKE 'hive%'"
        )
        for statements in [_said(row[0]) for row in cursor.fetchall()]:
            for statement in statements.split(";"):
                text = re.sub(r"^/\*.*?\*/\s*", "", statement.strip())
                if not re.match(r"(?i)(select|update|delete|insert)\b.*\bwhere\b", text, re.DOTALL):
                    continue
                try:
                    cursor.execute(f"EXPLAIN EXTENDED {text}")
                except pymysql.MySQLError:
                    # Cut in a text with a semicolon, or about a row that is gone.
                    continue
                asked += 1
                cursor.execute("SHOW WARNINGS")
                for _level, _code, plan in cursor.fetchall():
                    converted |= set(re.findall(r"convert\(`[^()]*`\.`(\w+`\.`\w+)` using utf8mb4\)", str(plan)))
    assert asked > 100
    assert converted == set()


def _said(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
