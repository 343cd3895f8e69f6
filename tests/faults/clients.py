"""Clients at work, each a thread: what they were told is done must be so in the end.

- `spark`: Spark's own client of the metastore makes tables, and drops some of them.
- `hive`: inserts rows into an ACID table on Tez, through any HiveServer2 that answers, each in a session of its own.
- `hdfs`: deletes directories of tables; the mirror takes the tables along.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode import NameNodeError, NameNodeUnavailable
from tests.faults.site import PORTS
from tests.warehouse.hiveserver2 import HiveError, HiveSession
from tests.warehouse.spark import SparkError, SparkSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.hdfs.namenode import NameNode
    from tests.faults.calls import Record
    from tests.warehouse.hosts import Host

DATABASE = "faults"
LOCATION = "/warehouse/hopshive/external/faults.db"
MANAGED = "/warehouse/hopshive/managed/faults.db"
ROWS = f"{DATABASE}.inserted"
# Seconds that a person waits for one INSERT before the next attempt: what is under way with a lost host may hang.
# More than its bound, which counts from the fault: it may have begun before. One that is given up runs on, and those after it
# wait for the Tez session that it holds.
PATIENCE = 45.0
# In which a HiveServer2 takes a connection, if at all, in seconds.
CONNECTS = 2.0
BEELINE_TIMEOUT = 240
# How long Hadoop's clients look for the active NameNode, about, in seconds.
FAILOVER = 120


@dataclass
class Ledger:
    """What clients were told is done. A table whose last call failed is in none of the sets, since its state is unknown."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    # Names of tables that are there, each with its location.
    tables: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    # Names of tables whose directory was deleted, each with the time at which that was done.
    deleted: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    rows: set[int] = field(default_factory=set)


class Client(ABC, threading.Thread):
    """Calls until it is told to stop, with a pause in between, in seconds."""

    pause = 0.1

    def __init__(self, record: Record, ledger: Ledger) -> None:
        super().__init__(daemon=True, name=type(self).__name__)
        self.record = record
        self.ledger = ledger
        self.failure = ""
        self._stop_asked = threading.Event()
        self._working = threading.Event()
        self._resting = threading.Event()

    def work(self) -> None:
        """Let it call."""
        self._working.set()

    def rest(self) -> None:
        """Let it finish the call that it is in, and wait for that."""
        self._resting.clear()
        self._working.clear()
        while self.is_alive() and not self._resting.wait(1):
            pass

    def stop(self) -> None:
        """End it."""
        self._stop_asked.set()
        self._working.set()
        self.join(BEELINE_TIMEOUT + 60)
        self.close()

    def run(self) -> None:
        """Call again and again."""
        number = 0
        try:
            while not self._stop_asked.is_set():
                if not self._working.is_set():
                    self._resting.set()
                    self._working.wait()
                    continue
                number += 1
                self.call(number)
                self._stop_asked.wait(self.pause)
        except Exception as error:
            # A client that ends by itself has proven nothing: the result must show it.
            self.failure = f"{type(error).__name__}: {error}"
            raise

    @abstractmethod
    def call(self, number: int) -> None:
        """Make one call."""

    def close(self) -> None:
        """Give back what it holds."""


class SparkTables(Client):
    """Makes tables, and drops every third one."""

    def __init__(self, record: Record, ledger: Ledger, host: Host) -> None:
        super().__init__(record, ledger)
        self._session = SparkSession(host, timeout=600)

    def call(self, number: int) -> None:
        name = f"t{number}"
        location = f"{LOCATION}/{name}"
        if not self._done(
            name,
            f"CREATE TABLE {DATABASE}.{name} (a INT) USING parquet LOCATION '{location}'"
            " TBLPROPERTIES ('external.table.purge'='true')",
        ):
            return
        if number % 3:
            with self.ledger.lock:
                self.ledger.tables[name] = location
        elif self._done(name, f"DROP TABLE {DATABASE}.{name}"):
            with self.ledger.lock:
                self.ledger.dropped.add(name)

    def _done(self, name: str, statement: str) -> bool:
        try:
            with self.record.call("spark", SparkError):
                self._session.sql(statement)
        except SparkError:
            with self.ledger.lock:
                self.ledger.unknown.add(name)
            return False
        return True

    def close(self) -> None:
        self._session.close()


class HiveRows(Client):
    """Inserts one row after the other.

    What is there afterwards, beeline tells, which finds a HiveServer2 through ZooKeeper.
    """

    pause = 0.5

    def __init__(self, record: Record, ledger: Ledger, host: Host, servers: Sequence[Host]) -> None:
        super().__init__(record, ledger)
        self._host = host
        self._servers = list(servers)

    def prepare(self, namenode: NameNode) -> None:
        """A fresh database with an empty ACID table. An INSERT of a run that was interrupted may have written after the DROP."""
        self.beeline(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")
        for directory in (LOCATION, MANAGED):
            namenode.delete(directory)
        self.beeline(f"CREATE DATABASE {DATABASE} LOCATION '{LOCATION}'")
        self.beeline(f"CREATE TABLE {ROWS} (n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")

    def call(self, number: int) -> None:
        try:
            with self.record.call("hive", HiveError):
                session = HiveSession(self._server().address, timeout=PATIENCE)
                try:
                    session.execute(f"INSERT INTO {ROWS} VALUES ({number})")
                finally:
                    session.close()
        except HiveError:
            return
        with self.ledger.lock:
            self.ledger.rows.add(number)

    def _server(self) -> Host:
        """One that takes connections, in any order, as drivers do. Raises HiveError."""
        for server in random.sample(self._servers, len(self._servers)):
            with suppress(OSError), socket.create_connection((server.address, PORTS["server2"]), timeout=CONNECTS):
                return server
        raise HiveError("no HiveServer2 takes a connection", lost=True)

    def rows(self) -> list[int]:
        """All that is in the table. Raises CommandError."""
        text = self.beeline(f"SELECT n FROM {ROWS}")
        return [int(line) for line in text.split() if line.lstrip("-").isdigit()]

    def tables(self) -> set[str]:
        """The tables of the database, as HiveServer2 sees them. Raises CommandError."""
        return set(self.beeline(f"SHOW TABLES IN {DATABASE}").split())

    def location(self, table: str) -> str:
        """Of a table of the database, empty if it is not there any more. Raises CommandError."""
        if table not in self.tables():
            return ""
        lines = self.beeline(f"DESCRIBE FORMATTED {DATABASE}.{table}").splitlines()
        return next(line.split("\t")[1].strip() for line in lines if line.startswith("Location:"))

    def beeline(self, statement: str) -> str:
        """What beeline prints. Raises CommandError, with exit code 124 if it does not end in time."""
        options = ("-n", "hive", "-p", "", "--silent=true", "--outputformat=tsv2", "--showHeader=false")
        argv = ("timeout", str(BEELINE_TIMEOUT - 10), "beeline", *options, "-e", statement)
        return self._host.run(*argv, user="spark", timeout=BEELINE_TIMEOUT).stdout


class Deletions(Client):
    """Deletes the directory of a table, the oldest one that it knows, every second or so."""

    pause = 1.0
    # How many tables there must be before one goes.
    KEEP = 5

    def __init__(self, record: Record, ledger: Ledger, namenode: NameNode) -> None:
        super().__init__(record, ledger)
        self._namenode = namenode

    def call(self, number: int) -> None:
        with self.ledger.lock:
            names = list(self.ledger.tables)
            if len(names) <= self.KEEP:
                return
            name = names[number % (len(names) - self.KEEP)]
            location = self.ledger.tables.pop(name)
        try:
            with self.record.call("hdfs", NameNodeError):
                self._remove(location)
        except NameNodeError:
            with self.ledger.lock:
                self.ledger.unknown.add(name)
            return
        with self.ledger.lock:
            self.ledger.deleted[name] = time.monotonic()

    def _remove(self, location: str) -> None:
        """Ask for as long as Hadoop's own client does, which waits for a failover."""
        deadline = time.monotonic() + FAILOVER
        while True:
            try:
                self._namenode.delete(location)
            except NameNodeUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
            else:
                return

    def close(self) -> None:
        self._namenode.close()
