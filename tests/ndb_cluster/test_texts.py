"""What Hive's statements store on NDB Cluster, whose columns are latin1: what was typed, or nothing and a sentence."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.bench.rig import UNMEASURED, Rig
from tests.bench.sites import Site, start_ndb
from tests.support.mirror_world import Files
from tests.support.patience import within
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTERS = "has letters that latin1 lacks, and the metastore's database keeps it in latin1. Nothing was stored"
LONG = "is longer than {} of the metastore's database can hold. Nothing was stored"
# DataNucleus's own.
LONG_LOCATION = "LOCATION\\W+ that has maximum length of 4000"
TABLES = ("DBS", "TBLS", "SDS", "CDS", "COLUMNS_V2", "PARTITIONS", "TABLE_PARAMS", "PARTITION_PARAMS", "SERDES")
LAND = "Österreich, 100 €"


@dataclass(frozen=True)
class Warehouse:
    site: Site
    hive: HiveSession

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """What the database holds."""
        return self.site.metastore.execute(sql)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with ExitStack() as stack:
        rig = Rig(tmp_path_factory.mktemp("texts"), stack, UNMEASURED)
        site = start_ndb(rig)
        assert rig.namenode
        Files(rig.hdfs).ready()
        port = stack.enter_context(site.metastore_server(0))
        hive = stack.enter_context(site.session(stack.enter_context(site.server2(port))))
        hive.execute("CREATE DATABASE d")
        hive.execute("USE d")
        hive.execute("CREATE EXTERNAL TABLE t (a int) PARTITIONED BY (p string) STORED AS TEXTFILE LOCATION '/t'")
        yield Warehouse(site, hive)


REFUSED = {
    "comment of a database": "CREATE DATABASE e COMMENT '日本'",
    "comment of a table": "CREATE EXTERNAL TABLE n (a int) COMMENT '日本' LOCATION '/n'",
    "comment of a column": "CREATE EXTERNAL TABLE n (a int COMMENT '日本') LOCATION '/n'",
    "name of a column": "CREATE EXTERNAL TABLE n (`名前` int) LOCATION '/n'",
    "property": "CREATE EXTERNAL TABLE n (a int) LOCATION '/n' TBLPROPERTIES ('k' = '日本')",
    "location": "CREATE EXTERNAL TABLE n (a int) LOCATION '/x/日本'",
    "view": "CREATE VIEW n AS SELECT a FROM t WHERE concat(a, '日本') = ''",
    "changed comment": "ALTER TABLE t SET TBLPROPERTIES ('comment' = '東京')",
    "new column": "ALTER TABLE t ADD COLUMNS (b int COMMENT 'Кот')",
}
# Hive keeps the sentence to itself, in the metastore's log.
REFUSED_QUIETLY = {
    "partition": "ALTER TABLE t ADD PARTITION (p = '日本')",
    "location of a partition": "ALTER TABLE t ADD PARTITION (p = 'x') LOCATION '/x/東京'",
    "filter on a partition": "SELECT a FROM t WHERE p = '日本'",
}
TOO_LONG = {
    "comment of a column": (
        f"CREATE EXTERNAL TABLE n (a int COMMENT '{'x' * 4001}') LOCATION '/n'",
        LONG.format("COMMENT"),
    ),
    "property": (
        f"CREATE EXTERNAL TABLE n (a int) LOCATION '/n' TBLPROPERTIES ('k' = '{'x' * 28_735}')",
        LONG.format("PARAM_VALUE"),
    ),
    "key of a property": (
        f"CREATE EXTERNAL TABLE n (a int) LOCATION '/n' TBLPROPERTIES ('{'k' * 257}' = 'v')",
        LONG.format("PARAM_KEY"),
    ),
    "name of a column": (f"CREATE EXTERNAL TABLE n (`{'c' * 768}` int) LOCATION '/n'", LONG.format("COLUMN_NAME")),
    "location": (f"CREATE EXTERNAL TABLE n (a int) LOCATION '/{'/'.join(['x' * 200] * 21)}'", LONG_LOCATION),
}


def everything(warehouse: Warehouse) -> dict[str, object]:
    """How many rows the tables with objects hold."""
    return {table: warehouse.rows(f"SELECT COUNT(*) FROM {table}") for table in TABLES}


@pytest.mark.wall_time
@pytest.mark.parametrize("what", REFUSED)
def test_a_text_that_latin1_lacks_is_refused_with_a_sentence(warehouse: Warehouse, what: str) -> None:
    before = everything(warehouse)
    # An error that Hive tries again takes twenty seconds.
    with within(15), pytest.raises(HiveError, match=LETTERS):
        warehouse.hive.execute(REFUSED[what])
    assert everything(warehouse) == before


@pytest.mark.parametrize("what", REFUSED_QUIETLY)
def test_a_text_that_latin1_lacks_is_refused(warehouse: Warehouse, what: str) -> None:
    before = everything(warehouse)
    log = warehouse.site.rig.directory / "metastore.NDB.0.log"
    already = log.read_text(errors="replace").count(LETTERS)
    with pytest.raises(HiveError):
        warehouse.hive.execute(REFUSED_QUIETLY[what])
    assert everything(warehouse) == before
    assert log.read_text(errors="replace").count(LETTERS) > already


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_text_that_is_too_long_is_refused_not_cut(warehouse: Warehouse, what: str) -> None:
    before = everything(warehouse)
    statement, sentence = TOO_LONG[what]
    with pytest.raises(HiveError, match=sentence):
        warehouse.hive.execute(statement)
    assert everything(warehouse) == before


def test_a_text_that_fits_is_what_was_typed(warehouse: Warehouse) -> None:
    warehouse.hive.execute(
        f"CREATE EXTERNAL TABLE fits (a int COMMENT '{'é' * 4000}') COMMENT '{LAND}'"
        f" PARTITIONED BY (p string) LOCATION '/fits/{LAND}' TBLPROPERTIES ('k' = '{'x' * 28_734}')"
    )
    warehouse.hive.execute(f"ALTER TABLE fits ADD PARTITION (p = '{LAND}')")
    shown = "\n".join(str(row[0]) for row in warehouse.hive.execute("SHOW CREATE TABLE fits"))
    assert f"COMMENT '{LAND}'" in shown
    assert f"/fits/{LAND}'" in shown
    assert "é" * 4000 in shown
    assert "x" * 28_734 in shown
    assert warehouse.hive.execute("SHOW PARTITIONS fits") == [(f"p={LAND}",)]
