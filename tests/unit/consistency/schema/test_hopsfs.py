"""The source hopsfs: the inode table is the file system's own, and triggers resolve what is written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from hopshive.consistency import schema
from hopshive.consistency.schema import session
from tests.support.metastore_db import Metastore, with_stock
from tests.support.modules import run_module
from tests.support.servers import MariaDB

URIS = ["hdfs://nn:8020", "hopsfs://nn"]
# As HopsFS makes it, but for the engine and some columns that no test reads.
INODES = """
CREATE TABLE {inodes} (
  `partition_id` bigint(20) NOT NULL,
  `parent_id` bigint(20) NOT NULL DEFAULT '0',
  `name` varchar(255) NOT NULL DEFAULT '',
  `id` bigint(20) NOT NULL,
  `permission` smallint(6) DEFAULT NULL,
  `is_dir` tinyint NOT NULL DEFAULT 1,
  PRIMARY KEY (`partition_id`,`parent_id`,`name`),
  KEY `pidex` (`parent_id`),
  KEY `inode_idx` (`id`),
  KEY `c1` (`parent_id`,`partition_id`),
  KEY `c2` (`partition_id`,`parent_id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_general_cs
"""
UNBOUND = "PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME"


@pytest.fixture(scope="module")
def empty(mariadb: MariaDB, hive_home: Path) -> Iterator[Metastore]:
    """A stock metastore."""
    with with_stock(mariadb, hive_home, "onhopsfs") as found:
        yield found


@pytest.fixture
def stock(empty: Metastore) -> Iterator[Metastore]:
    """A stock metastore beside a HopsFS with /w/d.db/t/p=1."""
    schema_of_inodes = empty.names.inodes.partition(".")[0]
    empty.execute(
        f"CREATE OR REPLACE DATABASE {schema_of_inodes}",
        INODES,
        # The root, and below it a directory whose partition is a hash.
        "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (0, 0, '', 1), (118960, 1, 'w', 2),"
        " (2, 2, 'd.db', 3), (3, 3, 't', 4), (4, 4, 'p=1', 5), (3, 3, 'u', 6)",
    )
    yield empty
    schema.remove(empty.server, empty.names, purge=True)
    empty.execute(
        "SET foreign_key_checks = 0", "DELETE FROM DBS", "DELETE FROM SDS", "DELETE FROM TBLS", "DELETE FROM PARTITIONS"
    )


@pytest.fixture
def strict(stock: Metastore) -> Metastore:
    """With our schema."""
    schema.apply(stock.server, stock.names, source="hopsfs", uris=URIS)
    return stock


def sds(metastore: Metastore, number: int, location: str | None) -> None:
    with metastore.cursor() as cursor:
        cursor.execute(
            "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION) VALUES (%s, 0, 0, 0, %s)",
            (number, location),
        )


def database(metastore: Metastore, number: int, name: str, location: str, managed: str | None = None) -> None:
    with metastore.cursor() as cursor:
        cursor.execute(
            "INSERT INTO DBS (DB_ID, NAME, CTLG_NAME, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI) VALUES (%s, %s, 'hive', %s, %s)",
            (number, name, location, managed),
        )


def bound(metastore: Metastore, number: int) -> tuple[Any, ...]:
    return metastore.execute(f"SELECT PARTITION_ID, PARENT_ID, NAME FROM SDS WHERE SD_ID = {number}")[0]


def test_a_location_is_resolved_when_it_is_written(strict: Metastore) -> None:
    sds(strict, 1, "hdfs://nn:8020/w/d.db/t/p=1")
    sds(strict, 2, "hopsfs://nn//w/./d.db/")
    sds(strict, 3, "/w")
    assert [bound(strict, number) for number in (1, 2, 3)] == [(4, 4, "p=1"), (2, 2, "d.db"), (118960, 1, "w")]
    strict.execute(
        "UPDATE SDS SET LOCATION = 'hdfs://nn:8020/w/d.db/u' WHERE SD_ID = 1", "UPDATE SDS SET NUM_BUCKETS = 9"
    )
    assert bound(strict, 1) == (3, 3, "u")


def test_what_lies_elsewhere_is_never_bound(strict: Metastore) -> None:
    elsewhere = [
        None,
        "s3a://b/w",
        "hdfs://nn:8020x/w",
        "hdfs://other:8020/w",
        "hdfs://NN:8020/w",
        "hdfs://nn:8020",
        "hdfs://nn:8020/w/d.db/no-__PLACEHOLDER__",
        "/",
        "",
    ]
    for number, location in enumerate(elsewhere):
        sds(strict, number, location)
    assert {bound(strict, number) for number in range(len(elsewhere))} == {(None, None, "")}


@pytest.mark.parametrize(
    ("location", "component"),
    [
        ("hdfs://nn:8020/w/d.db/no", "/w/d.db/no"),
        ("hdfs://nn:8020/x/d.db/t", "/x"),
        ("/w/d.db/T", "/w/d.db/T"),
        ("/w/d.db/t/" + "a" * 300 + "/b", "a" * 90),
    ],
)
def test_what_is_not_there_is_refused(strict: Metastore, location: str, component: str) -> None:
    sds(strict, 1, "/w")
    sentence = f"hopshive: not on the file system: {component}'"
    with pytest.raises(pymysql.MySQLError, match=sentence):
        sds(strict, 2, location)
    with strict.cursor() as cursor, pytest.raises(pymysql.MySQLError, match=sentence):
        cursor.execute("UPDATE SDS SET LOCATION = %s WHERE SD_ID = 1", (location,))
    assert strict.execute("SELECT SD_ID, NAME FROM SDS") == [(1, "w")]


def test_a_directory_takes_its_metadata_along_and_a_move_is_a_deletion(strict: Metastore) -> None:
    database(strict, 7, "d", "hdfs://nn:8020/w/d.db")
    sds(strict, 1, "hdfs://nn:8020/w/d.db/t")
    sds(strict, 2, "hdfs://nn:8020/w/d.db/t/p=1")
    strict.execute(
        "INSERT INTO TBLS (TBL_ID, DB_ID, SD_ID, CREATE_TIME, LAST_ACCESS_TIME, RETENTION) VALUES (1, 7, 1, 0, 0, 0)",
        "INSERT INTO PARTITIONS (PART_ID, TBL_ID, SD_ID, CREATE_TIME, LAST_ACCESS_TIME) VALUES (1, 1, 2, 0, 0)",
        "DELETE FROM {inodes} WHERE id = 5",
    )
    assert strict.execute("SELECT (SELECT COUNT(*) FROM PARTITIONS), (SELECT COUNT(*) FROM TBLS)") == [(0, 1)]
    # A rename: the same inode under another name, in one transaction of HopsFS.
    strict.execute("START TRANSACTION", "DELETE FROM {inodes} WHERE id = 4",
                   "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (3, 3, 'moved', 4)", "COMMIT")  # fmt: skip
    assert strict.execute("SELECT (SELECT COUNT(*) FROM TBLS), (SELECT COUNT(*) FROM DBS)") == [(0, 1)]
    strict.execute("DELETE FROM {inodes} WHERE id = 3")
    assert strict.execute("SELECT COUNT(*) FROM DBS") == [(0,)]


def test_a_database_is_bound_to_its_one_directory(strict: Metastore) -> None:
    database(strict, 1, "default", "hdfs://nn:8020/w")
    database(strict, 7, "d", "hdfs://nn:8020/w/d.db")
    database(strict, 8, "both", "hdfs://nn:8020/w/d.db/t", "hdfs://nn:8020/w/d.db/u")
    database(strict, 9, "s3", "s3a://b/w/d.db")
    database(strict, 10, "same", "hdfs://nn:8020/w/d.db/t", "hdfs://nn:8020/w/d.db/t")
    described = "SELECT DB_ID, SD_ID FROM DBS ORDER BY DB_ID"
    assert strict.execute(described) == [(1, None), (7, -7), (8, None), (9, None), (10, -10)]
    assert bound(strict, -7) == (2, 2, "d.db")
    strict.execute("UPDATE DBS SET DB_LOCATION_URI = 'hdfs://nn:8020/w/d.db/u' WHERE DB_ID = 7",
                   "UPDATE DBS SET `DESC` = 'x', DB_LOCATION_URI = 's3a://b/x' WHERE DB_ID = 10",
                   "UPDATE DBS SET DB_LOCATION_URI = 'hdfs://nn:8020/w' WHERE DB_ID = 9")  # fmt: skip
    assert strict.execute(described) == [(1, None), (7, -7), (8, None), (9, -9), (10, None)]
    assert (bound(strict, -7), bound(strict, -9)) == ((3, 3, "u"), (118960, 1, "w"))
    with pytest.raises(pymysql.MySQLError, match="not on the file system: /w/e"):
        database(strict, 11, "e", "hdfs://nn:8020/w/e.db")
    assert strict.execute("SELECT COUNT(*) FROM DBS WHERE DB_ID = 11") == [(0,)]


def module(metastore: Metastore, *, check: bool = False, **more: Any) -> dict[str, Any]:
    arguments = {
        "database": metastore.server.database,
        "state_schema": metastore.names.state,
        "inode_table": metastore.names.inodes,
        "inode_source": "hopsfs",
        "uris": URIS,
        "login_unix_socket": metastore.server.unix_socket,
        "login_user": "root",
    }
    return run_module("hopshive_consistency_schema", {**arguments, **more}, check=check)


def test_what_stood_there_before_is_bound_once(stock: Metastore) -> None:
    sds(stock, 1, "hdfs://nn:8020/w/d.db/t")
    sds(stock, 2, "hdfs://nn:8020/w/d.db/gone")
    sds(stock, 3, "s3a://b/x")
    sds(stock, 4, None)
    database(stock, 1, "default", "hdfs://nn:8020/w")
    database(stock, 7, "d", "hdfs://nn:8020/w/d.db")
    done = module(stock)
    assert (done["changed"], done["bound"], done["not_there"]) == (True, 4, 1)
    assert [bound(stock, number) for number in (1, -7)] == [(3, 3, "t"), (2, 2, "d.db")]
    assert stock.execute(f"SELECT SD_ID FROM SDS WHERE {UNBOUND} IS NULL") == [(2,)]
    again = module(stock)
    assert (again["changed"], again["bound"], again["not_there"]) == (False, 0, 1)
    # Everything that refers to a location that is not there is refused, but nothing else about it.
    stock.execute("UPDATE SDS SET NUM_BUCKETS = 3 WHERE SD_ID = 2")


def test_a_row_that_another_session_holds_is_waited_for(strict: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PAUSE", 0.1)
    strict.execute("DROP TRIGGER hopshive_sds_insert")
    sds(strict, 1, "hdfs://nn:8020/w/d.db/t")
    with strict.cursor() as holder:
        holder.execute("BEGIN")
        holder.execute("SELECT * FROM SDS WHERE SD_ID = 1 FOR UPDATE")
        release = threading.Timer(session.LOCK_WAIT + 0.3, lambda: holder.execute("ROLLBACK"))
        release.start()
        assert schema.bind(strict.server, strict.names) == schema.Existing(1, 0)
        release.join()
    assert bound(strict, 1) == (3, 3, "t")


def test_other_uris_are_other_triggers(strict: Metastore) -> None:
    assert not module(strict, check=True)["changed"]
    changed = module(strict, uris=["hdfs://ha"])
    assert len(changed["statements"]) == 4
    sds(strict, 1, "hdfs://ha/w")
    assert bound(strict, 1) == (118960, 1, "w")


def test_the_table_of_the_file_system_is_never_touched(stock: Metastore) -> None:
    before = stock.execute("SHOW CREATE TABLE {inodes}"), stock.execute("CHECKSUM TABLE {inodes}")
    schema.apply(stock.server, stock.names, source="hopsfs", uris=URIS)
    schema.remove(stock.server, stock.names, purge=True)
    assert (stock.execute("SHOW CREATE TABLE {inodes}"), stock.execute("CHECKSUM TABLE {inodes}")) == before


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("DROP TABLE {inodes}", "There is no table onhopsfs_hops.hdfs_inodes"),
        ("ALTER TABLE {inodes} DROP COLUMN id", "has no column id: it is no inode table"),
        ("ALTER TABLE {inodes} DROP PRIMARY KEY", r"has no unique key on \(partition_id, parent_id, name\)"),
        ("ALTER TABLE {inodes} ENGINE=Aria", "has the engine Aria and the metastore's tables have InnoDB"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(stock: Metastore, damage: str, sentence: str) -> None:
    stock.execute(damage)
    with pytest.raises(schema.SchemaError, match=f"{sentence}.*Nothing was changed"):
        schema.apply(stock.server, stock.names, source="hopsfs", uris=URIS)
    assert not stock.execute(f"SHOW DATABASES LIKE '{stock.names.state}'")


def test_the_table_of_a_file_system_is_not_taken_for_ours(stock: Metastore) -> None:
    with pytest.raises(
        schema.SchemaError, match=r"is not hopshive's own table: it has more columns \(is_dir, permission"
    ):
        schema.apply(stock.server, stock.names, source="hdfs")
    schema.apply(stock.server, stock.names, source="hopsfs", uris=URIS)
    stock.execute("DROP DATABASE {state}")
    assert "Nothing was changed" in module(stock, inode_source="hdfs")["msg"]
    schema.remove(stock.server, stock.names, purge=True)
    assert stock.execute("SELECT COUNT(*) FROM {inodes}") == [(6,)]
