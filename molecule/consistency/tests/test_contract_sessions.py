"""Sessions that have read a table already: the next statement after its removal fails with table not found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.objects import ACID
from tests.warehouse import HiveError, HiveSession, SparkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract import OwnDatabase

SPARK_TABLES = {
    "parquet": "CREATE TABLE {db}.t (a INT, p INT) USING parquet PARTITIONED BY (p)",
    "text of Hive": "CREATE TABLE {db}.t (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE",
}
QUERY = "SELECT * FROM {db}.t"


@pytest.fixture(name="other")
def another_session(db: OwnDatabase) -> Iterator[HiveSession]:
    """A second session of HiveServer2."""
    session = HiveSession(db.warehouse.lab.one("server2").address)
    yield session
    session.close()


@pytest.mark.parametrize("form", [ACID, "STORED AS PARQUET"], ids=["acid", "external"])
def test_hive_finds_no_table_in_the_next_statement(db: OwnDatabase, other: HiveSession, form: str) -> None:
    external = "EXTERNAL " if form != ACID else ""
    db.hive(f"CREATE {external}TABLE {{db}}.t (a INT) {form}", "INSERT INTO {db}.t VALUES (1)")
    query = QUERY.replace("{db}", db.name)
    # Twice: the second answer of an ACID table is from HiveServer2's cache of results.
    for session in (db.warehouse.session, other):
        assert session.execute(query) == session.execute(query) == [(1,)]
    db.warehouse.hdfs.delete(db.path("t"))
    db.warehouse.wait_quiet()
    for session in (db.warehouse.session, other):
        with pytest.raises(HiveError, match="Table not found") as refused:
            session.execute(query)
        assert refused.value.state == "42S02"
        with pytest.raises(HiveError, match="Table not found"):
            session.execute(f"INSERT INTO {db.name}.t VALUES (2)")
    # No client has made its directory again.
    assert db.tables() == []


@pytest.mark.parametrize("form", SPARK_TABLES)
def test_spark_finds_no_table_in_the_next_statement(db: OwnDatabase, form: str) -> None:
    db.spark("SET hive.exec.dynamic.partition.mode = nonstrict", SPARK_TABLES[form])
    db.spark("INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    assert sorted(db.spark(QUERY)) == [(1, 1), (2, 2)]
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(db.path("t"))
    db.warehouse.wait_quiet()
    for statement in (QUERY, "INSERT INTO {db}.t VALUES (3, 3)", "REFRESH TABLE {db}.t"):
        with pytest.raises(SparkError, match="TABLE_OR_VIEW_NOT_FOUND"):
            db.spark(statement)
    assert db.tables() == []


@pytest.mark.parametrize("form", SPARK_TABLES)
def test_spark_and_hive_see_at_once_that_a_partition_went_and_came_back(db: OwnDatabase, form: str) -> None:
    db.spark("SET hive.exec.dynamic.partition.mode = nonstrict", SPARK_TABLES[form])
    db.spark("INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    db.warehouse.wait_quiet()
    path = db.path("t", "p=1")
    for wanted in ([(2, 2)], [(1, 1), (2, 2)]):
        # Without REFRESH TABLE: what a session that has read it before sees by itself.
        assert sorted(db.spark(QUERY)) == db.rows("t")
        if len(wanted) == 1:
            db.warehouse.hdfs.delete(path, skip_trash=False)
        else:
            db.warehouse.hdfs.restore_from_trash(path)
        db.warehouse.wait_quiet()
        assert sorted(db.spark(QUERY)) == db.rows("t") == wanted


def test_a_database_that_went_is_gone_for_a_session_that_uses_it(db: OwnDatabase, other: HiveSession) -> None:
    db.hive(f"CREATE TABLE {{db}}.t (a INT) {ACID}", "CREATE EXTERNAL TABLE {db}.e (a INT) STORED AS ORC")
    other.execute(f"USE {db.name}")
    assert other.execute("SELECT * FROM t") == []
    db.spark("USE {db}", "SELECT * FROM e")
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(db.managed)
    db.warehouse.hdfs.delete(db.external)
    db.warehouse.wait_quiet()
    try:
        with pytest.raises(HiveError, match="Table not found"):
            other.execute("SELECT * FROM t")
        with pytest.raises(SparkError, match="TABLE_OR_VIEW_NOT_FOUND"):
            db.spark("SELECT * FROM e")
        assert not db.exists()
    finally:
        db.spark("USE default")


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("SELECT a FROM {db}.{0}", ([(1,)], [(2,)])),
        ("SELECT a, count(*) FROM {db}.{0} GROUP BY a", ([(1, 1)], [(2, 1)])),
    ],
    ids=["text", "plan"],
)
def test_no_query_is_answered_by_a_materialized_view_that_was_made_again_of_another(
    db: OwnDatabase, query: str, answers: tuple[list[tuple[int, ...]], ...]
) -> None:
    """HiveServer2 keeps the texts and plans of materialized views; it must not take the new one for the old one."""
    for table, number in (("x", 1), ("y", 2)):
        db.hive(f"CREATE TABLE {{db}}.{table} (a INT) {ACID}", f"INSERT INTO {{db}}.{table} VALUES ({number})")
    of_x, of_y = (query.replace("{0}", table) for table in ("x", "y"))
    db.hive(f"CREATE MATERIALIZED VIEW {{db}}.m AS {of_x}")
    assert db.hive(of_x) == answers[0]
    db.warehouse.wait_quiet()
    db.warehouse.hdfs.delete(db.path("m"))
    db.warehouse.wait_quiet()
    db.hive(f"CREATE MATERIALIZED VIEW {{db}}.m AS {of_y}")
    assert (db.hive(of_x), db.hive(of_y)) == answers


def test_a_session_with_a_materialized_view_outlives_a_restart_of_the_metastore(db: OwnDatabase) -> None:
    """HiveServer2 asks for its views first, on a connection that is closed; `wait` reads no table before that."""
    db.hive(f"CREATE TABLE {{db}}.x (a INT) {ACID}", "INSERT INTO {db}.x VALUES (1)")
    db.hive("CREATE MATERIALIZED VIEW {db}.m AS SELECT a FROM {db}.x")
    assert db.hive("SELECT a FROM {db}.x") == [(1,)]
    db.warehouse.metastore.restart()
    db.warehouse.session.wait(60)
    assert db.hive("SELECT a FROM {db}.x") == [(1,)]
