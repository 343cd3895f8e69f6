"""Which server is asked, if the database has several: SQL nodes of a cluster."""

from __future__ import annotations

import pytest

from hopshive.database import Database, DatabaseError, DatabaseUnavailable, Server
from tests.servers import MariaDB, free_port


@pytest.fixture
def dead() -> int:
    return free_port()


def server(mariadb: MariaDB, first: int, *others: int, word: str = "right") -> Server:
    mariadb.execute("CREATE OR REPLACE USER several@'127.0.0.1' IDENTIFIED BY 'right'")
    places = tuple(("127.0.0.1", port) for port in others)
    return Server("information_schema", "127.0.0.1", first, "several", word, others=places)


def ask(asked: Server) -> object:
    database = Database(asked)
    try:
        with database.reading() as tx:
            return tx.value("SELECT @@port")
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
