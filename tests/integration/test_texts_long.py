"""What Hive's statements store on MariaDB of a text that is longer than its column: nothing, and a sentence says so.

Metastore, HiveServer2 and database have the settings of the roles. tests/ndb_cluster/test_texts.py asks the same on NDB Cluster.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.bench.rig import UNMEASURED, Rig
from tests.bench.sites import Site, start_mariadb
from tests.bench.thrift_metastore import MetastoreError
from tests.support.mirror_world import Files
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.thrift_metastore import ThriftMetastore

TABLES = (
    "DBS", "TBLS", "SDS", "CDS", "COLUMNS_V2", "PARTITION_KEYS", "PARTITIONS", "TABLE_PARAMS", "PARTITION_PARAMS", "SERDES",
)  # fmt: skip
# Bytes of a MEDIUMTEXT.
VALUE = 2**24 - 1


@dataclass(frozen=True)
class Warehouse:
    site: Site
    hive: HiveSession
    thrift: ThriftMetastore

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """What the database holds."""
        return self.site.metastore.execute(sql)

    def tries(self) -> int:
        """How often the metastore has begun a call again."""
        log = self.site.rig.directory / "metastore.MariaDB.0.log"
        return log.read_text(errors="replace").count("Retrying HMSHandler")

    def everything(self) -> dict[str, object]:
        """How many rows the tables with objects hold."""
        return {table: self.rows(f"SELECT COUNT(*) FROM {table}") for table in TABLES}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with ExitStack() as stack:
        rig = Rig(tmp_path_factory.mktemp("long"), stack, UNMEASURED)
        site = start_mariadb(rig)
        assert rig.namenode
        Files(rig.hdfs).ready()
        port = stack.enter_context(site.metastore_server(0))
        hive = stack.enter_context(site.session(stack.enter_context(site.server2(port))))
        hive.execute("CREATE DATABASE d")
        hive.execute("USE d")
        hive.execute("CREATE EXTERNAL TABLE t (a int) PARTITIONED BY (p string) STORED AS TEXTFILE LOCATION '/t'")
        yield Warehouse(site, hive, stack.enter_context(rig.client(port)))


# A statement, the column that a text of it is too long for, the text's length and letter.
TOO_LONG = {
    "comment of a column": ("CREATE EXTERNAL TABLE n (a int, b int COMMENT '{}') LOCATION '/n'", "COMMENT", 4001, "日"),
    "comment of a new column": ("ALTER TABLE t ADD COLUMNS (b int COMMENT '{}')", "COMMENT", 4001, "x"),
    "key of a property": ("ALTER TABLE t SET TBLPROPERTIES ('{}' = 'v')", "PARAM_KEY", 257, "k"),
    "name of a column": ("CREATE EXTERNAL TABLE n (`{}` int) LOCATION '/n'", "COLUMN_NAME", 768, "c"),
    "name of a partition column": (
        "CREATE EXTERNAL TABLE n (a int) PARTITIONED BY (`{}` int) LOCATION '/n'", "PKEY_NAME", 129, "p",
    ),
    "value of a property": ("ALTER TABLE t SET TBLPROPERTIES ('k' = '{}')", "PARAM_VALUE", VALUE + 1, "v"),
}  # fmt: skip


def refusal(column: str, length: int, letter: str) -> str:
    return (
        f"Refused: '{letter * 40}...' ({length:,} letters) is longer than {column} of the metastore's database can hold."
        " Nothing was stored (docs/limits.md)."
    )


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_text_that_is_too_long_is_refused_with_a_sentence_not_cut(warehouse: Warehouse, what: str) -> None:
    statement, column, length, letter = TOO_LONG[what]
    before, tries = warehouse.everything(), warehouse.tries()
    with pytest.raises(HiveError) as error:
        warehouse.hive.execute(statement.format(letter * length))
    assert refusal(column, length, letter) in str(error.value)
    assert warehouse.everything() == before
    # For twenty seconds.
    assert warehouse.tries() == tries


def test_a_client_of_the_metastore_such_as_spark_gets_the_sentence(warehouse: Warehouse) -> None:
    before = warehouse.everything()
    with pytest.raises(MetastoreError) as error:
        warehouse.thrift.create_table("d", "n", "/n", ["p" * 129])
    assert refusal("PKEY_NAME", 129, "p") in str(error.value)
    assert warehouse.everything() == before


def test_a_text_that_just_fits_is_what_was_typed(warehouse: Warehouse) -> None:
    comment, column, key = "日" * 4000, "c" * 767, "k" * 256
    warehouse.hive.execute(
        f"CREATE EXTERNAL TABLE fits (`{column}` int COMMENT '{comment}') PARTITIONED BY (`{'p' * 128}` int) LOCATION '/fits'"
        f" TBLPROPERTIES ('{key}' = '{'v' * VALUE}')"
    )
    assert warehouse.rows(f"SELECT COLUMN_NAME FROM COLUMNS_V2 WHERE COMMENT = '{comment}'") == [(column,)]
    assert warehouse.rows("SELECT PKEY_NAME FROM PARTITION_KEYS WHERE PKEY_NAME LIKE 'pp%'") == [("p" * 128,)]
    assert warehouse.rows(f"SELECT LENGTH(PARAM_VALUE) FROM TABLE_PARAMS WHERE PARAM_KEY = '{key}'") == [(VALUE,)]
    assert column in "".join(str(row) for row in warehouse.hive.execute("DESCRIBE fits"))


def test_hives_own_sql_is_asked_in_strict_sessions_and_continues(warehouse: Warehouse) -> None:
    """Locks, a transaction, a compaction, statistics."""
    (server,) = warehouse.site.nodes
    server.execute("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1")
    warehouse.hive.execute("CREATE TABLE a (i int, s string) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    warehouse.hive.execute("ALTER TABLE a COMPACT 'major'")
    warehouse.hive.execute("ALTER TABLE a UPDATE STATISTICS FOR COLUMN i SET ('numDVs' = '3', 'numNulls' = '0')")
    warehouse.hive.execute("DROP TABLE a")
    server.execute("SET GLOBAL general_log = 0")
    modes = server.execute(
        "SELECT DISTINCT CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE argument LIKE 'SET %sql_mode%' AND user_host LIKE 'hive%'"
    )
    assert modes
    assert [mode for (mode,) in modes if "STRICT_TRANS_TABLES" not in mode] == []
