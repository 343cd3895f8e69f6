"""The lease where each daemon has an SQL node of its own, so that numbers of connections say nothing by themselves."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency.schema.own_tables import TABLES
from hopshive.daemon.lease import Lease
from hopshive.database import DatabaseError, LostLease, Names, Server, render
from tests.support.ndb import run_ndb, unpack_ndb
from tests.support.patience import until, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.daemon.lease import Term

NAMES = Names("d", "d.inodes")
SECONDS = 2.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """The same database, with each SQL node first in turn."""
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, sql_nodes=2) as cluster:
        one, two = cluster.sql[:2]
        one.execute(
            "CREATE DATABASE d",
            render(TABLES["lease"], NAMES).replace("{engine}", "ndbcluster"),
            "CREATE TABLE d.proof (epoch BIGINT PRIMARY KEY)",
            "CREATE USER cleaner@'%' IDENTIFIED BY 'secret'",
            "GRANT ALL ON d.* TO cleaner@'%'",
            "GRANT NDB_STORED_USER ON *.* TO cleaner@'%'",
        )
        places = [("127.0.0.1", one.port), ("127.0.0.1", two.port)]
        yield [
            Server("d", first[0], first[1], "cleaner", "secret", others=(second,))
            for first, second in (places, places[::-1])
        ]


def acquired(lease: Lease) -> Term:
    terms: list[Term] = []

    def leads() -> bool:
        with suppress(DatabaseError):
            if term := lease.try_acquire():
                terms.append(term)
        return bool(terms)

    until(leads, 30, f"{lease.holder} does not lead.", look=0.1)
    return terms[0]


@pytest.mark.wall_time
def test_a_leader_that_hangs_before_its_commit_holds_up_no_session_at_another_node(servers: list[Server]) -> None:
    former = acquired(Lease(servers[0], NAMES, "one", SECONDS))
    database = former.database()
    with pytest.raises((LostLease, DatabaseError)), database.transaction() as tx:
        tx.execute("INSERT INTO proof VALUES (%s)", (former.epoch,))
        # The look that locks the row of the lease; then it hangs, and its connection stays.
        former.check(tx)
        with within(3 * SECONDS):
            latter = acquired(Lease(servers[1], NAMES, "two", SECONDS))
        assert latter.epoch == former.epoch + 1
    with latter.database().transaction() as tx:
        assert tx.value("SELECT COUNT(*) FROM proof") == 0
        tx.execute("INSERT INTO proof VALUES (%s)", (latter.epoch,))
