"""Requests as rows: asking, taking, withdrawing, finishing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hopshive.daemon import request
from hopshive.database import Database, Server
from tests.support.daemon_state import NAMES, daemon_state
from tests.support.servers import MariaDB


@pytest.fixture
def server(mariadb: MariaDB) -> Iterator[Server]:
    with daemon_state(mariadb) as server:
        yield server


def test_only_what_no_leader_began_can_be_withdrawn(server: Server) -> None:
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
