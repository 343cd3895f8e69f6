"""A metastore loses its NameNodes between the rows and the directory of a table that it drops, or is told to stop there."""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from hopshive.consistency.drops.finish import SETTLE_SECONDS
from hopshive.metastore.thrift import SocketStream, ThriftError, TType, call
from tests.faults.catalogue import comes, parted
from tests.faults.site import NAMENODE_RPC
from tests.warehouse.database import MetastoreDatabase
from tests.warehouse.hiveserver2 import HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.site import Site
    from tests.warehouse.hosts import Host

DATABASE = "cut_off"
PORT = 9083
# Seconds in which a metastore that was killed answers again, and in which an HDFS client has found its NameNode again.
BACK = 90.0
# Seconds between two looks at a lock. NDB lets no client wait for one longer than 1.2 s.
AGAIN = 0.1
# They begin together: with a pool of fewer connections than that, all of them would wait in vain (cluster_database_pool_size).
CLIENTS = 16
# More than they drop before it ends.
TABLES = 160
# Drops that are acknowledged before it is told.
FIRST = 8
PURGED = "TBLPROPERTIES ('external.table.purge'='true')"


@pytest.fixture
def session(site: Site) -> Iterator[HiveSession]:
    """With an empty database, which goes afterwards."""
    session = HiveSession(site.lab.one("server2").address)
    session.execute(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")
    session.execute(f"CREATE DATABASE {DATABASE}")
    yield session
    session.execute(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")
    session.close()


@pytest.fixture
def database(site: Site) -> Iterator[MetastoreDatabase]:
    database = MetastoreDatabase(site.lab)
    yield database
    database.close()


def drop(host: Host, table: str) -> None:
    """`drop_table` with its data, at one metastore. What becomes of the call is seen elsewhere."""
    with suppress(OSError, ThriftError), socket.create_connection((host.address, PORT), 2 * BACK) as connection:
        drop_on(connection, table)


def drop_on(connection: socket.socket, table: str) -> None:
    """Raises OSError and ThriftError if it is not acknowledged."""
    arguments = {1: (TType.STRING, DATABASE), 2: (TType.STRING, table), 3: (TType.BOOL, True)}
    answer = call(SocketStream(connection), "drop_table", arguments)
    if answer:
        raise ThriftError(f"{table} was not dropped: {answer}")


def drop_all(host: Host, tables: queue.Queue[str], acknowledged: list[str]) -> None:
    """One after the other, until there is none, or the metastore has ended or says no: it does so when its database is closed."""
    with (
        suppress(OSError, ThriftError, queue.Empty),
        socket.create_connection((host.address, PORT), BACK) as connection,
    ):
        while True:
            table = tables.get_nowait()
            drop_on(connection, table)
            acknowledged.append(table)


def make(site: Site, session: HiveSession, database: MetastoreDatabase, table: str) -> tuple[int, str]:
    """A table that the cleaner has written down, with something in its directory; its number and its path."""
    session.execute(f"CREATE TABLE {DATABASE}.{table} (a INT)")
    sql = "SELECT tbl_id, path FROM hopshive.owned WHERE name = %s"
    name = f"hive.{DATABASE}.{table}"
    assert comes(lambda: database.execute(sql, (name,)), 30)
    ((number, path),) = database.execute(sql, (name,))
    place = bytes(path).decode()
    site.namenode().make_directory(f"{place}/mark")
    # It was there when the cleaner last looked.
    time.sleep(2)
    return int(number), place


@contextmanager
def dropped_without_namenodes(site: Site, host: Host, table: str, number: int) -> Iterator[None]:
    """The rows go, the directory stays: the metastore lost its NameNodes after it had asked them whether it may delete."""
    database = MetastoreDatabase(site.lab)
    thread = threading.Thread(target=drop, args=(host, table))
    uid = int(host.run("id", "-u", "hive").stdout)
    try:
        # The lock keeps it in the middle of its rows. Not one of TBLS: that row NDB locks to read it, before HDFS is asked.
        ((descriptor,),) = database.execute("SELECT SD_ID FROM TBLS WHERE TBL_ID = %s", (number,))
        database.execute("START TRANSACTION")
        database.execute("SELECT SD_ID FROM SDS WHERE SD_ID = %s FOR UPDATE", (descriptor,))
        thread.start()
        assert comes(lambda: waits_for(database, descriptor), 20, AGAIN), "it does not come to its rows"
        with parted(host, uid, [(other.address, NAMENODE_RPC) for other in site.lab.group("namenode")]):
            database.execute("COMMIT")
            assert comes(lambda: not database.execute("SELECT 1 FROM TBLS WHERE TBL_ID = %s", (number,)), 20, AGAIN)
            yield
    finally:
        database.close()
    thread.join(BACK)


def waits_for(database: MetastoreDatabase, descriptor: int) -> bool:
    """Whether a session is about to change a storage descriptor, or to delete it."""
    statements = [str(row[7]) for row in database.execute("SHOW FULL PROCESSLIST")]
    return any(text.startswith(("UPDATE", "DELETE")) and text.endswith(f"`SD_ID`={descriptor}") for text in statements)


def test_the_cleaner_finishes_what_a_dead_metastore_began(
    site: Site, session: HiveSession, database: MetastoreDatabase
) -> None:
    number, path = make(site, session, database, "dead")
    host = site.lab.group("metastore")[0]
    namenode = site.namenode()
    with dropped_without_namenodes(site, host, "dead", number):
        assert namenode.entry(path) is not None
        site.service("metastore", host).kill()
    # The client asks the other metastore, and is told that there is nothing left to do.
    session.execute(f"DROP TABLE IF EXISTS {DATABASE}.dead")
    assert comes(lambda: namenode.entry(path) is None, BACK + SETTLE_SECONDS)
    assert namenode.entry(f"/user/hdfs/.Trash/Current{path}/mark") is not None
    assert not [one for one in site.cleaners()[0].check() if path in one.text]
    site.wait_healthy(180)


def test_a_metastore_that_lives_finishes_it_itself(
    site: Site, session: HiveSession, database: MetastoreDatabase
) -> None:
    number, path = make(site, session, database, "alive")
    host = site.lab.group("metastore")[0]
    namenode = site.namenode()
    with dropped_without_namenodes(site, host, "alive", number):
        time.sleep(5)
        assert namenode.entry(path) is not None
    assert comes(lambda: namenode.entry(path) is None, BACK)
    assert namenode.entry(f"/user/hive/.Trash/Current{path}/mark") is not None


def test_what_is_acknowledged_by_a_metastore_that_stops_is_done(
    site: Site, session: HiveSession, database: MetastoreDatabase
) -> None:
    for number in range(TABLES):
        session.execute(f"CREATE EXTERNAL TABLE {DATABASE}.t{number} (a INT) {PURGED}")
    rows = database.execute(
        "SELECT t.TBL_NAME, s.LOCATION FROM TBLS t JOIN SDS s ON s.SD_ID = t.SD_ID JOIN DBS d ON d.DB_ID = t.DB_ID"
        " WHERE d.NAME = %s",
        (DATABASE,),
    )
    paths = {str(name): urlsplit(str(location)).path for name, location in rows}
    tables: queue.Queue[str] = queue.Queue()
    for name in paths:
        tables.put(name)
    acknowledged: list[str] = []
    host = site.lab.group("metastore")[0]
    service = site.service("metastore", host)
    threads = [threading.Thread(target=drop_all, args=(host, tables, acknowledged)) for _ in range(CLIENTS)]
    try:
        for thread in threads:
            thread.start()
        assert comes(lambda: len(acknowledged) >= FIRST, BACK, AGAIN)
        began = time.monotonic()
        service.stop()
        for thread in threads:
            thread.join(BACK)
        # Now: after a while the cleaner finishes what it finds.
        entries = site.namenode().entries([paths[name] for name in acknowledged])
        assert time.monotonic() - began < SETTLE_SECONDS, "too late to tell who deleted them"
        left = [entry.name for entry in entries if entry is not None]
    finally:
        service.start()
        site.wait_healthy(180)
    assert len(paths) == TABLES
    assert not tables.empty(), "all were dropped before it ended"
    assert not left, f"of {len(acknowledged)} tables that were dropped"
