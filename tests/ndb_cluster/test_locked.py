"""Rows that another session has locked, on a server that cannot skip them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from hopshive.database import Database, Names, Server, Transaction, marks
from hopshive.database.locked import LONGEST_PAUSE, MOST_FAILED, Locked
from tests.support.metastore_rows import numbers
from tests.support.ndb import run_ndb, unpack_ndb

ROWS = 64


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home) as cluster:
        cluster.sql[0].execute(
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id BIGINT PRIMARY KEY, done INT NOT NULL DEFAULT 0)",
            f"INSERT INTO d.t (id) SELECT seq FROM {numbers(1, ROWS)}",
        )
        yield Server("d", unix_socket=cluster.sql[0].socket, user="root")


@pytest.fixture(name="database")
def a_database(server: Server) -> Iterator[Database]:
    database = Database(server, Names("d", "d.t"))
    with database.transaction() as tx:
        tx.execute("UPDATE t SET done = 0")
    yield database
    database.close()


def work(tx: Transaction, ids: Sequence[int]) -> int:
    return tx.execute(f"UPDATE t SET done = done + 1 WHERE id IN ({marks(ids)})", ids)


def undone(database: Database) -> list[int]:
    with database.reading() as tx:
        assert tx.value("SELECT MAX(done) FROM t") == 1
        return [int(row[0]) for row in tx.rows("SELECT id FROM t WHERE done = 0 ORDER BY id")]


def test_without_locks_all_is_done_in_one_transaction(database: Database) -> None:
    assert Locked[int]().spare(database, range(1, ROWS + 1), work) == [ROWS]
    assert undone(database) == []


def test_for_no_rows_nothing_is_done(database: Database) -> None:
    assert Locked[int]().spare(database, [], work) == []


def test_a_locked_row_is_left_alone_for_a_while_and_the_others_are_done(database: Database, server: Server) -> None:
    now = [0.0]
    locked = Locked[int](lambda: now[0])
    other = Database(server)
    with other.transaction() as tx:
        tx.execute("SELECT * FROM t WHERE id = 23 FOR UPDATE")
        assert sum(locked.spare(database, range(1, ROWS + 1), work)) == ROWS - 1
    other.close()
    assert undone(database) == [23]
    assert (len(locked), locked.free([22, 23, 24])) == (1, [22, 24])
    now[0] += LONGEST_PAUSE + 1
    assert (len(locked), locked.free([22, 23, 24])) == (0, [22, 23, 24])
    assert locked.spare(database, [23], work) == [1]


def test_where_all_is_locked_the_tries_are_few(database: Database, server: Server) -> None:
    locked = Locked[int]()
    tries = 0

    def counting(tx: Transaction, ids: Sequence[int]) -> int:
        nonlocal tries
        tries += 1
        return work(tx, ids)

    other = Database(server)
    with other.transaction() as tx:
        tx.execute("SELECT * FROM t FOR UPDATE")
        assert locked.spare(database, range(1, ROWS + 1), counting) == []
    other.close()
    assert tries == MOST_FAILED
    assert len(locked) == ROWS
