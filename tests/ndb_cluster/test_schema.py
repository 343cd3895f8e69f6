"""The consistency schema on a real NDB Cluster with two SQL nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
import yaml

from hopshive.consistency import schema
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.ndb import Ndb, run_ndb, unpack_ndb

NAME = "metastore"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, sql_nodes=2) as running:
        yield running


@pytest.fixture(scope="module")
def stock(cluster: Ndb, hive_home: Path) -> Metastore:
    """Hive's own script, as it is."""
    return Metastore(cluster.sql[0], stock_metastore(cluster.sql[0], hive_home, NAME), own_names(NAME))


def on(stock: Metastore, cluster: Ndb, number: int) -> Metastore:
    """The same database, through an SQL node."""
    node = cluster.sql[number]
    return Metastore(node, replace(stock.server, unix_socket=node.socket), stock.names)


def test_every_table_of_the_stock_script_is_in_the_cluster(stock: Metastore, cluster: Ndb) -> None:
    sql = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    for number in range(2):
        assert on(stock, cluster, number).execute(sql) == [("ndbcluster",)]


def test_transactions_are_numbered_in_their_order_over_all_nodes(stock: Metastore, cluster: Ndb) -> None:
    """Hive takes a number below the highest one that is not open for a transaction that has ended."""
    numbers = []
    for turn in range(6):
        node = on(stock, cluster, turn % 2)
        node.execute(
            "INSERT INTO TXNS (TXN_STATE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST)"
            " VALUES ('o', 1, 1, 'somebody', 'somewhere')"
        )
        ((number,),) = node.execute("SELECT MAX(TXN_ID) FROM TXNS")
        numbers.append(number)
    on(stock, cluster, 0).execute("DELETE FROM TXNS WHERE TXN_USER = 'somebody'")
    assert numbers == sorted(set(numbers))


def test_what_was_taken_off_leaves_the_stock_schema_on_each_node(stock: Metastore, cluster: Ndb) -> None:
    nodes = [on(stock, cluster, number) for number in range(2)]
    before = [node.picture() for node in nodes]
    schema.apply(nodes[0].server, nodes[0].names)
    # The other one lacks its triggers, and nothing else.
    lacking = schema.apply(nodes[1].server, nodes[1].names, dry_run=True)
    assert [" ".join(statement.split()[:2]) for statement in lacking] == ["DROP TRIGGER", "CREATE TRIGGER"] * 2
    schema.apply(nodes[1].server, nodes[1].names)
    for node in nodes:
        assert schema.apply(node.server, node.names, dry_run=True) == []
    for node in nodes:
        schema.remove(node.server, node.names, purge=True)
    assert [node.picture() for node in nodes] == before


def test_tables_of_the_versions_before_get_the_new_columns(stock: Metastore) -> None:
    schema.apply(stock.server, stock.names)
    stock.execute(
        "ALTER TABLE {state}.recheck DROP COLUMN held_at",
        "ALTER TABLE {state}.journal DROP COLUMN replacement",
        "UPDATE {state}.setting SET value = '4' WHERE name = 'state_version'",
    )
    schema.apply(stock.server, stock.names)
    assert stock.execute("SELECT held_at FROM {state}.recheck") == []
    assert stock.execute("SELECT replacement FROM {state}.journal") == []
    assert schema.apply(stock.server, stock.names, dry_run=True) == []
    # As a run leaves it that ended before the version was written.
    stock.execute("UPDATE {state}.setting SET value = '4' WHERE name = 'state_version'")
    schema.apply(stock.server, stock.names)
    assert schema.apply(stock.server, stock.names, dry_run=True) == []
    schema.remove(stock.server, stock.names, purge=True)


def test_without_triggers_on_any_node_columns_go_and_no_update_fails(stock: Metastore, cluster: Ndb) -> None:
    nodes = [on(stock, cluster, number) for number in range(2)]
    before = [node.picture() for node in nodes]
    for node in nodes:
        schema.apply(node.server, node.names)
    for node in nodes:
        taken = schema.remove(node.server, node.names, only_triggers=True)
        assert [statement.split()[:2] for statement in taken] == [["DROP", "TRIGGER"]] * 2
        assert node.execute("SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()") == [
            (0,)
        ]
    nodes[1].execute(
        "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS) VALUES (1, 0, 0, 0)"
    )
    schema.remove(nodes[0].server, nodes[0].names, purge=True)
    # Through the node that took no column off.
    nodes[1].execute("UPDATE SDS SET LOCATION = 'hdfs://nn/x' WHERE SD_ID = 1", "DELETE FROM SDS WHERE SD_ID = 1")
    assert [node.picture() for node in nodes] == before


def test_a_value_that_would_not_fit_is_named_before_anything_changes(stock: Metastore) -> None:
    before = stock.picture()
    stock.execute(
        "SET SESSION foreign_key_checks = 0",
        "INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES (7, 'k', REPEAT('x', 28735))",
    )
    with pytest.raises(
        schema.SchemaError, match=r"PARAM_VALUE of TABLE_PARAMS .* a value of 28735 bytes, .* can hold 28734"
    ):
        schema.apply(stock.server, stock.names)
    assert stock.picture() == before
    stock.execute("DELETE FROM TABLE_PARAMS")


def test_characters_count_where_one_takes_several_bytes(stock: Metastore) -> None:
    """3,430 bytes of ASCII would be room enough for the bytes, and are one character too many."""
    before = stock.picture()
    stock.execute(
        "SET SESSION foreign_key_checks = 0",
        "INSERT INTO PACKAGES (PKG_ID, CREATE_TIME, DB_ID, NAME, OWNER_NAME, HEADER, BODY)"
        " VALUES (1, 1, 1, 'p', 'ann', 'h', REPEAT('x', 3430))",
    )
    with pytest.raises(schema.SchemaError, match=r"BODY of PACKAGES .* a value of 3430 characters, .* can hold 3429"):
        schema.apply(stock.server, stock.names)
    assert stock.picture() == before
    stock.execute("DELETE FROM PACKAGES")


def test_a_longer_value_is_refused_and_never_cut(stock: Metastore) -> None:
    schema.apply(stock.server, stock.names)
    try:
        with pytest.raises(pymysql.err.DataError, match="1406"):
            stock.execute(
                "SET SESSION foreign_key_checks = 0",
                "INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES (7, 'k', REPEAT('x', 28735))",
            )
        assert stock.execute("SELECT COUNT(*) FROM TABLE_PARAMS") == [(0,)]
    finally:
        schema.remove(stock.server, stock.names, purge=True)


# What the role gives to each SQL node.
ROLE = Path(__file__).parents[2] / "roles/ndb_sql"
SWITCH = yaml.safe_load((ROLE / "vars/main.yml").read_text())["__ndb_sql_settings"]["optimizer-switch"]


@pytest.mark.parametrize(("asked", "index"), [(400, "hopshive_column"), (20, "PCS_STATS_IDX")])
def test_statistics_of_most_partitions_are_a_range_for_each_column(stock: Metastore, asked: int, index: str) -> None:
    """The metastore's own statement, of three columns; of few partitions it is a range for each of both."""
    schema.apply(stock.server, stock.names)
    names = [f"day={number}" for number in range(400)]
    rows = [
        f"({number}, 'hive', 'db', 't', '{names[number // 3]}', 'c{number % 3}', 'int', {number // 3}, 0, 0, 'hive')"
        for number in range(1200)
    ]
    marks = ", ".join(f"'{name}'" for name in names[:asked])
    try:
        found = stock.execute(
            "SET SESSION foreign_key_checks = 0",
            "INSERT INTO PART_COL_STATS (CS_ID, CAT_NAME, DB_NAME, TABLE_NAME, PARTITION_NAME, COLUMN_NAME, COLUMN_TYPE,"
            f" PART_ID, NUM_NULLS, LAST_ANALYZED, ENGINE) VALUES {', '.join(rows)}",
            "ANALYZE TABLE PART_COL_STATS",
            f"SET SESSION optimizer_switch = '{SWITCH}'",
            "EXPLAIN FORMAT=TREE SELECT COUNT(COLUMN_NAME) FROM PART_COL_STATS WHERE CAT_NAME = 'hive' AND DB_NAME = 'db'"
            f" AND TABLE_NAME = 't' AND COLUMN_NAME IN ('c0', 'c1', 'c2') AND PARTITION_NAME IN ({marks})"
            " AND ENGINE = 'hive' GROUP BY PARTITION_NAME",
        )
        assert f"using {index} over" in str(found)
    finally:
        stock.execute("DELETE FROM PART_COL_STATS")
        schema.remove(stock.server, stock.names, purge=True)
