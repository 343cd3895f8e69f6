"""The tables of a daemon alone, without a metastore: the lease and the requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hopshive.consistency.schema.own_tables import TABLES
from hopshive.database import Names, Server, render
from tests.support.servers import MariaDB

STATE = "daemon_test"
NAMES = Names(state=STATE)


@contextmanager
def daemon_state(mariadb: MariaDB) -> Iterator[Server]:
    """The schema `STATE` until the block's end, with a table `proof` for what a test writes."""
    mariadb.execute(f"CREATE DATABASE {STATE}")
    mariadb.execute(
        *(render(TABLES[name], NAMES).replace("{engine}", "InnoDB") for name in ("lease", "request")),
        "CREATE TABLE proof (what VARCHAR(64)) ENGINE=InnoDB",
        database=STATE,
    )
    yield Server(STATE, user="root", unix_socket=mariadb.socket)
    mariadb.execute(f"DROP DATABASE {STATE}")
