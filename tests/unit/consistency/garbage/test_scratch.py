"""Unused scratch goes; what is young, open or followed by the metastore stays."""
# ruff: noqa: S108 - these are paths of HDFS

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from hopshive.config import Config, ConfigError, GarbageConfig, HdfsConfig, check_scratch
from hopshive.consistency.garbage import Collector
from hopshive.daemon.metrics import Metrics
from hopshive.database import Database, LostLease
from hopshive.errors import Refused
from hopshive.hdfs.namenode import NameNode, NameNodeUnavailable
from hopshive.hdfs.namenode.wire import encode
from tests.support.garbage_world import Clock, Rows
from tests.support.patience import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.database import Transaction
    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs

WEEK = 7 * 86400.0
NOW = time.time()
OLD = NOW - WEEK - 60


class Files:
    """Makes directories and files of any age, by the NameNode alone."""

    def __init__(self, namenode: NameNode) -> None:
        self.namenode = namenode

    def _ask(self, method: str, request: dict[int, int | bytes | str]) -> None:
        deadline = time.monotonic() + scaled(30)
        while True:
            try:
                self.namenode._one(self.namenode._call(method, request))
                return
            except NameNodeUnavailable:  # in safe mode yet
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def directory(self, path: str) -> None:
        self._ask("mkdirs", {1: path, 2: encode({1: 0o755}), 3: 1})

    def open(self, path: str) -> None:
        """A file that is being written."""
        self._ask(
            "create",
            {1: path, 2: encode({1: 0o644}), 3: "writer", 4: 1, 5: 1, 6: 1, 7: 1 << 27},
        )

    def close(self, path: str) -> None:
        self._ask("complete", {1: path, 2: "writer"})

    def file(self, path: str) -> None:
        self.open(path)
        self.close(path)

    def age(self, path: str, modified: float = OLD) -> None:
        """Everything at and below a path was modified then."""
        entry = self.namenode.entry(path)
        if entry and entry.is_dir:
            for below in list(self.namenode.listing(path)):
                self.age(f"{path}/{below.name}", modified)
        self._ask("setTimes", {1: path, 2: int(modified * 1000), 3: int(modified * 1000)})

    def names(self, path: str) -> list[str]:
        return [entry.name for entry in self.namenode.listing(path)]


@pytest.fixture
def rows(metastore: Metastore) -> Iterator[Rows]:
    found = Rows(metastore)
    found.clear()
    yield found
    found.close()


@pytest.fixture
def files(hdfs: Hdfs) -> Iterator[Files]:
    """Two users; the first has an old session."""
    with NameNode([("127.0.0.1", hdfs.rpc_port)], user=hdfs.user) as namenode:
        found = Files(namenode)
        found._ask("delete", {1: "/tmp/hive", 2: 1})
        found.directory("/tmp/hive/ann/old/_tmp_space.db")
        found.file("/tmp/hive/ann/old/inuse.lck")
        found.directory("/tmp/hive/bob")
        found.age("/tmp/hive")
        yield found


def _clean(rows: Rows, files: Files, *scratch: str, database: Database | None = None) -> Metrics:
    config = Config(
        hdfs=HdfsConfig(uris=["hdfs://lab"], namenodes=["localhost:1"]),
        garbage=GarbageConfig(scratch=list(scratch) or ["/tmp/hive/*"], scratch_age=WEEK),
    )
    metrics = Metrics()
    database = database or rows.metastore.database()
    collector = Collector(config, database, files.namenode, metrics, Clock())
    while collector.step():
        pass
    database.close()
    return metrics


def test_an_old_session_goes_and_its_user_stays(rows: Rows, files: Files) -> None:
    metrics = _clean(rows, files)
    assert files.names("/tmp/hive") == ["ann", "bob"]
    assert files.names("/tmp/hive/ann") == []
    assert metrics.registry.get_sample_value("hopshive_garbage_collected_total", {"table": "scratch"}) == 1


@pytest.mark.parametrize(
    "young", ["/tmp/hive/ann/old", "/tmp/hive/ann/old/_tmp_space.db", "/tmp/hive/ann/old/inuse.lck"]
)
def test_one_young_thing_at_any_depth_keeps_a_session(rows: Rows, files: Files, young: str) -> None:
    files.age(young, NOW)
    _clean(rows, files)
    assert files.names("/tmp/hive/ann") == ["old"]


def test_a_session_whose_lock_is_held_stays_until_it_is_released(rows: Rows, files: Files) -> None:
    files.open("/tmp/hive/bob/.lock-of-nobody")
    files.directory("/tmp/hive/bob/idle")
    files.open("/tmp/hive/bob/idle/inuse.lck")
    files.age("/tmp/hive/bob")
    _clean(rows, files)
    assert files.names("/tmp/hive/bob") == [".lock-of-nobody", "idle"]
    files.close("/tmp/hive/bob/idle/inuse.lck")
    files.age("/tmp/hive/bob")
    _clean(rows, files)
    assert files.names("/tmp/hive/bob") == [".lock-of-nobody"]


def test_without_an_asterisk_the_children_themselves_go(rows: Rows, files: Files) -> None:
    _clean(rows, files, "/tmp/hive")
    assert files.names("/tmp/hive") == []


def test_a_directory_that_is_not_there_is_no_error(rows: Rows, files: Files) -> None:
    _clean(rows, files, "/tmp/nowhere", "/tmp/nothing/*/x", "/tmp/hive/*")
    assert files.names("/tmp/hive/ann") == []


def test_what_the_metastore_follows_stays(rows: Rows, files: Files) -> None:
    entry = files.namenode.entry("/tmp/hive/ann/old")
    assert entry is not None
    rows.descriptor(1, location="hdfs://lab/elsewhere")
    rows.run(
        f"INSERT INTO {{inodes}} VALUES (1, 1, 'old', {entry.file_id})",
        "UPDATE SDS SET PARTITION_ID = 1, PARENT_ID = 1, NAME = 'old'",
    )
    _clean(rows, files)
    assert files.names("/tmp/hive/ann") == ["old"]


@pytest.mark.parametrize(
    ("location", "stays"),
    [
        ("hdfs://lab/tmp/hive/ann/old", True),
        ("hdfs://lab//tmp/hive//ann/old/table/p=1", True),
        ("/tmp/hive/ann/old/_tmp_space.db", True),
        ("hdfs://lab/tmp/hive/ann/older", False),
        ("hdfs://elsewhere/tmp/hive/ann/old", False),
    ],
)
def test_a_location_that_is_not_bound_yet_stays_too(rows: Rows, files: Files, location: str, stays: bool) -> None:
    rows.descriptor(1, location=location)
    _clean(rows, files)
    assert files.names("/tmp/hive/ann") == (["old"] if stays else [])


def test_a_database_in_it_stays(rows: Rows, files: Files) -> None:
    rows.database()
    rows.run("UPDATE DBS SET DB_MANAGED_LOCATION_URI = 'hdfs://lab/tmp/hive/ann/old/d.db'")
    _clean(rows, files)
    assert files.names("/tmp/hive/ann") == ["old"]


def test_the_directory_of_a_table_that_only_spark_can_read_stays(rows: Rows, files: Files) -> None:
    rows.run(
        "INSERT INTO SERDES (SERDE_ID) VALUES (1)",
        "INSERT INTO SERDE_PARAMS (SERDE_ID, PARAM_KEY, PARAM_VALUE) VALUES (1, 'path', 'hdfs://lab/tmp/hive/ann/old')",
    )
    _clean(rows, files)
    assert files.names("/tmp/hive/ann") == ["old"]


def test_on_another_file_system_nothing_is_deleted(rows: Rows, files: Files) -> None:
    rows.run("REPLACE INTO {state}.setting (name, value) VALUES ('block_pool', 'BP-of-another')")
    try:
        with pytest.raises(Refused, match=r"follows BP-of-another\. Nothing was changed"):
            _clean(rows, files)
    finally:
        rows.run("DELETE FROM {state}.setting WHERE name = 'block_pool'")
    assert files.names("/tmp/hive/ann") == ["old"]


def test_who_does_not_lead_deletes_nothing(rows: Rows, files: Files) -> None:
    class Falling:
        """Falls between the look for candidates and the deletion."""

        asked = 0

        def check(self, tx: Transaction) -> None:  # noqa: ARG002 - of a protocol
            self.asked += 1
            if self.asked > 1:
                raise LostLease

    with pytest.raises(LostLease):
        _clean(rows, files, database=rows.metastore.database(Falling()))
    assert files.names("/tmp/hive/ann") == ["old"]


def test_a_namenode_that_is_down_does_not_stop_the_rest(rows: Rows) -> None:
    with NameNode([("127.0.0.1", 1)], timeout=0.2) as namenode:
        metrics = _clean(rows, Files(namenode))
    assert metrics.registry.get_sample_value("hopshive_errors_total", {"what": "scratch"}) == 1


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("/", "holds more than scratch"),
        ("/tmp", "holds more than scratch"),
        ("/user/*", "holds more than scratch"),
        ("/*/hive/x", "holds more than scratch"),
        ("tmp/hive", "must be an absolute path"),
        ("/tmp/hive/", "must be an absolute path"),
        ("/tmp/hive/../x", "must be an absolute path"),
        ("/tmp/hive/a*", "a whole directory"),
    ],
)
def test_a_directory_that_cannot_be_meant_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        check_scratch([pattern])


def test_usual_directories_are_taken() -> None:
    check_scratch(["/tmp/hive", "/tmp/hive/*", "/tmp/hive/*/_tez_session_dir", "/user/*/.sparkStaging"])
