"""Requests as rows: asking, taking, withdrawing, finishing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hopshive.consistency.schema.own_tables import TABLES
from hopshive.daemon import request
from hopshive.database import Database, Names, Server, render
from tests.support.servers import MariaDB

STATE = "daemon_test"


NAMES = Names(state=STATE)


@pytest.fixture
def server(mariadb: MariaDB) -> Iterator[Server]:
    mariadb.execute(f"CREATE DATABASE {STATE}")
    mariadb.execute(
        *(render(TABLES[name], NAMES).replace("{engine}", "InnoDB") for name in ("lease", "request")),
        "CREATE TABLE proof (what VARCHAR(64)) ENGINE=InnoDB",
        database=STATE,
    )
    yield Server(STATE, user="root", unix_socket=mariadb.socket)
    mariadb.execute(f"DROP DATABASE {STATE}")


def test_only_what_nobody_began_can_be_withdrawn(server: Server) -> None:
    database = Database(server, NAMES)
    with database.transaction() as tx:
        first, second = (request.ask(tx, "sync", {}, "ada") for _ in range(2))
        taken = request.take(tx, ["sync"])
        assert taken
        assert taken.id == first
        assert not request.withdraw(tx, first)
        assert request.withdraw(tx, second)
        request.finish(tx, first, "done", "x" * 5000)
    with database.reading() as tx:
        found = request.read(tx, first)
        assert found
        assert len(found.message) == request.MESSAGE
        assert request.read(tx, second) is None
