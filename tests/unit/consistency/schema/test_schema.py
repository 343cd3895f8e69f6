"""The consistency schema on a real MariaDB: applied, taken off, interrupted, and what it makes of a deleted directory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pymysql
import pytest

from hopshive.consistency import schema
from hopshive.consistency.schema import session
from hopshive.consistency.schema.cascades import ADDED, SHARED, to_cascade
from hopshive.consistency.schema.own_tables import STATE_VERSION
from hopshive.daemon.lease import Lease
from hopshive.database import Database, Names, Server
from hopshive.database.foreign_keys import ForeignKey
from hopshive.tenancy import tables as tenancy
from tests.support.metastore_db import Metastore, with_stock
from tests.support.metastore_rows import numbers
from tests.support.modules import run_module, run_task
from tests.support.patience import scaled
from tests.support.servers import MariaDB

# The stock keys that cascade, with what they refer to.
CASCADES = {
    # A directory's storage descriptor: what describes it, and what lies on it.
    "BUCKETING_COLS_FK1": "SDS",
    "SD_PARAMS_FK1": "SDS",
    "SKEWED_COL_NAMES_FK1": "SDS",
    "SKEWED_COL_VALUE_LOC_MAP_FK1": "SDS",
    "SKEWED_VALUES_FK1": "SDS",
    "SORT_COLS_FK1": "SDS",
    "TBLS_FK1": "SDS",
    "PARTITIONS_FK2": "SDS",
    # A database.
    "DATABASE_PARAMS_FK1": "DBS",
    "DB_PRIVS_FK1": "DBS",
    "FUNCS_FK1": "DBS",
    "I_SCHEMA_ibfk_1": "DBS",
    "PACKAGES_FK1": "DBS",
    "STOREDPROC_FK1": "DBS",
    "TBLS_FK2": "DBS",
    # A table. A materialized view that was made from it stays, as a table; the cleaner sees to its metadata.
    "MV_TABLES_USED_FK2": "TBLS",
    "PARTITIONS_FK1": "TBLS",
    "PARTITION_KEYS_FK1": "TBLS",
    "TABLE_PARAMS_FK1": "TBLS",
    "TAB_COL_STATS_FK": "TBLS",
    "TBL_COL_PRIVS_FK1": "TBLS",
    "TBL_PRIVS_FK1": "TBLS",
    # A partition.
    "PARTITION_KEY_VALS_FK1": "PARTITIONS",
    "PARTITION_PARAMS_FK1": "PARTITIONS",
    "PART_COL_PRIVS_FK1": "PARTITIONS",
    "PART_COL_STATS_FK": "PARTITIONS",
    "PART_PRIVS_FK1": "PARTITIONS",
    # A function; a schema of the registry.
    "FUNC_RU_FK1": "FUNCS",
    "SCHEMA_VERSION_ibfk_1": "I_SCHEMA",
}
# All others of Hive 4.0.x, which stay as they are.
STAYS = {
    # Shared: several objects may refer to one row.
    "COLUMNS_V2_FK1": "CDS",
    "SDS_FK1": "SERDES",
    "SDS_FK2": "CDS",
    "SCHEMA_VERSION_ibfk_2": "CDS",
    "SCHEMA_VERSION_ibfk_3": "SERDES",
    "SERDE_PARAMS_FK1": "SERDES",
    "SKEWED_COL_VALUE_LOC_MAP_FK2": "SKEWED_STRING_LIST",
    "SKEWED_STRING_LIST_VALUES_FK1": "SKEWED_STRING_LIST",
    "SKEWED_VALUES_FK2": "SKEWED_STRING_LIST",
    # No directory leads to these: catalogs, connectors, roles, types, plans, transactions, scheduled queries, views' sources.
    "CTLG_FK1": "CTLGS",
    "DATACONNECTOR_NAME_FK1": "DATACONNECTORS",
    "DC_PRIVS_FK1": "DATACONNECTORS",
    "ROLE_MAP_FK1": "ROLES",
    "TYPE_FIELDS_FK1": "TYPES",
    "WM_MAPPING_FK1": "WM_RESOURCEPLAN",
    "WM_MAPPING_FK2": "WM_POOL",
    "WM_POOL_FK1": "WM_RESOURCEPLAN",
    "WM_POOL_TO_TRIGGER_FK1": "WM_POOL",
    "WM_POOL_TO_TRIGGER_FK2": "WM_TRIGGER",
    "WM_RESOURCEPLAN_FK1": "WM_POOL",
    "WM_TRIGGER_FK1": "WM_RESOURCEPLAN",
    "TXN_COMPONENTS_ibfk_1": "TXNS",
    "MIN_HISTORY_WRITE_ID_ibfk_1": "TXNS",
    "SCHEDULED_EXECUTIONS_SCHQ_FK": "SCHEDULED_QUERIES",
    "MV_TABLES_USED_FK1": "MV_CREATION_METADATA",
}


class Stop(Exception):
    """The run ends here."""


def stop_after(count: int) -> Callable[[str], None]:
    """Let so many statements run."""
    left = [count]

    def on_statement(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Stop

    return on_statement


def insert(metastore: Metastore, table: str, **values: object) -> None:
    """A row; columns that must have a value and are not given get 0 or nothing."""
    row = required(metastore, table) | values
    shown = ", ".join(
        "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value) for value in row.values()
    )
    metastore.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({shown})")


@lru_cache
def required(metastore: Metastore, table: str) -> dict[str, object]:
    """Of a table of the stock schema: the columns that must have a value, with one."""
    columns = metastore.execute(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
        f" AND TABLE_NAME = '{table}' AND IS_NULLABLE = 'NO' AND COLUMN_DEFAULT IS NULL"
    )
    return {name: "" if "char" in kind or "text" in kind else 0 for name, kind in columns}


def count(metastore: Metastore, table: str, where: str = "TRUE") -> int:
    return int(metastore.execute(f"SELECT COUNT(*) FROM {table} WHERE {where}")[0][0])


@pytest.fixture(scope="module")
def shared(mariadb: MariaDB, hive_home: Path) -> Iterator[Metastore]:
    """Filled once; tests that change rows or leave our schema on take them back."""
    with with_stock(mariadb, hive_home, "ours") as found:
        yield found


@pytest.fixture
def stock(shared: Metastore) -> Iterator[Metastore]:
    """A stock schema without objects."""
    yield shared
    schema.remove(shared.server, shared.names, purge=True)
    shared.execute("SET foreign_key_checks = 0", *(f"DELETE FROM {table}" for table in FILLED))


@pytest.fixture
def applied(stock: Metastore) -> Metastore:
    """With our schema, for the source hdfs."""
    schema.apply(stock.server, stock.names)
    return stock


FILLED = (
    "DBS", "SDS", "TBLS", "PARTITIONS", "CDS", "SERDES", "KEY_CONSTRAINTS", "TABLE_PARAMS", "TBL_PRIVS", "TAB_COL_STATS", "FUNCS",
    "FUNC_RU", "PARTITION_PARAMS", "PART_COL_STATS", "MV_CREATION_METADATA", "MV_TABLES_USED", "DB_PRIVS", "DATABASE_PARAMS",
    "PARTITION_KEYS", "PARTITION_KEY_VALS", "I_SCHEMA", "SCHEMA_VERSION", "SD_PARAMS",
)  # fmt: skip


def fill(metastore: Metastore) -> None:
    """The database 7 with table 70 (partitions 700 and 701) and view 71; SD ids are ten times those ids, and SDs share CD 1."""
    insert(metastore, "CDS", CD_ID=1)
    insert(metastore, "SERDES", SERDE_ID=1)
    insert(metastore, "DBS", DB_ID=7, NAME="d", DB_LOCATION_URI="hdfs://nn/w/d.db")
    paths = {700: "/w/d.db/t", 7000: "/w/d.db/t/p=1", 7010: "/w/d.db/t/p=2"}
    for sd, path in paths.items():
        insert(metastore, "SDS", SD_ID=sd, CD_ID=1, SERDE_ID=1, LOCATION=f"hdfs://nn{path}")
        insert(metastore, "SD_PARAMS", SD_ID=sd, PARAM_KEY="k")
    insert(metastore, "SDS", SD_ID=710, CD_ID=1, SERDE_ID=1)
    for table, sd in ((70, 700), (71, 710)):
        insert(metastore, "TBLS", TBL_ID=table, DB_ID=7, SD_ID=sd, TBL_NAME=f"t{table}")
        insert(metastore, "TABLE_PARAMS", TBL_ID=table, PARAM_KEY="k")
    insert(metastore, "TBL_PRIVS", TBL_GRANT_ID=1, TBL_ID=70)
    insert(metastore, "TAB_COL_STATS", CS_ID=1, TBL_ID=70)
    insert(metastore, "PARTITION_KEYS", TBL_ID=70, PKEY_NAME="p")
    for partition in (700, 701):
        insert(metastore, "PARTITIONS", PART_ID=partition, TBL_ID=70, SD_ID=partition * 10, PART_NAME=f"p={partition}")
        insert(metastore, "PARTITION_PARAMS", PART_ID=partition, PARAM_KEY="k")
        insert(metastore, "PARTITION_KEY_VALS", PART_ID=partition, PART_KEY_VAL="1")
        insert(metastore, "PART_COL_STATS", CS_ID=partition, PART_ID=partition)
    insert(metastore, "KEY_CONSTRAINTS", PARENT_TBL_ID=70, CHILD_TBL_ID=71, CONSTRAINT_NAME="fk")
    insert(metastore, "KEY_CONSTRAINTS", PARENT_TBL_ID=71, CONSTRAINT_NAME="pk")
    insert(metastore, "FUNCS", FUNC_ID=1, DB_ID=7)
    insert(metastore, "FUNC_RU", FUNC_ID=1)
    insert(metastore, "DB_PRIVS", DB_GRANT_ID=1, DB_ID=7)
    insert(metastore, "DATABASE_PARAMS", DB_ID=7, PARAM_KEY="k")
    insert(metastore, "MV_CREATION_METADATA", MV_CREATION_METADATA_ID=1)
    insert(metastore, "MV_TABLES_USED", MV_CREATION_METADATA_ID=1, TBL_ID=70)
    insert(metastore, "I_SCHEMA", SCHEMA_ID=1, DB_ID=7)
    insert(metastore, "SCHEMA_VERSION", SCHEMA_VERSION_ID=1, SCHEMA_ID=1, CD_ID=1)


# --- which keys ---------------------------------------------------------------------------------------------------------


def test_each_stock_key_was_thought_of(stock: Metastore) -> None:
    keys = {row[0]: row[1] for row in stock.execute(
        "SELECT CONSTRAINT_NAME, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = DATABASE()"
    )}  # fmt: skip
    assert keys == CASCADES | STAYS
    assert len(keys) == 54


def test_those_that_lead_from_a_directory_cascade_and_no_other(stock: Metastore) -> None:
    rules = (
        "SELECT CONSTRAINT_NAME, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS"
        " WHERE CONSTRAINT_SCHEMA = DATABASE()"
    )
    before = dict(stock.execute(rules))
    schema.apply(stock.server, stock.names)
    after = dict(stock.execute(rules))
    ours = {f"hopshive_{name}" for name in CASCADES} | ADDED
    assert {name: after[name] for name in after if name not in ours} == {name: before[name] for name in STAYS}
    assert {after[name] for name in ours} == {"CASCADE"}


def test_the_walk_never_goes_through_a_table_that_is_shared() -> None:
    def key(name: str, table: str, to: str) -> ForeignKey:
        return ForeignKey(table, name, ("x",), to, ("x",), "RESTRICT")

    keys = [key("a", "CDS", "SDS"), key("b", "COLUMNS_V2", "CDS"), key("c", "MORE", "NEW"), key("d", "NEW", "TBLS")]
    assert [before.name for before, _ in to_cascade(keys)] == ["a", "c", "d"]
    assert set(SHARED) >= {"CDS", "SERDES", "SKEWED_STRING_LIST"}


def test_a_rule_of_another_program_is_refused() -> None:
    with pytest.raises(schema.SchemaError, match="x of TBLS has ON DELETE SET NULL, which is not the stock"):
        to_cascade([ForeignKey("TBLS", "x", ("SD_ID",), "SDS", ("SD_ID",), "SET NULL")])


# --- on and off ---------------------------------------------------------------------------------------------------------


def test_what_was_taken_off_leaves_the_stock_schema(stock: Metastore) -> None:
    fill(stock)
    before = stock.picture()
    assert schema.apply(stock.server, stock.names)
    stock.execute("INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS) VALUES (-7, 0, 0, 0)",
                  "UPDATE DBS SET SD_ID = -7")  # fmt: skip
    assert stock.picture() != before
    schema.remove(stock.server, stock.names)
    assert stock.picture() == before
    assert (count(stock, "SDS"), count(stock, "DBS")) == (4, 1)
    # The journal stays until it is purged.
    assert count(stock, "{state}.setting") == 3
    assert schema.remove(stock.server, stock.names) == []
    schema.remove(stock.server, stock.names, purge=True)
    assert not stock.execute(f"SHOW DATABASES LIKE '{stock.server.database}%'")[1:]


SEQUENCE = "org.apache.hadoop.hive.metastore.model.MStorageDescriptor"
# The largest number in `fill`.
LARGEST = 7010


@pytest.mark.parametrize(
    ("given", "then"), [(None, LARGEST + 1), (-4, LARGEST + 1), (0, LARGEST + 1), (3, 3), (9000, 9000)]
)
def test_the_metastore_counts_its_storage_descriptors_above_zero(
    stock: Metastore, given: int | None, then: int
) -> None:
    fill(stock)
    stock.execute(f"DELETE FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = '{SEQUENCE}'")
    if given is not None:
        insert(stock, "SEQUENCE_TABLE", SEQUENCE_NAME=SEQUENCE, NEXT_VAL=given)
    schema.apply(stock.server, stock.names)
    assert stock.execute(f"SELECT NEXT_VAL FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = '{SEQUENCE}'") == [(then,)]
    assert schema.apply(stock.server, stock.names) == []


def test_a_metastore_without_tables_begins_at_one(stock: Metastore) -> None:
    stock.execute(f"DELETE FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = '{SEQUENCE}'")
    schema.apply(stock.server, stock.names)
    assert stock.execute(f"SELECT NEXT_VAL FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = '{SEQUENCE}'") == [(1,)]


def test_a_table_with_a_number_below_zero_is_no_database(stock: Metastore) -> None:
    fill(stock)
    ((table,),) = stock.execute("SELECT MIN(SD_ID) FROM TBLS WHERE SD_ID IS NOT NULL")
    stock.execute("SET FOREIGN_KEY_CHECKS = 0", f"UPDATE SDS SET SD_ID = -1 WHERE SD_ID = {table}",
                  f"UPDATE TBLS SET SD_ID = -1 WHERE SD_ID = {table}", "SET FOREIGN_KEY_CHECKS = 1")  # fmt: skip
    rows = count(stock, "TBLS")
    schema.apply(stock.server, stock.names)
    schema.remove(stock.server, stock.names)
    assert count(stock, "TBLS") == rows
    assert count(stock, "SDS", "SD_ID = -1") == 1


def test_the_second_run_has_nothing_to_do(applied: Metastore) -> None:
    assert schema.apply(applied.server, applied.names, dry_run=True) == []
    before = applied.picture()
    assert schema.apply(applied.server, applied.names) == []
    assert applied.picture() == before
    database = applied.database()
    schema.check(database)
    database.close()


def test_a_part_that_is_missing_is_noticed_and_made(applied: Metastore) -> None:
    before = applied.picture()
    for damage in (
        "DROP TRIGGER hopshive_sds_update",
        "CREATE OR REPLACE TRIGGER hopshive_dbs_update BEFORE UPDATE ON DBS FOR EACH ROW SET NEW.SD_ID = NULL",
        "CREATE TRIGGER hopshive_old BEFORE INSERT ON TBLS FOR EACH ROW SET NEW.RETENTION = 1",
        "ALTER TABLE KEY_CONSTRAINTS DROP FOREIGN KEY hopshive_child_table",
        "ALTER TABLE DBS DROP FOREIGN KEY hopshive_database",
        "DROP TABLE {state}.journal",
    ):
        applied.execute(damage)
        database = applied.database()
        with pytest.raises(schema.SchemaError, match=r"is not complete: .* Run the playbook"):
            schema.check(database)
        database.close()
        assert schema.apply(applied.server, applied.names)
        assert applied.picture() == before, damage


# --- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["TAB_COL_STATS", "PART_COL_STATS"])
def test_the_extremes_of_doubles_keep_their_digits_and_their_size(stock: Metastore, table: str) -> None:
    fill(stock)
    before = stock.picture()
    schema.apply(stock.server, stock.names)
    extremes = f"SELECT DOUBLE_LOW_VALUE, DOUBLE_HIGH_VALUE FROM {table} LIMIT 1"
    stock.execute(f"UPDATE {table} SET DOUBLE_LOW_VALUE = 0.00004, DOUBLE_HIGH_VALUE = 1e300")
    assert stock.execute(extremes) == [(0.00004, 1e300)]
    # The stock columns have four digits, and none of their size.
    schema.remove(stock.server, stock.names)
    assert stock.execute(extremes) == [(0.0, None)]
    assert stock.picture() == before


# --- interrupted --------------------------------------------------------------------------------------------------------


def test_each_statement_may_be_the_last_before_an_interruption(stock: Metastore) -> None:
    """One statement at a time, each from a new look at the database."""
    fill(stock)
    before = stock.picture()
    whole = schema.apply(stock.server, stock.names, dry_run=True)
    steps = 0
    while True:
        try:
            schema.apply(stock.server, stock.names, on_statement=stop_after(1))
        except Stop:
            steps += 1
        else:
            break
    assert steps == len(whole) - 1
    full = stock.picture()
    steps = 0
    whole = schema.remove(stock.server, stock.names, dry_run=True)
    while True:
        try:
            schema.remove(stock.server, stock.names, on_statement=stop_after(1))
        except Stop:
            steps += 1
        else:
            break
    assert steps == len(whole) - 1
    assert stock.picture() == before
    schema.apply(stock.server, stock.names)
    for steps in range(0, len(whole), 9):
        with pytest.raises(Stop):
            schema.remove(stock.server, stock.names, on_statement=stop_after(steps))
        schema.apply(stock.server, stock.names)
        assert schema.apply(stock.server, stock.names, dry_run=True) == []
    assert set(stock.picture()) == set(full)
    schema.remove(stock.server, stock.names)
    for steps in range(0, len(whole), 13):
        with pytest.raises(Stop):
            schema.apply(stock.server, stock.names, on_statement=stop_after(steps))
        schema.remove(stock.server, stock.names)
    assert stock.picture() == before


def test_what_was_bound_without_a_key_is_looked_at_again(applied: Metastore) -> None:
    fill(applied)
    applied.execute(
        "INSERT INTO {inodes} VALUES (1, 1, 'gone', 5), (1, 1, 'there', 6)",
        "UPDATE SDS SET PARTITION_ID = 1, PARENT_ID = 1, NAME = 'gone' WHERE SD_ID = 700",
        "INSERT INTO {state}.position (id, txid) VALUES (1, 5)",
        "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS) VALUES (-7, 0, 0, 0)",
        "UPDATE DBS SET SD_ID = -7",
    )
    applied.execute(
        "ALTER TABLE DBS DROP FOREIGN KEY hopshive_database", "ALTER TABLE SDS DROP FOREIGN KEY hopshive_inode"
    )
    schema.apply(applied.server, applied.names)
    assert count(applied, "SDS", "PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL") == 4
    assert (count(applied, "{inodes}"), count(applied, "{state}.position"), count(applied, "DBS")) == (0, 0, 1)
    assert schema.apply(applied.server, applied.names, dry_run=True) == []


def test_a_purge_takes_what_is_ours_and_nothing_else(stock: Metastore, mariadb: MariaDB) -> None:
    schema.apply(stock.server, stock.names)
    hops = stock.names.inodes.partition(".")[0]
    mariadb.execute(f"CREATE TABLE {hops}.other (x INT)")
    schema.remove(stock.server, stock.names, purge=True)
    assert mariadb.execute(f"SHOW TABLES FROM {hops}") == [("other",)]
    mariadb.execute(f"DROP TABLE {hops}.other")
    # The metastore's database may have been dropped before.
    schema.apply(stock.server, stock.names)
    gone = Server("gone", unix_socket=stock.server.unix_socket, user="root")
    schema.remove(stock.server, stock.names)
    with pytest.raises(schema.SchemaError, match="serve the metastore in ours, and this is about the one in gone"):
        schema.remove(gone, stock.names, purge=True)
    stock.execute("UPDATE {state}.setting SET value = 'gone' WHERE name = 'metastore'")
    assert len(schema.remove(gone, stock.names, purge=True)) == 3
    assert schema.remove(gone, stock.names, purge=True) == []


def test_it_is_not_taken_off_under_a_cleaner_that_leads(applied: Metastore) -> None:
    lease = Lease(applied.server, applied.names, "master1", 1.0)
    assert lease.try_acquire() is None
    term = lease.try_acquire()
    while term is None:
        term = lease.try_acquire()
    stopped = threading.Event()

    def lead() -> None:
        while not stopped.wait(0.1):
            term.renew()

    before = applied.picture()
    leader = threading.Thread(target=lead)
    leader.start()
    try:
        with pytest.raises(schema.SchemaError, match=r"A cleaner on master1 leads, .* of ours\. Nothing was changed"):
            schema.remove(applied.server, applied.names)
        assert applied.picture() == before
    finally:
        stopped.set()
        leader.join()
    # It was killed and gave nothing back.
    assert schema.remove(applied.server, applied.names)


# --- refusals -----------------------------------------------------------------------------------------------------------


def refused(metastore: Metastore, sentence: str, **more: Any) -> None:
    before = metastore.picture()
    with pytest.raises(schema.SchemaError, match=sentence):
        schema.apply(metastore.server, metastore.names, **more)
    assert metastore.picture() == before


def test_orphans_are_counted_and_deleted_only_on_demand(stock: Metastore) -> None:
    fill(stock)
    for number in range(3):
        insert(stock, "KEY_CONSTRAINTS", PARENT_TBL_ID=404, CONSTRAINT_NAME=f"x{number}")
    insert(stock, "KEY_CONSTRAINTS", PARENT_TBL_ID=70, CHILD_TBL_ID=405, CONSTRAINT_NAME="y")
    refused(stock, "KEY_CONSTRAINTS in ours name a table that is not in TBLS: 1 by CHILD_TBL_ID and 3 by PARENT_TBL_ID")
    schema.apply(stock.server, stock.names, delete_orphans=True)
    assert stock.execute("SELECT CONSTRAINT_NAME FROM KEY_CONSTRAINTS ORDER BY 1") == [("fk",), ("pk",)]


def test_another_schema_than_ours_fits_is_refused(stock: Metastore) -> None:
    stock.execute("UPDATE VERSION SET SCHEMA_VERSION = '4.1.0'")
    refused(stock, r"is 4\.1\.0, and ours fits 4\.0\.0\. Nothing was changed")
    stock.execute(
        "UPDATE VERSION SET SCHEMA_VERSION = '4.0.0'", "CREATE TABLE X AS SELECT * FROM VERSION", "DELETE FROM VERSION"
    )
    refused(stock, "is of no version")
    stock.execute("INSERT INTO VERSION SELECT * FROM X", "DROP TABLE X")
    nothing = Server("mysql", unix_socket=stock.server.unix_socket, user="root")
    with pytest.raises(schema.SchemaError, match="mysql is not a metastore's database: it has no table DBS"):
        schema.apply(nothing, stock.names)


def test_it_is_taken_off_a_schema_of_any_version(stock: Metastore) -> None:
    """After an upgrade that another process ran at the same time."""
    before = stock.picture()
    schema.apply(stock.server, stock.names)
    stock.execute("UPDATE VERSION SET SCHEMA_VERSION = '4.1.0'")
    schema.remove(stock.server, stock.names)
    assert stock.picture() == before
    stock.execute("UPDATE VERSION SET SCHEMA_VERSION = '4.0.0'")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("state_version", "99", "have the version 99, and this hopshive knows"),
        ("source", "hopsfs", "were made for the inode source hopsfs"),
        ("metastore", "other", "serve the metastore in other"),
    ],
)
def test_tables_of_another_hopshive_are_refused(applied: Metastore, name: str, value: str, sentence: str) -> None:
    applied.execute(f"UPDATE {{state}}.setting SET value = '{value}' WHERE name = '{name}'")
    refused(applied, sentence)
    database = applied.database()
    with pytest.raises(schema.SchemaError, match=sentence):
        schema.check(database)
    database.close()
    applied.execute("DELETE FROM {state}.setting")


def test_tables_of_the_first_version_become_those_of_this_one(applied: Metastore) -> None:
    def made() -> str:
        return "\n".join(
            str(applied.execute(f"SHOW CREATE TABLE {{state}}.{table}")) for table in ("recheck", "journal")
        )

    def plain(text: str) -> set[str]:
        return {line.rstrip(",").partition(" COMMENT ")[0] for line in text.replace("\\n", "\n").splitlines()}

    now = made()
    applied.execute(
        "ALTER TABLE {state}.recheck DROP COLUMN held_at, DROP KEY recheck_head, DROP COLUMN head,"
        " ADD KEY recheck_path (path(255))",
        "ALTER TABLE {state}.journal DROP KEY journal_head, DROP COLUMN head, ADD KEY journal_beneath (path(255))",
        "ALTER TABLE {state}.journal DROP COLUMN replacement",
        "DROP TABLE {state}.binary_log",
        "UPDATE {state}.setting SET value = '1' WHERE name = 'state_version'",
    )
    database = applied.database()
    with pytest.raises(schema.SchemaError, match="12 statements are missing"):
        schema.check(database)
    database.close()
    schema.apply(applied.server, applied.names)
    assert plain(made()) == plain(now)
    assert applied.execute("SELECT value FROM {state}.setting WHERE name = 'state_version'") == [
        (str(STATE_VERSION).encode(),)
    ]
    assert schema.apply(applied.server, applied.names, dry_run=True) == []


def test_tables_of_the_sixth_version_become_those_of_this_one_with_their_rows(applied: Metastore) -> None:
    """Text of version 6 stands beside this module: what a site has was made by it."""
    wanted = applied.state_picture()
    old = [text for text in (Path(__file__).parent / "state_version_6.sql").read_text().split(";\n") if text.strip()]
    tables = [text.partition("{state}.")[2].partition(" ")[0] for text in old]
    applied.execute(
        *(f"DROP TABLE {{state}}.{table}" for table in (*tables, *tenancy.TABLES)),
        *(text.replace("{engine}", "InnoDB") for text in old),
        "INSERT INTO {state}.position VALUES (1, 7, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))",
        "INSERT INTO {state}.recheck (kind, path, target, inode, sd_id, txid, event_at, due, state, removal, held_at, message)"
        " VALUES ('unlink', '/w/\u65e5', '/t', 8, 9, 10, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'held', 11, UTC_TIMESTAMP(3), 'm')",
        "INSERT INTO {state}.removal (kind, path, target, txid, event_at, begun, ended, objects)"
        " VALUES ('trash', '/w/a', '/t', 12, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 13)",
        "INSERT INTO {state}.journal (removal, kind, name, path, path_hash, inode, replacement, removed, state, message, content)"
        " VALUES (1, 'table', 'hive.d.t', '/w/a', -5, 0, 14, UTC_TIMESTAMP(3), 'removed', 'm', REPEAT('x', 100000))",
        "INSERT INTO {state}.owned VALUES (15, 'hive.d.t', '/w/a', 16)",
        "INSERT INTO {state}.candidate VALUES ('SDS', 17)",
        "INSERT INTO {state}.binary_log VALUES (1, 'host:3306', 'uuid', 'log.1', 18, UTC_TIMESTAMP(3))",
        "UPDATE {state}.setting SET value = '6' WHERE name = 'state_version'",
    )

    def rows() -> dict[str, list[tuple[Any, ...]]]:
        return {table: applied.execute(f"SELECT * FROM {{state}}.{table}") for table in tables}

    before = rows()
    assert all(before.values())
    schema.apply(applied.server, applied.names)
    assert applied.state_picture() == wanted
    assert rows() == before
    version = "SELECT value FROM {state}.setting WHERE name = 'state_version'"
    assert applied.execute(version) == [(str(STATE_VERSION).encode(),)]
    assert schema.apply(applied.server, applied.names, dry_run=True) == []


def test_what_the_database_refuses_is_a_sentence(stock: Metastore) -> None:
    stock.mariadb.execute(
        "CREATE OR REPLACE USER weak@'%' IDENTIFIED BY 'right'", f"GRANT ALL ON {stock.server.database}.* TO weak@'%'"
    )
    port = stock.mariadb.port
    for server, sentence in (
        (Server("ours", "127.0.0.1", port, "weak", "wrong"), "Access denied for user 'weak'"),
        (
            Server("ours", "127.0.0.1", port, "weak", "right"),
            "for 'CREATE DATABASE ours_state .*': Access denied for user 'weak'.* to database 'ours_state'",
        ),
        (Server("ours", "127.0.0.1", 1, "weak", "right"), "Can't connect"),
        (Server("nowhere", unix_socket=stock.server.unix_socket, user="root"), "nowhere is not a metastore's database"),
    ):
        with pytest.raises(schema.SchemaError, match=sentence) as error:
            schema.apply(server, stock.names)
        assert "wrong" not in str(error.value)
    for names in (Names("hops; DROP", "a.b"), Names("hopshive", "inodes")):
        with pytest.raises(schema.SchemaError, match="must be plain names"):
            schema.apply(stock.server, names)


@pytest.mark.wall_time
def test_a_long_transaction_is_waited_for_without_holding_up_the_others(
    stock: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PATIENCE", 1.5)
    monkeypatch.setattr(session, "PAUSE", 0.3)
    waited = []
    over = threading.Event()

    def others() -> None:
        while not over.is_set():
            began = time.monotonic()
            stock.execute("SELECT COUNT(*) FROM TBLS")
            waited.append(time.monotonic() - began)
            time.sleep(0.05)

    with pymysql.connect(unix_socket=stock.mariadb.socket, user="root", database=stock.server.database) as holder:
        with holder.cursor() as cursor:
            cursor.execute("SELECT * FROM TBLS")
        reader = threading.Thread(target=others)
        reader.start()
        with pytest.raises(
            schema.SchemaError, match=r"For 2 s another session held what 'ALTER TABLE TBLS.*KILL \d+ ends it"
        ):
            schema.apply(stock.server, stock.names)
        over.set()
        reader.join()
    assert max(waited) < scaled(session.LOCK_WAIT + 0.7)
    schema.apply(stock.server, stock.names)


def test_a_second_run_waits_for_the_first_whatever_became_of_who_asked_for_it(
    stock: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PATIENCE", 1)
    with session.connect(stock.server, stock.names):
        with pytest.raises(schema.SchemaError, match="For 1 s another run has been changing the schema of ours in"):
            schema.apply(stock.server, stock.names)
        # Another metastore of the same server is no concern of that one.
        with session.connect(replace(stock.server, database="other"), stock.names):
            pass
    assert schema.apply(stock.server, stock.names)


# --- what follows -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bound(applied: Metastore) -> Metastore:
    """With objects, whose storage descriptors and database refer to inodes as the mirror would have it."""
    fill(applied)
    applied.execute(
        "INSERT INTO {inodes} VALUES (1, 1, 'w', 2), (2, 2, 'd.db', 3), (3, 3, 't', 4), (4, 4, 'p=1', 5), (4, 4, 'p=2', 6)",
        "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)"
        " VALUES (-7, 0, 0, 0, 'hdfs://nn/w/d.db')",
        "UPDATE DBS SET SD_ID = -7",
        *(
            f"UPDATE SDS SET PARTITION_ID = {parent}, PARENT_ID = {parent}, NAME = '{name}' WHERE SD_ID = {sd}"
            for sd, parent, name in ((-7, 2, "d.db"), (700, 3, "t"), (7000, 4, "p=1"), (7010, 4, "p=2"))
        ),
        "UPDATE SDS SET NAME = '' WHERE SD_ID = 710",
    )
    return applied


def test_a_partition_goes_with_its_directory(bound: Metastore) -> None:
    bound.execute("DELETE FROM {inodes} WHERE id = 5")
    for table in ("PARTITIONS", "PARTITION_PARAMS", "PARTITION_KEY_VALS", "PART_COL_STATS"):
        assert count(bound, table) == count(bound, table, "PART_ID = 701") == 1, table
    assert (count(bound, "TBLS"), count(bound, "CDS"), count(bound, "SD_PARAMS")) == (2, 1, 2)


def test_a_table_goes_with_its_directory(bound: Metastore) -> None:
    bound.execute("DELETE FROM {inodes} WHERE id >= 4")
    for table in ("PARTITIONS", "PARTITION_KEYS", "TBL_PRIVS", "TAB_COL_STATS", "PART_COL_STATS", "MV_TABLES_USED"):
        assert count(bound, table) == 0, table
    assert bound.execute("SELECT TBL_ID FROM TBLS") == [(71,)]
    assert bound.execute("SELECT CONSTRAINT_NAME FROM KEY_CONSTRAINTS") == [("pk",)]
    for table in ("CDS", "SERDES", "DBS", "FUNCS", "MV_CREATION_METADATA"):
        assert count(bound, table) == 1, table


def test_a_database_goes_with_its_directory(bound: Metastore) -> None:
    bound.execute("DELETE FROM {inodes} WHERE id = 3")
    gone = ("DBS", "TBLS", "PARTITIONS", "KEY_CONSTRAINTS", "FUNCS", "FUNC_RU", "DB_PRIVS", "DATABASE_PARAMS", "I_SCHEMA",
            "SCHEMA_VERSION", "TABLE_PARAMS")  # fmt: skip
    assert {table: count(bound, table) for table in gone} == dict.fromkeys(gone, 0)
    # What the cleaner is for.
    assert (count(bound, "CDS"), count(bound, "SDS", "SD_ID > 0")) == (1, 4)


def test_what_moves_is_unbound(bound: Metastore) -> None:
    unbound = "PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL"
    bound.execute(
        "UPDATE SDS SET NUM_BUCKETS = 4, LOCATION = LOCATION WHERE SD_ID = 700",
        "UPDATE SDS SET LOCATION = CONCAT(LOCATION, ' ') WHERE SD_ID = 7000",
        "UPDATE SDS SET LOCATION = NULL WHERE SD_ID = 7010",
        "UPDATE SDS SET LOCATION = 's3a://b/x' WHERE SD_ID = 710",
    )
    assert bound.execute(f"SELECT SD_ID FROM SDS WHERE {unbound} ORDER BY 1") == [(710,), (7000,), (7010,)]
    bound.execute("UPDATE DBS SET `DESC` = 'x'")
    assert count(bound, "DBS", "SD_ID = -7") == 1
    bound.execute("UPDATE DBS SET DB_MANAGED_LOCATION_URI = 'hdfs://nn/m/d.db'")
    assert count(bound, "DBS", "SD_ID IS NULL") == 1
    bound.execute("UPDATE DBS SET SD_ID = -7", "UPDATE DBS SET DB_LOCATION_URI = 'hdfs://nn/w/D.db'")
    assert count(bound, "DBS", "SD_ID IS NULL") == 1


def test_the_work_queue_is_found_by_its_index(applied: Metastore) -> None:
    applied.execute(
        f"INSERT INTO {{inodes}} SELECT 1, 1, CONCAT('n', seq), seq FROM {numbers(1, 1000)}",
        "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, PARTITION_ID, PARENT_ID, NAME)"
        " SELECT seq, 0, 0, 0, IF(seq % 1000, IF(seq % 10, 1, NULL), NULL), IF(seq % 1000, IF(seq % 10, 1, NULL), NULL),"
        f" IF(seq % 1000, IF(seq % 10, CONCAT('n', seq % 1000), ''), NULL) FROM {numbers(1, 20000)}",
    )
    with applied.cursor() as cursor:
        query = "SELECT SD_ID, LOCATION FROM SDS WHERE PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL LIMIT 500"
        cursor.execute("EXPLAIN " + query)
        assert cursor.fetchall()[0][3:7] == ("ref", "hopshive_inode", "hopshive_inode", "276")
        cursor.execute("FLUSH STATUS")
        assert cursor.execute(query) == 20
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        assert sum(int(row[1]) for row in cursor.fetchall()) < 30


# --- the daemon's user, and the module ------------------------------------------------------------------------------------


def test_the_daemon_s_user_sees_that_the_schema_is_there(applied: Metastore) -> None:
    database = applied.server.database
    grants = "SELECT, INSERT, UPDATE, DELETE"
    applied.mariadb.execute(
        "CREATE OR REPLACE USER daemon@'%' IDENTIFIED BY 'right'",
        f"GRANT {grants}, TRIGGER ON {database}.* TO daemon@'%'",
        f"GRANT {grants} ON {applied.names.state}.* TO daemon@'%'",
        f"GRANT {grants} ON {database}_hops.* TO daemon@'%'",
    )
    daemon = Database(Server(database, "127.0.0.1", applied.mariadb.port, "daemon", "right"), applied.names)
    schema.check(daemon)
    daemon.close()


def module_arguments(metastore: Metastore) -> dict[str, Any]:
    return {
        "database": metastore.server.database,
        "state_schema": metastore.names.state,
        "inode_table": metastore.names.inodes,
        "login_unix_socket": metastore.server.unix_socket,
        "login_user": "root",
    }


def module(metastore: Metastore, *, check: bool = False, **more: Any) -> dict[str, Any]:
    return run_module("hopshive_consistency_schema", {**module_arguments(metastore), **more}, check=check)


def test_the_module_foretells_does_and_repeats_nothing(stock: Metastore) -> None:
    before = stock.picture()
    foretold = module(stock, check=True)
    assert stock.picture() == before
    assert foretold["changed"]
    assert "ALTER TABLE DBS ADD COLUMN SD_ID bigint(20) NULL;\n" in foretold["diff"]["after"]
    assert module(stock)["statements"] == foretold["statements"]
    assert not module(stock)["changed"]
    assert module(stock, state="absent", purge=True, check=True)["changed"]
    assert module(stock, state="absent", purge=True)["changed"]
    assert not module(stock, state="absent", purge=True)["changed"]
    assert stock.picture() == before
    assert "With the source hopsfs give uris" in module(stock, inode_source="hopsfs")["msg"]


def test_the_module_s_old_name_works_and_warns(stock: Metastore, tmp_path: Path) -> None:
    foretold, warned = run_task("hopshive_schema", module_arguments(stock), tmp_path)
    assert foretold["statements"] == module(stock, check=True)["statements"]
    assert "The module hopshive_schema is called hopshive_consistency_schema now." in warned
    assert f"Write the new name in {tmp_path}/play.yml:1." in warned
    assert "removed from collection 'hopshive.warehouse' version 0.2.0" in warned
