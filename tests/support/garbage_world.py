"""Rows of a metastore as the metastore writes them, and a collector whose clock a test turns."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pymysql

from hopshive.config import Config, GarbageConfig, HdfsConfig
from hopshive.consistency.garbage import Collector
from hopshive.daemon.metrics import Metrics
from hopshive.database import Database, login, render
from hopshive.database.locked import LONGEST_PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hopshive.database import Transaction
    from tests.support.metastore_db import Metastore

CONFIG = Config(
    hdfs=HdfsConfig(uris=["hdfs://lab"], namenodes=["localhost:1"]),
    garbage=GarbageConfig(sweep_interval=3600.0, rate=1_000_000),
)
# Seconds after which what was locked is tried again, on any database.
LATER = LONGEST_PAUSE + 1
# Rows of one transaction.
PART = 2000
# Everything that a test may have written, with what refers to it first.
TABLES = (
    "KEY_CONSTRAINTS",
    "MV_TABLES_USED",
    "MV_CREATION_METADATA",
    "SCHEMA_VERSION",
    "I_SCHEMA",
    "TAB_COL_STATS",
    "PARTITION_PARAMS",
    "PARTITIONS",
    "TABLE_PARAMS",
    "TBLS",
    "SKEWED_VALUES",
    "SKEWED_COL_VALUE_LOC_MAP",
    "SKEWED_STRING_LIST_VALUES",
    "SKEWED_STRING_LIST",
    "SD_PARAMS",
    "DBS",
    "SDS",
    "SERDE_PARAMS",
    "SERDES",
    "COLUMNS_V2",
    "CDS",
    "{inodes}",
    "{state}.candidate",
    "NEXT_WRITE_ID",
    "TXN_TO_WRITE_ID",
    "COMPLETED_TXN_COMPONENTS",
    "COMPLETED_COMPACTIONS",
    "COMPACTION_QUEUE",
    "COMPACTION_METRICS_CACHE",
    "TXN_COMPONENTS",
    "HIVE_LOCKS",
    "MIN_HISTORY_WRITE_ID",
    "TXNS",
)


class Watched(Database):
    """A database whose statements are told: `before` each with its number from 0, `after` it with its rows."""

    def __init__(
        self,
        metastore: Metastore,
        before: Callable[[int], None] = lambda _number: None,
        after: Callable[[str, int], None] = lambda _sql, _rows: None,
    ) -> None:
        super().__init__(metastore.server, metastore.names)
        self.statements = 0
        self._before, self._after = before, after

    @contextmanager
    def transaction(self, *, fenced: bool = True) -> Iterator[Transaction]:
        with super().transaction(fenced=fenced) as tx:
            execute = tx.execute

            def watched(sql: str, arguments: Sequence[object] = ()) -> int:
                self._before(self.statements)
                self.statements += 1
                rows = execute(sql, arguments)
                self._after(sql, rows)
                return rows

            tx.execute = watched  # type: ignore[method-assign]
            yield tx


@dataclass
class Clock:
    """Seconds that pass when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Rows:
    """Inserts rows; keeps the columns that the test does not care about to itself. One connection: making one is slow."""

    def __init__(self, metastore: Metastore) -> None:
        self.metastore = metastore
        self._connection = pymysql.connect(**(login(metastore.server) | {"autocommit": True}))

    def close(self) -> None:
        self._connection.close()

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, each with autocommit; the rows of the last."""
        with self._connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(render(statement, self.metastore.names))
            return list(cursor.fetchall())

    def count(self, table: str) -> int:
        return int(self.run(f"SELECT COUNT(*) FROM {table}")[0][0])

    def ids(self, table: str) -> list[int]:
        """The first column of all rows."""
        return sorted(row[0] for row in self.run(f"SELECT * FROM {table}"))

    def clear(self) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
            for table in TABLES:
                # A part at a time: NDB has a transaction's rows in memory twice.
                while cursor.execute(render(f"DELETE FROM {table} LIMIT {PART}", self.metastore.names)) == PART:
                    pass
            cursor.execute("SET FOREIGN_KEY_CHECKS = 1")

    def columns(self, cd: int) -> None:
        """A column descriptor with two columns."""
        self.run(
            f"INSERT INTO CDS VALUES ({cd})",
            f"INSERT INTO COLUMNS_V2 VALUES ({cd}, NULL, 'a', 'int', 0), ({cd}, NULL, 'b', 'int', 1)",
        )

    def serializer(self, serde: int) -> None:
        self.run(
            f"INSERT INTO SERDES (SERDE_ID, NAME) VALUES ({serde}, 's')",
            f"INSERT INTO SERDE_PARAMS VALUES ({serde}, 'serialization.format', '1')",
        )

    def descriptor(
        self, sd: int, cd: int | None = None, serde: int | None = None, location: str = "hdfs://lab/w"
    ) -> None:
        """A storage descriptor with a parameter."""
        self.run(
            "INSERT INTO SDS (SD_ID, CD_ID, SERDE_ID, LOCATION, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS)"
            f" VALUES ({sd}, {cd or 'NULL'}, {serde or 'NULL'}, '{location}', 0, 0, -1)",
            f"INSERT INTO SD_PARAMS VALUES ({sd}, 'k', 'v')",
        )

    def database(self, db: int = 1, name: str = "d") -> None:
        self.run(f"INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME) VALUES ({db}, 'hdfs://lab/w/{name}.db', '{name}')")

    def table(self, tbl: int, sd: int | None, name: str = "", db: int = 1, kind: str = "MANAGED_TABLE") -> None:
        self.run(
            "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, SD_ID, TBL_NAME, TBL_TYPE)"
            f" VALUES ({tbl}, 0, {db}, 0, 0, {sd or 'NULL'}, '{name or f't{tbl}'}', '{kind}')"
        )

    def partition(self, part: int, tbl: int, sd: int) -> None:
        self.run(
            "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID)"
            f" VALUES ({part}, 0, 0, 'p={part}', {sd}, {tbl})"
        )

    def candidates(self, **ids: int) -> None:
        for kind, id_ in ids.items():
            self.run(f"INSERT INTO {{state}}.candidate VALUES ('{kind}', {id_})")


@dataclass
class GarbageWorld:
    """A metastore's database, a collector and its clock."""

    rows: Rows
    database: Database
    clock: Clock = field(default_factory=Clock)
    metrics: Metrics = field(default_factory=Metrics)

    def collector(self, config: Config = CONFIG, database: Database | None = None, **settings: Any) -> Collector:
        config = replace(config, garbage=replace(config.garbage, **settings))
        return Collector(config, database or self.database, None, self.metrics, self.clock)

    def settle(self, collector: Collector) -> None:
        """Candidates and one page after the other, without letting time pass."""
        while collector.step():
            pass

    def collect(self, collector: Collector) -> None:
        """Candidates, and nothing else; those that another session has locked stay."""
        while self.rows.count("{state}.candidate") and collector.step():
            pass

    def sweep(self, collector: Collector, seconds: float = 400.0) -> None:
        """A sweep, and the second look at what it found."""
        collector.begin_sweep()
        self.settle(collector)
        self.clock.now += seconds
        self.settle(collector)
        self.clock.now += 1
        self.settle(collector)

    @contextmanager
    def session(self, lock_wait: int = 5) -> Iterator[pymysql.cursors.Cursor]:
        """Another connection with an open transaction, as the metastore has one."""
        with (
            pymysql.connect(**login(self.rows.metastore.server)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {lock_wait}")
            yield cursor
