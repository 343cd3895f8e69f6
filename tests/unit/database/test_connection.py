"""Which server is asked, if the database has several: SQL nodes of a cluster; what it stores of a text that is too long."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hopshive.database import Database, DatabaseError, DatabaseUnavailable, Server
from tests.support.servers import MariaDB, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def dead() -> int:
    return free_port()


def server(mariadb: MariaDB, first: int, *others: int, word: str = "right") -> Server:
    mariadb.execute("CREATE OR REPLACE USER several@'127.0.0.1' IDENTIFIED BY 'right'")
    places = tuple(("127.0.0.1", port) for port in others)
    return Server("information_schema", "127.0.0.1", first, "several", word, others=places)


def ask(asked: Server, sql: str = "SELECT @@port") -> object:
    database = Database(asked)
    try:
        with database.reading() as tx:
            return tx.value(sql)
    finally:
        database.close()


def test_the_next_one_is_asked_if_one_does_not_answer(mariadb: MariaDB, dead: int) -> None:
    assert ask(server(mariadb, dead, dead, mariadb.port)) == mariadb.port


def test_of_none_that_answers_the_first_is_named(mariadb: MariaDB, dead: int) -> None:
    with pytest.raises(DatabaseUnavailable, match=f"127.0.0.1:{dead}: Can't connect"):
        ask(server(mariadb, dead, free_port()))


def test_a_refusal_is_no_reason_to_ask_another(mariadb: MariaDB, dead: int) -> None:
    with pytest.raises(DatabaseError, match="Access denied") as caught:
        ask(server(mariadb, mariadb.port, dead, word="wrong"))
    assert not isinstance(caught.value, DatabaseUnavailable)


def test_what_lets_no_client_in_is_said_with_what_to_do(mariadb: MariaDB, dead: int) -> None:
    with pytest.raises(DatabaseError, match=r"\(1045\)\. The user is database\.user, .*: site\.yml writes both\.$"):
        ask(server(mariadb, mariadb.port, word="wrong"))
    lacks = r"\. The user several lacks privileges: site\.yml grants them\.$"
    with pytest.raises(DatabaseError, match=r"Access denied for user .* to database 'mysql' \(1044\)" + lacks):
        ask(replace(server(mariadb, mariadb.port), database="mysql"))
    with pytest.raises(DatabaseError, match=r"SELECT command denied to user .* \(1142\)" + lacks):
        ask(server(mariadb, mariadb.port), "SELECT 1 FROM mysql.db")
    with pytest.raises(DatabaseError, match=r"\(2003\)\. Is the server up, and can this host reach it\?$"):
        ask(server(mariadb, dead))


@pytest.fixture
def lenient(mariadb: MariaDB) -> Iterator[MariaDB]:
    """A server that cuts what does not fit, unless a session says otherwise."""
    (mode,) = mariadb.execute("SELECT @@global.sql_mode")[0]
    mariadb.execute("SET GLOBAL sql_mode = ''", "CREATE OR REPLACE DATABASE cuts", "CREATE TABLE cuts.t (s VARCHAR(4))")
    yield mariadb
    mariadb.execute(f"SET GLOBAL sql_mode = '{mode}'", "DROP DATABASE cuts")


def test_a_text_that_is_too_long_is_refused_whatever_the_servers_default(lenient: MariaDB) -> None:
    database = Database(Server("cuts", user="root", unix_socket=lenient.socket))
    with pytest.raises(DatabaseError, match="Data too long for column 's'"), database.transaction() as tx:
        tx.execute("INSERT INTO t VALUES ('longer')")
    database.close()
    assert lenient.execute("SELECT * FROM cuts.t") == []
