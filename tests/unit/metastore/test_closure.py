"""The foreign keys that a deletion follows, read from the database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency import schema
from hopshive.database.foreign_keys import ForeignKey
from hopshive.metastore.closure import ClosureError, collect, graph, parents_first, read, referred
from tests.support.journal_world import JournalWorld, open_world
from tests.support.metastore_db import with_stock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import MariaDB


@pytest.fixture
def world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(mariadb, hive_home) as opened:
        yield opened


def _key(child: str, parent: str) -> ForeignKey:
    return ForeignKey(child, "key", ("id",), parent, ("id",))


def test_parents_come_before_children() -> None:
    keys = [_key("a", "b"), _key("b", "c"), _key("a", "c"), _key("c", "c"), _key("d", "outside")]
    assert parents_first(["a", "b", "c", "d"], keys) == ("c", "d", "b", "a")


def test_a_circle_does_not_hang() -> None:
    assert sorted(parents_first(["a", "b", "c"], [_key("a", "b"), _key("b", "a"), _key("c", "a")])) == ["a", "b", "c"]


def test_the_keys_of_a_metastore(world: JournalWorld) -> None:
    with world.database.reading() as tx:
        keys = graph(tx)
        assert graph(tx) is keys
    assert keys.version == "4.0.0"
    followed = {key.table for key in keys.children("TBLS", cascading=True)}
    assert {"PARTITIONS", "TABLE_PARAMS", "TAB_COL_STATS", "KEY_CONSTRAINTS", "MV_TABLES_USED"} <= followed
    assert {key.to for key in keys.parents("SDS")} == {"CDS", "SERDES"}
    assert not any(key.cascades for key in keys.children("CDS"))
    assert [key.table for key in keys.contents("CDS")] == ["COLUMNS_V2"]
    assert [key.table for key in keys.contents("SERDES")] == ["SERDE_PARAMS"]
    assert [key.table for key in keys.contents("SKEWED_STRING_LIST")] == ["SKEWED_STRING_LIST_VALUES"]
    order = keys.order.index
    assert order("CDS") < order("SDS") < order("DBS") < order("TBLS") < order("PARTITIONS") < order("PART_COL_STATS")
    tables = keys.tables
    assert tables["PARTITIONS"].key == ("PART_ID",)
    assert tables["PARTITIONS"].unique == (("TBL_ID", "PART_NAME"),)
    assert tables["TXN_COMPONENTS"].key == ()
    assert "LOCATION" not in tables["SDS"].needed
    assert "NUM_BUCKETS" in tables["SDS"].needed
    assert "TXN_ID" not in tables["TXNS"].needed
    assert tables["VERSION"].folded == {"SCHEMA_VERSION", "VERSION_COMMENT"}
    assert tables["PARTITIONS"].folded == frozenset()


def test_rows_belong_to_the_object_that_leads_to_them(world: JournalWorld) -> None:
    with world.write() as write:
        database = write.database("d")
        write.more_of_database(database)
        first, second = write.table(database, "t"), write.table(database, "u")
        write.partitions(first, ["p=1"])
        write.constraint(first, second, "fk")
        write.skew(second.sd_id)
    with world.database.transaction() as tx:
        keys = graph(tx)
        seeds = {"SDS": {first.sd_id: 0, second.sd_id: 1}, "TBLS": {first.id: 0, second.id: 1}}
        found = collect(tx, keys, seeds)
        shared = referred(tx, keys, found)
    assert "PARTITIONS" not in found
    assert list(found["TABLE_PARAMS"].column("TBL_ID")) == [first.id, first.id, second.id, second.id]
    assert found["TABLE_PARAMS"].owners == [0, 0, 1, 1]
    # The constraint between them is there once.
    assert len(found["KEY_CONSTRAINTS"].rows) == 3
    assert [one.table for one in shared[0]] == ["CDS", "SERDES"]
    assert [one.table for one in shared[1]] == ["CDS", "SERDES", "SKEWED_STRING_LIST"]
    columns = shared[0][0].rows["COLUMNS_V2"]
    assert list(columns.column("COLUMN_NAME")) == ["a", "b"]


def test_a_stock_schema_is_named_as_the_reason(mariadb: MariaDB, hive_home: Path) -> None:
    with with_stock(mariadb, hive_home, "ms_stock") as metastore:
        database = metastore.database()
        with database.reading() as tx, pytest.raises(ClosureError, match="from SDS to DBS, PARTITIONS, TBLS"):
            read(tx)
        database.close()


def test_inodes_may_stand_in_the_database_of_the_metastore(mariadb: MariaDB, hive_home: Path) -> None:
    with with_stock(mariadb, hive_home, "ms_alone") as stock:
        metastore = replace(stock, names=replace(stock.names, inodes="ms_alone.hdfs_inodes"))
        schema.apply(metastore.server, metastore.names)
        database = metastore.database()
        with database.reading() as tx:
            assert "hdfs_inodes" not in {key.to for key in graph(tx).keys}
        database.close()


def test_a_key_of_two_columns_is_refused_by_name(world: JournalWorld) -> None:
    world.metastore.execute(
        "CREATE TABLE site (a BIGINT, b INT, CONSTRAINT site_key"
        " FOREIGN KEY (a, b) REFERENCES SORT_COLS (SD_ID, INTEGER_IDX))"
    )
    try:
        with world.database.reading() as tx, pytest.raises(ClosureError, match="site_key of site has more than one"):
            read(tx)
    finally:
        world.metastore.execute("DROP TABLE site")


def test_a_table_of_the_site_goes_and_comes_back_too(world: JournalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.database.reading() as tx:
        graph(tx)
    world.metastore.execute(
        "CREATE TABLE site (tbl BIGINT, note VARBINARY(20), at DATETIME(6), price DECIMAL(20, 5), size DOUBLE,"
        " FOREIGN KEY (tbl) REFERENCES TBLS (TBL_ID) ON DELETE CASCADE)"
    )
    try:
        with world.write() as write:
            table = write.table(write.database("d"), "t")
            write.insert("site", tbl=table.id, note=b"\xff\x00", at="2024-02-03 04:05:06.7", price="1.5", size=1e300)
            write.insert("site", tbl=table.id, note=None, at=None, price="-12345678901234.56789", size=0.1)
        before = world.dump()
        # The keys were read before there was that table.
        monkeypatch.setattr("hopshive.metastore.closure.FRESH", 0.0)
        world.remove(table)
        assert "site" not in world.dump()
        assert world.restore().conflicts == []
        assert world.dump() == before
    finally:
        world.metastore.execute("DROP TABLE site")
