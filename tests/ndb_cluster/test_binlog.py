"""The binary log of an SQL node as what drives the collector, with the source hopsfs on a real NDB Cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hopshive.config import Config, HdfsConfig
from hopshive.consistency import schema
from hopshive.consistency.garbage import Collector
from hopshive.consistency.garbage.binlog import Follower, Position, read_position
from hopshive.daemon.metrics import Metrics
from hopshive.database import Database, DatabaseUnavailable, Server, Transaction
from hopshive.errors import Refused
from tests.support import patience
from tests.support.garbage_world import Clock
from tests.support.live_site import environment
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.ndb import BINLOG, Ndb, killed, run_ndb, unpack_ndb
from tests.support.servers import run_mariadb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

NAME = "metastore"
NAMES = own_names(NAME)
URIS = ["hdfs://nn:8020"]
CONFIG = Config(source="hopsfs", hdfs=HdfsConfig(uris=URIS))
# As HopsFS makes it, but for columns that no test reads.
INODES = """
CREATE TABLE {inodes} (
  partition_id bigint NOT NULL,
  parent_id bigint NOT NULL DEFAULT '0',
  name varchar(255) NOT NULL DEFAULT '',
  id bigint NOT NULL,
  is_dir tinyint NOT NULL DEFAULT 1,
  PRIMARY KEY (partition_id, parent_id, name),
  KEY inode_idx (id)
) ENGINE=ndbcluster DEFAULT CHARSET=latin1 COLLATE=latin1_general_cs
"""
GARBAGE = ("SDS", "CDS", "COLUMNS_V2", "SERDES", "SERDE_PARAMS", "SKEWED_STRING_LIST", "MV_CREATION_METADATA")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, sql_nodes=2, settings=BINLOG) as running:
        yield running


@pytest.fixture(scope="module")
def made(cluster: Ndb, hive_home: Path) -> Metastore:
    """A metastore beside the inodes of a HopsFS, with the schema on both SQL nodes."""
    stock = Metastore(cluster.sql[0], stock_metastore(cluster.sql[0], hive_home, NAME), NAMES)
    stock.execute(f"CREATE DATABASE {NAMES.inodes.partition('.')[0]}", INODES)
    for node in cluster.sql:
        server = Server(NAME, unix_socket=node.socket, user="root")
        schema.apply(server, NAMES, source="hopsfs", uris=URIS)
    return stock


@dataclass
class World:
    """The metastore, and what a leader has."""

    metastore: Metastore
    database: Database
    metrics: Metrics

    def table(self, number: int) -> None:
        """A table of a database with all that is collected after it; its directory has the inode of its number."""
        self.metastore.execute(
            "SET SESSION foreign_key_checks = 0",
            f"INSERT INTO {{inodes}} (partition_id, parent_id, name, id) VALUES (2, 2, 't{number}', {number})",
            "INSERT IGNORE INTO DBS (DB_ID, NAME, CTLG_NAME, DB_LOCATION_URI) VALUES (7, 'd', 'hive', 's3a://b/d')",
            f"INSERT INTO CDS VALUES ({number})",
            f"INSERT INTO COLUMNS_V2 VALUES ({number}, NULL, 'a', 'int', 0)",
            f"INSERT INTO SERDES (SERDE_ID, NAME) VALUES ({number}, 's')",
            f"INSERT INTO SERDE_PARAMS VALUES ({number}, 'serialization.format', '1')",
            f"INSERT INTO SDS (SD_ID, CD_ID, SERDE_ID, LOCATION, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS)"
            f" VALUES ({number}, {number}, {number}, 'hdfs://nn:8020/w/t{number}', 0, 0, 0)",
            f"INSERT INTO SKEWED_STRING_LIST VALUES ({number})",
            f"INSERT INTO SKEWED_VALUES VALUES ({number}, {number}, 0)",
            "INSERT INTO TBLS (TBL_ID, DB_ID, SD_ID, CREATE_TIME, LAST_ACCESS_TIME, RETENTION, TBL_NAME)"
            f" VALUES ({number}, 7, {number}, 0, 0, 0, 't{number}')",
            f"INSERT INTO MV_CREATION_METADATA VALUES ({number}, 'hive', 'd', 't{number}', '', 0)",
        )

    def delete(self, number: int) -> None:
        """As a NameNode of HopsFS."""
        assert self.metastore.execute(f"SELECT COUNT(*) FROM TBLS WHERE TBL_ID = {number}") == [(1,)]
        self.metastore.execute(f"DELETE FROM {{inodes}} WHERE id = {number}")
        assert self.metastore.execute(f"SELECT COUNT(*) FROM TBLS WHERE TBL_ID = {number}") == [(0,)]

    def garbage(self) -> list[int]:
        """Rows of each kind."""
        return [int(self.metastore.execute(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in GARBAGE]

    def candidates(self) -> set[tuple[str, int]]:
        return set(self.metastore.execute("SELECT kind, id FROM {state}.candidate"))

    def sweeps(self) -> int:
        """That were asked for."""
        return int(self.metastore.execute("SELECT COUNT(*) FROM {state}.request WHERE kind = 'collect'")[0][0])

    def follow(self, follower: Follower, until: Callable[[], object] | None = None, seconds: float = 30) -> None:
        """Step until something is so, or there is nothing more."""
        end = time.monotonic() + patience.scaled(seconds)
        while not until() if until else follower.step():
            assert time.monotonic() < end
            if until:
                follower.step()

    def collect(self) -> None:
        """What candidates lead to, with a clock that stands still: there is no sweep."""
        collector = Collector(CONFIG, self.database, None, self.metrics, Clock())
        while self.candidates():
            collector._look = 0.0
            collector.step()
        assert not collector.sweeping


@pytest.fixture
def world(made: Metastore) -> Iterator[World]:
    """Empty, with the root of the file system and /w."""
    tables = ("DBS", "TBLS", "SKEWED_VALUES", *GARBAGE, "{inodes}", "{state}.candidate")
    more = ("{state}.request", "{state}.binary_log", "{state}.lease")
    made.execute(
        "SET SESSION foreign_key_checks = 0",
        *(f"DELETE FROM {table}" for table in (*tables, *more)),
        "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (0, 0, '', 1), (118960, 1, 'w', 2)",
    )
    database = made.database()
    yield World(made, database, Metrics())
    database.close()


@contextmanager
def following(world: World, database: Database | None = None) -> Iterator[Follower]:
    """A follower that has begun and read what there is."""
    follower = Follower(database or world.database, world.metrics)
    try:
        world.follow(follower)
        yield follower
    finally:
        follower.close()


def of(*numbers: int) -> set[tuple[str, int]]:
    """What the binary log says of a deleted table."""
    kinds = ("SDS", "CDS", "SERDES", "SKEWED_STRING_LIST", "MV_CREATION_METADATA")
    return {(kind, number) for kind in kinds for number in numbers}


def test_what_a_cascade_left_is_collected_without_a_sweep(world: World) -> None:
    world.table(101)
    world.table(102)
    with following(world) as follower:
        assert world.candidates() == set()
        world.delete(101)
        world.follow(follower, lambda: world.candidates() == of(101))
        world.collect()
        assert world.garbage() == [1] * len(GARBAGE)
        world.delete(102)
        world.follow(follower, lambda: of(102) <= world.candidates())
        world.collect()
    assert world.garbage() == [0] * len(GARBAGE)


def test_nothing_is_missed_by_who_begins_where_another_was_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.table(101)
    world.table(102)
    with following(world) as follower:
        world.delete(101)

        def ended(*_: object) -> int:
            raise InterruptedError

        # Between reading and writing.
        with monkeypatch.context() as patch, pytest.raises(InterruptedError):
            patch.setattr(Transaction, "many", ended)
            world.follow(follower, world.candidates)
    assert world.candidates() == set()
    world.delete(102)
    with following(world) as follower:
        world.follow(follower, lambda: world.candidates() == of(101, 102))
    assert world.sweeps() == 1  # of the first start


def test_a_log_that_was_purged_is_followed_from_its_end_after_a_sweep(world: World, cluster: Ndb) -> None:
    world.table(101)
    with following(world):
        pass
    with world.database.reading() as tx:
        before = read_position(tx)
    world.delete(101)
    (last,) = cluster.sql[0].execute("FLUSH BINARY LOGS", "SHOW BINARY LOG STATUS")
    time.sleep(1)
    cluster.sql[0].execute(f"PURGE BINARY LOGS TO '{last[0]}'")
    assert world.sweeps() == 1
    world.metastore.execute("UPDATE {state}.request SET state = 'done'")
    follower = Follower(world.database, world.metrics)
    world.follow(follower, lambda: world.sweeps() == 2)
    with world.database.reading() as tx:
        after = read_position(tx)
    assert before is not None
    assert after is not None
    assert (after.file, after.uuid) == (last[0], before.uuid)
    world.table(102)
    world.delete(102)
    world.follow(follower, lambda: of(102) <= world.candidates())
    follower.close()


def test_another_node_is_followed_after_a_sweep_and_the_first_one_stays_the_first(world: World, cluster: Ndb) -> None:
    """Places are sockets here, so a node that is away is one whose socket no process listens on."""
    first, second = (node.port for node in cluster.sql)
    for node in cluster.sql:
        node.execute("CREATE USER IF NOT EXISTS ann@'%' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO ann@'%'")
    server = replace(
        world.metastore.server, unix_socket="", host="127.0.0.1", port=first, user="ann", password="x",
        others=(("127.0.0.1", second),),
    )  # fmt: skip
    world.table(101)
    world.table(102)
    with following(world, Database(server, NAMES)):
        pass
    # Another daemon has the other node first, and continues with that of its predecessor.
    turned = replace(server, port=second, others=(("127.0.0.1", first),))
    with following(world, Database(turned, NAMES)) as follower:
        world.delete(101)
        world.follow(follower, lambda: world.candidates() == of(101))
    assert world.sweeps() == 1
    assert world.metastore.execute("SELECT place FROM {state}.binary_log") == [(f"127.0.0.1:{first}",)]
    world.metastore.execute("UPDATE {state}.request SET state = 'done'")
    # That one cannot be reached any more.
    gone = replace(server, port=second, others=())
    with following(world, Database(gone, NAMES)) as follower:
        assert world.sweeps() == 2
        assert world.metastore.execute("SELECT place FROM {state}.binary_log") == [(f"127.0.0.1:{second}",)]
        world.delete(102)
        world.follow(follower, lambda: of(102) <= world.candidates())


def test_what_went_while_the_node_was_away_is_swept(world: World, cluster: Ndb) -> None:
    """It is in no log of the node, which says so when it is there again."""
    world.table(101)
    with following(world) as follower:
        world.metastore.execute("UPDATE {state}.request SET state = 'done'")
        with killed(cluster, 0):
            cluster.sql[1].execute(f"DELETE FROM {NAMES.inodes} WHERE id = 101")
            assert cluster.sql[1].execute(f"SELECT COUNT(*) FROM {NAME}.TBLS") == [(0,)]
            with pytest.raises(DatabaseUnavailable, match="The binary log of"):
                for _ in range(60):
                    follower.step()
            # Cut off as well; a worker would try again.
            world.database.close()
        world.follow(follower, lambda: world.sweeps() == 2)
        world.table(102)
        world.delete(102)
        world.follow(follower, lambda: world.candidates() == of(102))
        assert world.sweeps() == 2


def test_only_the_metastore_s_database_is_in_the_log(world: World, cluster: Ndb) -> None:
    with following(world) as follower:
        world.table(101)
        world.delete(101)
        world.follow(follower, lambda: world.candidates() == of(101))
    logs = [name for name, *_ in cluster.sql[0].execute("SHOW BINARY LOGS")]
    maps = {
        info.partition("(")[2].partition(".")[0]
        for name in logs
        for _, _, kind, _, _, info in cluster.sql[0].execute(f"SHOW BINLOG EVENTS IN '{name}'")
        if kind == "Table_map"
    }
    assert maps == {NAME, "mysql"}


def test_a_transaction_larger_than_memory_is_written_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopshive.consistency.garbage.binlog.MAX_CANDIDATES", 4)
    parts: list[int] = []
    positions: set[Position | None] = set()
    many = Transaction.many

    def noted(tx: Transaction, sql: str, rows: Sequence[Sequence[object]]) -> int:
        if rows:
            parts.append(len(rows))
            positions.add(read_position(tx))
        return many(tx, sql, rows)

    for number in (101, 102, 103):
        world.table(number)
    with following(world) as follower:
        monkeypatch.setattr(Transaction, "many", noted)
        world.metastore.execute("DELETE FROM {inodes} WHERE id > 100")
        world.follow(follower, lambda: world.candidates() == of(101, 102, 103))
    assert len(parts) > 1
    assert max(parts) < len(of(101, 102, 103))
    assert len(positions) == 1, "the position moves with the last part only"


@pytest.mark.parametrize("name", ["ndb_log_updated_only", "binlog_row_metadata"])
def test_a_node_whose_log_tells_too_little_is_refused(world: World, cluster: Ndb, name: str) -> None:
    good, bad = ("OFF", "ON") if name == "ndb_log_updated_only" else ("FULL", "MINIMAL")
    cluster.sql[0].execute(f"SET GLOBAL {name} = {bad}")
    try:
        with pytest.raises(Refused, match=f"has {name} = {bad}; to follow its binary log it must be {good}"):
            Follower(world.database).step()
    finally:
        cluster.sql[0].execute(f"SET GLOBAL {name} = {good}")


def test_a_user_without_the_privilege_is_refused(world: World, cluster: Ndb) -> None:
    cluster.sql[0].execute(
        "CREATE USER IF NOT EXISTS bob@localhost IDENTIFIED BY 'x'",
        f"GRANT ALL ON {NAME}.* TO bob@localhost",
        f"GRANT ALL ON {NAMES.state}.* TO bob@localhost",
    )
    database = Database(replace(world.metastore.server, unix_socket="", host="127.0.0.1", port=cluster.sql[0].port,
                                user="bob", password="x"), NAMES)  # fmt: skip
    cluster.sql[0].execute("CREATE USER IF NOT EXISTS bob@'127.0.0.1' IDENTIFIED BY 'x'",
                           f"GRANT ALL ON {NAME}.* TO bob@'127.0.0.1'",
                           f"GRANT ALL ON {NAMES.state}.* TO bob@'127.0.0.1'")  # fmt: skip
    with pytest.raises(Refused, match="The user bob may not follow the binary log: grant REPLICATION SLAVE"):
        Follower(database).step()
    database.close()


# --- daemons ----------------------------------------------------------------------------------------------------------


@dataclass
class Daemon:
    """A process, with the leader's configuration."""

    directory: Path
    process: subprocess.Popen[str]

    def log(self) -> str:
        return "".join(path.read_text() for path in self.directory.glob("*.log"))


@contextmanager
def daemon(world: World, directory: Path, name: str, **database: Any) -> Iterator[Daemon]:
    config = directory / f"{name}.yml"
    place = {"unix_socket": world.metastore.mariadb.socket, "user": "root", **database}
    content = {
        "source": "hopsfs",
        "name": name,
        "lease": 2.0,
        "database": {"metastore": NAME, "state": NAMES.state, "inodes": NAMES.inodes, **place},
        "hdfs": {"uris": URIS},
        "garbage": {"binary_log": True, "sweep_interval": 86400.0},
        "metrics": {"port": 0},
    }
    config.write_text(yaml.safe_dump(content))
    with (directory / f"{name}.log").open("w") as log:
        argv = [sys.executable, "-m", "hopshive.cli", "cleaner", "run", "--config", str(config)]
        process = subprocess.Popen(argv, stderr=log, text=True, env=environment())
        try:
            yield Daemon(directory, process)
        finally:
            process.kill()
            process.wait()


def until(what: Callable[[], object], running: Daemon, seconds: float = 45) -> None:
    patience.until(what, seconds, running.log, look=0.1)


def test_a_daemon_that_was_killed_has_missed_nothing(world: World, tmp_path: Path) -> None:
    """No sweep helps: the first one of a term begins after a minute, and the one that was asked for is over."""
    for number in (101, 102, 103):
        world.table(number)
    begun = "SELECT COUNT(*) FROM {state}.request WHERE kind = 'collect' AND state = 'running'"
    with daemon(world, tmp_path, "one") as one:
        until(lambda: world.metastore.execute(begun) == [(1,)], one)
        world.metastore.execute("UPDATE {state}.request SET state = 'done'")
        world.delete(101)
        until(lambda: world.garbage() == [2] * len(GARBAGE), one)
        # Killed in the middle of what it does about this one, as it happens.
        world.delete(102)
        os.kill(one.process.pid, signal.SIGKILL)
    world.delete(103)
    world.metastore.execute("UPDATE {state}.request SET state = 'done'")
    with daemon(world, tmp_path, "two") as two:
        until(lambda: world.garbage() == [0] * len(GARBAGE), two)
        assert world.sweeps() == 1
        shown = subprocess.run(
            [sys.executable, "-m", "hopshive.cli", "status", "--config", str(tmp_path / "two.yml")],
            capture_output=True, text=True, check=False, env=environment(),
        ).stdout  # fmt: skip
    assert "binary log" in shown
    assert "read 0." in shown or "s ago" in shown


# --- where there is nothing to follow ---------------------------------------------------------------------------------


def test_mariadb_s_log_is_refused(tmp_path: Path, hive_home: Path) -> None:
    """InnoDB's cascades are not in it."""
    with run_mariadb(tmp_path) as server:
        metastore = Metastore(server, stock_metastore(server, hive_home, NAME), NAMES)
        schema.apply(metastore.server, metastore.names)
        database = metastore.database()
        with pytest.raises(Refused, match="is no SQL node of NDB Cluster"):
            Follower(database).step()
        database.close()
