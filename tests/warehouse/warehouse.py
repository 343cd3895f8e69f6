"""The whole warehouse: every way in, and the quiet points at which it can be looked at."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pymysql
import yaml

from hopshive.hdfs.namenode import NameNode, NameNodeError
from tests.warehouse.cleaner import Cleaner, Difference, merged
from tests.warehouse.database import MetastoreDatabase, Row
from tests.warehouse.hdfs import Hdfs
from tests.warehouse.hiveserver2 import HiveSession
from tests.warehouse.hosts import Lab, find_lab, read_lab
from tests.warehouse.service import Service
from tests.warehouse.spark import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

STATE = "hopshive"
# Seconds between two looks while waiting.
POLL = 0.05
# A position that nothing moves is not written at once; after so many seconds an event that concerns no table happens.
NUDGE = 0.5
# What must be nothing at a quiet point, and what that means.
QUIET = {
    "storage descriptors in the queue": "SELECT COUNT(*) FROM {metastore}.SDS"
    " WHERE PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL",
    "databases in the queue": "SELECT COUNT(*) FROM {metastore}.DBS WHERE SD_ID IS NULL AND NAME <> 'default'",
    # What could not come back is tried again much later, or when something else has come back.
    "pending checks": "SELECT COUNT(*) FROM {state}.recheck WHERE state NOT IN ('reported', 'held')"
    " AND NOT (kind = 'restore' AND message <> '' AND due > UTC_TIMESTAMP(3))",
    "candidates for the cleaner": "SELECT COUNT(*) FROM {state}.candidate",
    "requests": "SELECT COUNT(*) FROM {state}.request WHERE state IN ('waiting', 'running')",
    "full comparisons": "SELECT COUNT(*) FROM {state}.position WHERE compared_at IS NULL",
}


class NotQuiet(Exception):
    """Something was still to be done when the time was over; the message says what."""


class Warehouse:
    """One running warehouse. Sessions are opened when they are needed; `close` ends them. Not for several threads."""

    def __init__(self, lab: Lab, *, spark_settings: dict[str, str] | None = None) -> None:
        self.lab = lab
        addresses = {host.name: host.address for host in lab.hosts.values()}
        self.hdfs = Hdfs(lab.group("namenode"), addresses=addresses)
        self.session = HiveSession(lab.one("server2").address)
        self.spark_session = SparkSession(lab.one("client"), spark_settings)
        self.database = MetastoreDatabase(lab)
        self.cleaners = [Cleaner(host) for host in lab.group("cleaner")]
        self.namenode = Service(lab.one("namenode"), "hadoop-hdfs-namenode")
        self.metastore = Service(lab.one("metastore"), "hive-metastore")
        self.server2 = Service(lab.one("server2"), "hive-server2")
        self._namenode = NameNode([(host.address, 8020) for host in lab.group("namenode")])

    @classmethod
    def find(cls, label: str = "lab") -> Warehouse:
        """The one with a lab label. Raises LookupError."""
        return cls(find_lab(label))

    @classmethod
    def read(cls, inventory: Path) -> Warehouse:
        """The one that an inventory describes."""
        return cls(read_lab(inventory))

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all sessions."""
        self.session.close()
        self.spark_session.close()
        self.database.close()
        self.hdfs.close()
        self._namenode.close()

    # --- engines --------------------------------------------------------------------------------------------------

    def hive(self, sql: str) -> list[tuple[Any, ...]]:
        """A statement of HiveServer2. Raises HiveError."""
        return self.session.execute(sql)

    def drop_database(self, name: str) -> None:
        """Drop one with all that it holds, if it is there. Raises HiveError."""
        views = (
            "SELECT TBL_NAME FROM TBLS JOIN DBS USING (DB_ID) WHERE DBS.NAME = %s AND TBL_TYPE = 'MATERIALIZED_VIEW'"
        )
        # Hive drops no database that has some.
        for (view,) in self.metastore_sql(views, (name,)):
            self.hive(f"DROP MATERIALIZED VIEW IF EXISTS {name}.{view}")
        self.hive(f"DROP DATABASE IF EXISTS {name} CASCADE")

    def spark(self, sql: str) -> list[tuple[Any, ...]]:
        """A statement of Spark; its session's `python` and `write` do what SQL cannot. Raises SparkError."""
        return self.spark_session.sql(sql)

    def metastore_sql(self, sql: str, arguments: tuple[object, ...] = ()) -> list[Row]:
        """A statement in the metastore's database, as root."""
        return self.database.execute(sql, arguments)

    # --- hopshive -------------------------------------------------------------------------------------------------

    def cleaner(self, host: str) -> Cleaner:
        """The daemon of a host, by the host's name or the end of it. Raises LookupError."""
        for cleaner in self.cleaners:
            if cleaner.host.name == host or cleaner.host.name.endswith(f"-{host}"):
                return cleaner
        raise LookupError(f"{host} is not in the group cleaner")

    def leader(self) -> str | None:
        """The name of the daemon that leads, None if the lease has run out or no process has taken it yet."""
        rows = self.metastore_sql(f"SELECT holder FROM {STATE}.lease WHERE id = 1 AND expires > UTC_TIMESTAMP(6)")
        return str(rows[0][0]) if rows and rows[0][0] else None

    def leading(self) -> Cleaner | None:
        """The daemon that leads."""
        holder = self.leader()
        return next((one for one in self.cleaners if holder and one.host.name in holder), None)

    def wait_leader(self, timeout: float = 60, other_than: str | None = None) -> str:
        """Until a daemon leads; its name. Raises NotQuiet."""
        deadline = time.monotonic() + timeout
        while not (holder := self.leader()) or holder == other_than:
            if time.monotonic() > deadline:
                raise NotQuiet(f"no daemon leads after {timeout:.0f} s; the lease is of {holder}")
            time.sleep(POLL)
        return holder

    @contextmanager
    def configured(self, changes: Mapping[str, Any]) -> Iterator[None]:
        """All daemons with other settings for the length of the block, restarted before and after it."""
        before = [cleaner.config for cleaner in self.cleaners]
        try:
            self._configure([yaml.safe_dump(merged(yaml.safe_load(text), changes)) for text in before])
            yield
        finally:
            self._configure(before)

    def _configure(self, texts: list[str]) -> None:
        for cleaner in self.cleaners:
            cleaner.stop()
        for cleaner, text in zip(self.cleaners, texts, strict=True):
            cleaner.config = text
            cleaner.start()
        self.wait_leader()

    def status(self) -> dict[str, Any]:
        """`hopshive status --json` on the first host of the group."""
        return self.cleaners[0].status()

    def check(self) -> list[Difference]:
        """`hopshive check --json` there: the differences."""
        return self.cleaners[0].check()

    def wait_quiet(self, timeout: float = 60) -> float:
        """Until all that happened before the call has had its effects, and nothing waits but for a human; seconds waited.

        Raises NotQuiet.
        """
        begin = time.monotonic()
        txid: int | None = None
        waiting: dict[str, int] = {}
        nudged = begin
        while True:
            try:
                if txid is None:
                    txid = self._namenode.current_txid()
                waiting = self._waiting(txid)
                if not waiting:
                    return time.monotonic() - begin
                now = time.monotonic()
                if now - nudged > NUDGE and "events" in waiting:
                    nudged = now
                    self.hdfs.touch()
            except (NameNodeError, OSError, pymysql.MySQLError) as error:
                waiting = {str(error): 1}
            if time.monotonic() - begin > timeout:
                what = ", ".join(f"{name}: {count}" for name, count in waiting.items())
                raise NotQuiet(f"not quiet after {timeout:.0f} s: {what}; led by {self._holder()}")
            time.sleep(POLL)

    def _waiting(self, txid: int) -> dict[str, int]:
        names = {"metastore": self.database.schema, "state": STATE}
        statements = [sql.format(**names) for sql in QUIET.values()]
        position = f"SELECT txid FROM {STATE}.position WHERE id = 1"
        found, *counts = self.database.snapshot([position, *statements])
        behind = max(0, txid - int(found[0][0])) if found else 1
        waiting = {"events": behind} | {name: int(rows[0][0]) for name, rows in zip(QUIET, counts, strict=True)}
        return {name: count for name, count in waiting.items() if count}

    def _holder(self) -> str:
        try:
            return self.leader() or "nobody"
        except (OSError, pymysql.MySQLError) as error:
            return str(error)

    # --- comparing ------------------------------------------------------------------------------------------------

    def tables(self) -> list[str]:
        """The tables of the metastore's database."""
        rows = self.metastore_sql(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'"
            " ORDER BY TABLE_NAME",
            (self.database.schema,),
        )
        return [str(row[0]) for row in rows]

    def dump_metastore(self, ignore: Iterable[str] = ()) -> dict[str, list[Row]]:
        """All rows of all tables of the metastore in a fixed order, all of one moment; tables without rows are left out."""
        wanted = [table for table in self.tables() if table not in set(ignore)]
        rows = self.database.snapshot([f"SELECT * FROM `{self.database.schema}`.`{table}`" for table in wanted])
        return {table: sorted(found, key=repr) for table, found in zip(wanted, rows, strict=True) if found}
