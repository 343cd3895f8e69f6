"""What users write is kept as it is: the metastore's columns in utf8mb4, on a real MariaDB with Hive's own schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from hopshive.consistency import schema
from hopshive.consistency.garbage import named
from hopshive.consistency.schema import texts
from hopshive.consistency.schema.stock_keys import stock_keys
from hopshive.consistency.schema.texts import COLUMNS, INDEXES, MARK, NAMES
from hopshive.database.foreign_keys import outgoing
from tests.support.metastore_db import Metastore, with_stock
from tests.support.servers import MariaDB

# Bytes of an InnoDB key, and of a character.
KEY, CHARACTER = 3072, 4
# Latin1 of the stock schema that stays: what Hive itself writes there, or what is compared with nothing that users write.
STAYS = {
    "AUX_TABLE": "names of Hive's mutexes",
    "COMPACTION_METRICS_CACHE": "kinds",
    "COMPACTION_QUEUE": "states, hosts, users, versions, pools",
    "COMPLETED_COMPACTIONS": "the same",
    "COMPLETED_TXN_COMPONENTS": "kinds",
    "CTLGS": "its name is ASCII, and DBS refers to it",
    "DATACONNECTORS": "its name is ASCII, and others refer to it; kinds",
    "DATACONNECTOR_PARAMS": "the connector's name",
    "DBS": "kinds, and the names of catalog and connector",
    "DB_PRIVS": "kinds and privileges",
    "DC_PRIVS": "kinds, privileges, the connector's name",
    "DELEGATION_TOKENS": "base64",
    "FUNCS": "a class and a kind",
    "GLOBAL_PRIVS": "kinds and privileges",
    "HIVE_LOCKS": "states, users, hosts, query ids",
    "MASTER_KEYS": "base64",
    "METASTORE_DB_PROPERTIES": "Hive's own",
    "MV_CREATION_METADATA": "names of objects that are there, and transactions",
    "NOTIFICATION_LOG": "kinds, and names of objects that are there",
    "NUCLEUS_TABLES": "classes",
    "PARTITION_EVENTS": "names of objects that are there",
    "PART_COL_PRIVS": "kinds and privileges",
    "PART_COL_STATS": "names of objects that are there, a primitive type, digits, an engine",
    "PART_PRIVS": "kinds and privileges",
    "REPLICATION_METRICS": "a policy and a format",
    "REPL_TXN_MAP": "a policy",
    "ROLE_MAP": "kinds",
    "SCHEMA_VERSION": "a digest",
    "SDS": "classes",
    "SEQUENCE_TABLE": "classes",
    "SERDES": "classes and libraries",
    "TAB_COL_STATS": "names of objects that are there, a primitive type, digits, an engine",
    "TBLS": "kinds",
    "TBL_COL_PRIVS": "kinds and privileges",
    "TBL_PRIVS": "kinds and privileges",
    "TXNS": "users, hosts, query ids",
    "TXN_COMPONENTS": "kinds",
    "TXN_WRITE_NOTIFICATION_LOG": "names of objects that are there",
    "TYPES": "not used",
    "TYPE_FIELDS": "not used",
    "VERSION": "Hive's own",
    "WM_MAPPING": "plans of LLAP",
    "WM_POOL": "the same",
    "WM_RESOURCEPLAN": "the same",
    "WM_TRIGGER": "the same",
    "WRITE_SET": "kinds",
}
# What statements of Hive 4.0.1 compare with each other: by name of object and of partition (txn.jdbc.queries, TxnUtils,
# CompactionTxnHandler, MetaStoreDirectSql).
PAIRS = [
    *(
        (f"{first}_{name}", f"{second}_{name}")
        for first, second in (
            ("TXN_COMPONENTS.TC", "WRITE_SET.WS"),
            ("TXN_COMPONENTS.TC", "COMPLETED_TXN_COMPONENTS.CTC"),
            ("TXN_COMPONENTS.TC", "COMPACTION_QUEUE.CQ"),
            ("COMPLETED_TXN_COMPONENTS.CTC", "COMPLETED_COMPACTIONS.CC"),
            ("COMPACTION_QUEUE.CQ", "COMPLETED_COMPACTIONS.CC"),
            ("COMPACTION_QUEUE.CQ", "COMPACTION_METRICS_CACHE.CMC"),
        )
        for name in ("DATABASE", "TABLE", "PARTITION")
    ),
    *(
        (f"{first}_{name}", f"{second}_{name}")
        for first, second in (
            ("COMPACTION_QUEUE.CQ", "MIN_HISTORY_WRITE_ID.MH"),
            ("TXN_TO_WRITE_ID.T2W", "MIN_HISTORY_WRITE_ID.MH"),
            ("TXN_TO_WRITE_ID.T2W", "NEXT_WRITE_ID.NWI"),
            ("TXN_TO_WRITE_ID.T2W", "TXN_COMPONENTS.TC"),
        )
        for name in ("DATABASE", "TABLE")
    ),
    ("PARTITIONS.PART_NAME", "PART_COL_STATS.PARTITION_NAME"),
    ("COLUMNS_V2.COLUMN_NAME", "TAB_COL_STATS.COLUMN_NAME"),
    ("COLUMNS_V2.COLUMN_NAME", "PART_COL_STATS.COLUMN_NAME"),
    ("PART_COL_STATS.DB_NAME", "TAB_COL_STATS.DB_NAME"),
    ("PART_COL_STATS.TABLE_NAME", "TAB_COL_STATS.TABLE_NAME"),
]
# One of ten scripts each, and what is special in paths, patterns and SQL.
TEXTS = [
    "日本", "東京", "Zürich", "Санкт-Петербург", "Αθήνα", "القاهرة", "ירושלים", "กรุงเทพ", "서울", "दिल्ली",
    "🐘", "a b", " lead", "it's", 'say "x"', "a/b", "a=b", "100%", "a:b", "back\\slash", "%E6%97%A5", "_", "e\u0301",
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(mariadb: MariaDB, hive_home: Path) -> Iterator[Metastore]:
    with with_stock(mariadb, hive_home, "texts") as found:
        yield found


@pytest.fixture
def stock(shared: Metastore) -> Iterator[Metastore]:
    """A stock schema; what a test inserts has ids from 1 on."""
    yield shared
    shared.execute("SET foreign_key_checks = 0", *(f"DELETE FROM {table}" for table in ("PARTITIONS", "SDS", "TBLS", "DBS",
                   "COLUMNS_V2", "TABLE_PARAMS", "COMPLETED_TXN_COMPONENTS")))  # fmt: skip
    schema.remove(shared.server, shared.names, purge=True)


@pytest.fixture
def applied(stock: Metastore) -> Metastore:
    schema.apply(stock.server, stock.names)
    return stock


def text_columns(metastore: Metastore) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Character set, collation, type, whether NULL is allowed, default and place of each column that holds text."""
    rows = metastore.execute(
        "SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_SET_NAME, COLLATION_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT,"
        " ORDINAL_POSITION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLLATION_NAME IS NOT NULL"
    )
    return {(table, column): tuple(rest) for table, column, *rest in rows}


def as_hive(metastore: Metastore, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    """A statement in a session that is not strict, as each of Hive's is."""
    with metastore.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES', foreign_key_checks = 0")
        cursor.execute(sql, arguments or None)
        return list(cursor.fetchall())


def partition(metastore: Metastore, number: int, name: str) -> None:
    as_hive(
        metastore,
        "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, TBL_ID) VALUES (%s, 0, 0, %s, 1)",
        number,
        name,
    )


# --- which columns ------------------------------------------------------------------------------------------------------


def test_each_text_column_was_thought_of(stock: Metastore) -> None:
    latin1 = {key for key, (charset, *_) in text_columns(stock).items() if charset == "latin1"}
    changed = {(table, name) for some in (COLUMNS, NAMES) for table, names in some.items() for name in names}
    assert changed <= latin1
    assert {table for table, _ in latin1 - changed} == set(STAYS)


def test_columns_change_in_nothing_but_their_character_set(stock: Metastore) -> None:
    before = text_columns(stock)
    schema.apply(stock.server, stock.names)
    after = text_columns(stock)
    assert {key: after[key][2:] for key in before} == {key: value[2:] for key, value in before.items()}
    for table, names in COLUMNS.items():
        assert {after[table, name][:2] for name in names} == {("utf8mb4", "utf8mb4_bin")}, table
    for table, names in NAMES.items():
        assert {after[table, name][:2] for name in names} == {("utf8mb4", "utf8mb4_general_ci")}, table


def test_what_hive_compares_has_one_collation(applied: Metastore) -> None:
    found = text_columns(applied)
    for first, second in PAIRS:
        one, other = (found[tuple(name.split("."))][:2] for name in (first, second))  # type: ignore[index]
        assert one == other, (first, second)


def test_foreign_keys_lead_to_columns_of_their_collation(applied: Metastore) -> None:
    found = text_columns(applied)
    keys = applied.execute(
        "SELECT TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE"
        " WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE()"
    )
    by_name = {(row[0], row[1]): (row[2], row[3]) for row in keys if (row[0], row[1]) in found}
    assert sorted(by_name) == [("DATACONNECTOR_PARAMS", "NAME"), ("DBS", "CTLG_NAME"), ("DC_PRIVS", "NAME")]
    for child, parent in by_name.items():
        assert found[child][:2] == found[parent][:2], child


def test_names_without_a_table_are_found_by_the_index_of_tables(applied: Metastore) -> None:
    """The one statement of ours that compares names of different collations."""
    as_hive(applied, "INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME) VALUES (1, 'x', 'd')")
    for number, name in enumerate(("t", "u")):
        as_hive(applied, "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_UPDATE_DELETE)"
                " VALUES (%s, 'd', %s, 'N')", number, name.upper())  # fmt: skip
    as_hive(applied, "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, TBL_NAME)"
            " VALUES (1, 0, 1, 0, 0, 't')")  # fmt: skip
    database = applied.database()
    with database.reading() as tx:
        assert named._without_table(tx, named.NAMED[0]) == [("d", "u")]
        plan = tx.rows("EXPLAIN SELECT (SELECT 1 FROM TBLS t WHERE t.TBL_NAME = LOWER(c.CTC_TABLE) LIMIT 1)"
                       " FROM COMPLETED_TXN_COMPONENTS c")  # fmt: skip
    database.close()
    assert "UNIQUETABLE" in str(plan)


# --- indexes ------------------------------------------------------------------------------------------------------------


def test_indexes_keep_all_their_columns_and_what_fits_of_each(stock: Metastore) -> None:
    sql = (
        "SELECT s.TABLE_NAME, s.INDEX_NAME, s.COLUMN_NAME, s.SUB_PART, s.NON_UNIQUE, s.INDEX_TYPE, s.SEQ_IN_INDEX,"
        " COALESCE(c.CHARACTER_OCTET_LENGTH, 8), c.CHARACTER_SET_NAME FROM information_schema.STATISTICS s"
        " JOIN information_schema.COLUMNS c USING (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME) WHERE TABLE_SCHEMA = DATABASE()"
        " AND s.TABLE_NAME IN ({tables}) ORDER BY 1, 2, 7".replace(
            "{tables}",
            ", ".join(f"'{table}'" for table in sorted({*COLUMNS, *NAMES} - {"SDS", "DBS", "KEY_CONSTRAINTS"})),
        )
    )
    before = stock.execute(sql)
    schema.apply(stock.server, stock.names)
    after = stock.execute(sql)
    assert [(*row[:3], *row[4:7]) for row in after] == [(*row[:3], *row[4:7]) for row in before]
    kept = {(index.table, index.name, name): n for index in INDEXES for name, n in index.kept.items()}
    assert {tuple(row[:3]): row[3] for row in after if row[3]} == kept
    for index in INDEXES:
        rows = [row for row in after if tuple(row[:2]) == (index.table, index.name)]
        size = sum(row[3] * CHARACTER if row[3] else row[7] for row in rows)
        assert KEY - CHARACTER < size <= KEY, index


def test_names_that_differ_behind_what_the_key_holds_are_refused_and_never_one(applied: Metastore) -> None:
    partition(applied, 1, "x" * 766 + "a")
    with pytest.raises(pymysql.IntegrityError, match="UNIQUEPARTITION"):
        partition(applied, 2, "x" * 766 + "b")
    partition(applied, 2, "x" * 765 + "bb")
    assert applied.execute("SELECT CHAR_LENGTH(PART_NAME) FROM PARTITIONS") == [(767,), (767,)]


# --- values -------------------------------------------------------------------------------------------------------------


def test_what_is_written_is_what_is_read(applied: Metastore) -> None:
    for number, text in enumerate(TEXTS, 1):
        partition(applied, number, f"p={text}")
        as_hive(applied, "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, LOCATION)"
                " VALUES (%s, 0, 0, 0, %s)", number, f"hdfs://nn/x/{text}")  # fmt: skip
        as_hive(applied, "INSERT INTO TABLE_PARAMS VALUES (1, %s, %s)", text, text * 9)
        as_hive(
            applied, "INSERT INTO COLUMNS_V2 VALUES (1, %s, %s, %s, %s)", text, text, f"struct<`{text}`:int>", number
        )
    for number, text in enumerate(TEXTS, 1):
        found = as_hive(
            applied,
            "SELECT LOCATION, PARAM_VALUE, COMMENT, TYPE_NAME FROM PARTITIONS JOIN SDS ON SDS.SD_ID = PART_ID"
            " JOIN TABLE_PARAMS ON PARAM_KEY = %s JOIN COLUMNS_V2 ON COLUMN_NAME = %s WHERE PART_NAME = %s AND PART_ID = %s",
            text, text, f"p={text}", number,
        )  # fmt: skip
        assert found == [(f"hdfs://nn/x/{text}", text * 9, text, f"struct<`{text}`:int>")]


def test_partitions_of_one_letter_in_two_cases_are_two(applied: Metastore) -> None:
    for name in ("p=a", "p=A"):
        as_hive(applied, "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_PARTITION,"
                " CTC_UPDATE_DELETE) VALUES (1, 'd', 't', %s, 'N')", name)  # fmt: skip
    sql = "SELECT COUNT(*) FROM COMPLETED_TXN_COMPONENTS WHERE CTC_DATABASE = 'D' AND CTC_PARTITION = %s"
    assert as_hive(applied, sql, "p=a") == [(1,)]


def test_what_stood_there_is_kept_there_and_back(stock: Metastore) -> None:
    """All that latin1 has, in a column of either stock collation."""
    every = "".join(bytes([byte]).decode("cp1252", "replace") for byte in range(32, 256)).replace("\ufffd", "")
    partition(stock, 1, f"p={every}  ")
    as_hive(stock, "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_PARTITION, CTC_UPDATE_DELETE)"
            " VALUES (1, 'd', 't', %s, 'N')", every)  # fmt: skip
    bytes_of = "SELECT HEX(PART_NAME), HEX(CTC_PARTITION) FROM PARTITIONS, COMPLETED_TXN_COMPONENTS"
    before = stock.execute(bytes_of)
    schema.apply(stock.server, stock.names)
    read = stock.execute("SELECT PART_NAME, CTC_PARTITION FROM PARTITIONS, COMPLETED_TXN_COMPONENTS")
    assert read == [(f"p={every}  ", every)]
    schema.remove(stock.server, stock.names)
    assert stock.execute(bytes_of) == before


# --- on and off ---------------------------------------------------------------------------------------------------------


def test_one_statement_a_table_and_none_in_the_second_run(stock: Metastore) -> None:
    done = schema.apply(stock.server, stock.names)
    changed = [sql.split()[2] for sql in done if "CHARACTER SET utf8mb4" in sql and sql.startswith("ALTER TABLE")]
    assert sorted(changed) == sorted({*COLUMNS, *NAMES})
    assert schema.apply(stock.server, stock.names) == []


# --- keys that a crash took ---------------------------------------------------------------------------------------------


def test_each_stock_key_of_a_table_that_is_copied_is_listed(stock: Metastore) -> None:
    with stock.database().reading() as tx:
        found = outgoing(tx)
    copied = {*COLUMNS, *NAMES}
    assert {key for key in found if key.table in copied} == set(stock_keys())


def test_keys_that_a_crash_took_are_back_in_both_directions(stock: Metastore) -> None:
    before = stock.picture()
    schema.apply(stock.server, stock.names)
    applied = stock.picture()
    stock.execute(
        "ALTER TABLE PARTITIONS DROP FOREIGN KEY hopshive_PARTITIONS_FK1, DROP FOREIGN KEY hopshive_PARTITIONS_FK2"
    )
    stock.execute("ALTER TABLE SDS DROP FOREIGN KEY SDS_FK2")
    assert schema.apply(stock.server, stock.names)
    assert stock.picture() == applied
    stock.execute("ALTER TABLE TBLS DROP FOREIGN KEY hopshive_TBLS_FK2")
    schema.remove(stock.server, stock.names, purge=True)
    assert stock.picture() == before
    stock.execute("ALTER TABLE BUCKETING_COLS DROP FOREIGN KEY BUCKETING_COLS_FK1")
    assert len(schema.remove(stock.server, stock.names)) == 1
    assert stock.picture() == before


def test_rows_that_a_lost_key_left_behind_are_named_before_anything_is_changed(stock: Metastore) -> None:
    stock.execute(
        "ALTER TABLE BUCKETING_COLS DROP FOREIGN KEY BUCKETING_COLS_FK1",
        "INSERT INTO BUCKETING_COLS (SD_ID, INTEGER_IDX) VALUES (4711, 0)",
    )
    before = stock.picture()
    with pytest.raises(schema.SchemaError, match=r"BUCKETING_COLS_FK1.*delete these rows, and run this again"):
        schema.apply(stock.server, stock.names)
    assert stock.picture() == before
    stock.execute("DELETE FROM BUCKETING_COLS")


def test_values_that_latin1_does_not_have_are_named_and_nothing_is_changed(applied: Metastore) -> None:
    partition(applied, 7, "p=日本")
    partition(applied, 8, "p=Zürich")
    as_hive(applied, "INSERT INTO TABLE_PARAMS VALUES (3, 'comment', '🐘'), (4, 'comment', 'Αθήνα')")
    before = applied.picture()
    with pytest.raises(schema.SchemaError) as refused:
        schema.remove(applied.server, applied.names)
    sentence = str(refused.value)
    assert "latin1 cannot hold what stands in texts: " in sentence
    assert "PART_NAME of PARTITIONS in 1 row (PART_ID 7) has 'p=日本'" in sentence
    assert "PARAM_VALUE of TABLE_PARAMS in 2 rows, of which one (TBL_ID 3, PARAM_KEY comment) has" in sentence
    assert "Nothing was changed" in sentence
    assert applied.picture() == before


def test_a_column_that_another_program_has_converted_stays_so(stock: Metastore) -> None:
    by_hand = "ALTER TABLE SDS MODIFY COLUMN LOCATION varchar(4000) CHARACTER SET {} COLLATE {}_bin DEFAULT NULL"
    stock.execute(by_hand.format("utf8mb4", "utf8mb4"))
    try:
        before = stock.picture()
        schema.apply(stock.server, stock.names)
        assert MARK not in stock.picture()["SDS"]
        schema.remove(stock.server, stock.names)
        assert stock.picture()["SDS"] == before["SDS"]
    finally:
        stock.execute(by_hand.format("latin1", "latin1"))


def test_tables_whose_keys_are_too_short_are_refused(stock: Metastore) -> None:
    stock.execute("ALTER TABLE TABLE_PARAMS ROW_FORMAT=COMPACT")
    try:
        before = stock.picture()
        with pytest.raises(
            schema.SchemaError, match=r"TABLE_PARAMS in texts has the row format Compact.*ROW_FORMAT=DYNAMIC"
        ):
            schema.apply(stock.server, stock.names)
        assert stock.picture() == before
    finally:
        stock.execute("ALTER TABLE TABLE_PARAMS ROW_FORMAT=DEFAULT")


def test_an_index_of_the_site_that_would_become_a_hash_is_refused(stock: Metastore) -> None:
    stock.execute("ALTER TABLE PARTITIONS ADD UNIQUE KEY site (PART_NAME, SD_ID)")
    try:
        before = stock.picture()
        with pytest.raises(
            schema.SchemaError, match=r"index site of PARTITIONS in texts would have 3,076 bytes .* drop it"
        ):
            schema.apply(stock.server, stock.names)
        assert stock.picture() == before
        stock.execute("ALTER TABLE PARTITIONS DROP KEY site, ADD KEY site (PART_NAME(100), SD_ID)")
        assert schema.apply(stock.server, stock.names)
    finally:
        stock.execute("ALTER TABLE PARTITIONS DROP KEY site")


def test_a_schema_that_was_upgraded_goes_there_and_back(mariadb: MariaDB, hive_home: Path) -> None:
    """Collations of Hive's upgrade scripts differ from those of its whole script."""
    with with_stock(mariadb, hive_home, "upgraded") as stock:
        stock.execute(
            "ALTER TABLE PARTITION_PARAMS MODIFY COLUMN PARAM_VALUE mediumtext",
            "ALTER TABLE DBS MODIFY COLUMN REMOTE_DBNAME varchar(128) CHARACTER SET latin1 COLLATE latin1_bin",
            "ALTER TABLE COMPLETED_TXN_COMPONENTS MODIFY COLUMN CTC_TABLE varchar(256) CHARACTER SET latin1 COLLATE latin1_bin",
        )
        before = stock.picture()
        schema.apply(stock.server, stock.names)
        schema.remove(stock.server, stock.names)
        assert stock.picture() == before


def test_no_column_is_in_both_lists() -> None:
    for table in COLUMNS.keys() & NAMES.keys():
        assert not set(COLUMNS[table]) & set(NAMES[table])
    assert texts.STOCK == "latin1"
