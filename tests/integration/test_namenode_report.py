"""How HDFS is, as real NameNodes tell it: without space, in safe mode, away; and what `hopshive status` makes of it."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

from hopshive.commands.status import exit_code
from hopshive.config import Config, HdfsConfig
from hopshive.consistency.report import ReportWork
from hopshive.consistency.status import FileSystem, Status, Stored
from hopshive.daemon.lease import Standing
from hopshive.daemon.metrics import Metrics
from hopshive.hdfs.namenode import report
from hopshive.hdfs.namenode.report import Replica, Report
from hopshive.hdfs.namenode.rpc import HA_PROTOCOL, Call, answer_of
from hopshive.hdfs.namenode.wire import Message, encode
from tests.support.patience import scaled
from tests.support.servers import connect, free_port, run_hdfs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.servers import Hdfs

# More than any disk has.
HUGE = 1 << 60
BLOCK = 128 << 20
SAFEMODE_LEAVE, SAFEMODE_ENTER = 1, 2
LOW = "Resources are low on NN. Please add or free up more resources"
LEAVE = "hdfs dfsadmin -safemode leave"
LEADS = Stored(Standing("one", 1, 5.0), 1, 0.0, None, 0, 0, {}, None, None, 0, None, 0, {})
FILES = FileSystem("CID-1", False, 1)


def until(
    addresses: list[tuple[str, int]], what: Callable[[Report], object], seconds: float = 30, user: str = "hdfs"
) -> Report:
    """Ask again and again."""
    deadline = time.monotonic() + scaled(seconds)
    while True:
        found = report.ask(addresses, user)
        if what(found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def status(found: Report, file_system: FileSystem | None = FILES) -> Status:
    """With a leader, and nothing else that is not well."""
    return Status(LEADS, file_system, [], found)


# --- one NameNode -----------------------------------------------------------------------------------------------------


def test_a_file_system_that_is_well_has_no_problem(hdfs: Hdfs) -> None:
    connect(hdfs).close()
    found = until([("127.0.0.1", hdfs.rpc_port)], lambda found: found.space and found.space.capacity)
    assert found.namenodes == (Replica(f"127.0.0.1:{hdfs.rpc_port}", "active"),)
    assert found.space is not None
    (datanode,) = found.space.live
    assert datanode.name.startswith("127.0.0.1:")
    assert 0 < found.space.remaining <= found.space.capacity == datanode.capacity
    assert (found.space.block_size, found.space.dead) == (BLOCK, ())
    assert (found.problems, found.passing) == ([], [])
    assert exit_code(status(found)) == 0


def test_a_safe_mode_that_an_operator_wanted_is_reported(hdfs: Hdfs) -> None:
    with connect(hdfs) as namenode:
        namenode._one(namenode._call("setSafeMode", {1: SAFEMODE_ENTER}))
        try:
            found = report.ask([("127.0.0.1", hdfs.rpc_port)], "hdfs")
        finally:
            namenode._one(namenode._call("setSafeMode", {1: SAFEMODE_LEAVE}))
    (sentence,) = status(found).problems
    assert sentence.startswith(
        "The NameNode is in safe mode: nothing is removed meanwhile. It says: It was turned on manually."
    )
    assert not found.namenodes[0].ready
    assert exit_code(status(found)) == 0


def test_asking_writes_nothing(hdfs: Hdfs) -> None:
    with connect(hdfs) as namenode:
        before = namenode.current_txid()
        report.ask([("127.0.0.1", hdfs.rpc_port)], "hdfs")
        assert namenode.current_txid() == before


def test_one_that_is_away_costs_no_exception_and_is_named() -> None:
    found = report.ask([("127.0.0.1", 1)], "hdfs")
    assert found.space is None
    assert found.problems[0].startswith("The NameNode 127.0.0.1:1 cannot be reached: ")
    # Then the status has its own sentence of it.
    assert status(found, None).hdfs_problems == []


def test_something_else_at_the_port_costs_no_exception(hdfs: Hdfs) -> None:
    found = report.ask([("127.0.0.1", hdfs.namenode_port)], "hdfs")
    assert "does not speak Hadoop's RPC" in found.namenodes[0].why


@pytest.fixture(scope="module")
def full(hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    """The address of a NameNode and a DataNode that both keep more space free than there is."""
    directory = tmp_path_factory.mktemp("full")
    settings = {
        "dfs.namenode.resource.du.reserved": HUGE,
        "dfs.namenode.resource.check.interval": 200,
        # With all of it reserved the disk would have no capacity, which is how a DataNode looks that has yet to tell.
        "dfs.datanode.du.reserved": shutil.disk_usage(directory).total - BLOCK // 2,
    }
    with run_hdfs(directory, hadoop_home, settings) as running:
        yield [("127.0.0.1", running.rpc_port)]


def test_a_namenode_and_a_datanode_without_space_are_said(full: list[tuple[str, int]]) -> None:
    found = until(full, lambda found: found.space and found.space.full and found.namenodes[0].full)
    namenode, datanode = status(found).problems
    assert namenode.startswith(
        f"The NameNode 127.0.0.1:{full[0][1]} (active) ran out of space for its edits: no client can write"
    )
    assert namenode.endswith(LEAVE)
    assert datanode.startswith("No space for another block (128 MiB) on the DataNode 127.0.0.1:")
    assert "no client can write" in datanode
    assert found.namenodes[0].safe_mode.startswith(LOW)
    assert "NamenodeHostName" not in found.namenodes[0].safe_mode
    assert exit_code(status(found)) == 3
    shown = status(found).plain()["hdfs"]
    assert (shown["datanodes"], len(shown["full"])) == (1, 1)
    assert shown["remaining"] < BLOCK
    assert (shown["namenodes"][0]["ready"], shown["namenodes"][0]["full"]) == (False, True)


def test_a_leader_shows_and_logs_it_once(full: list[tuple[str, int]], caplog: pytest.LogCaptureFixture) -> None:
    until(full, lambda found: found.space and found.space.full and found.namenodes[0].full)
    metrics = Metrics()
    work = ReportWork(Config(hdfs=HdfsConfig(namenodes=[f"127.0.0.1:{full[0][1]}"])), metrics)
    for _ in range(2):
        assert not work.step()
    labels = {"namenode": f"127.0.0.1:{full[0][1]}"}
    value = metrics.registry.get_sample_value
    assert (value("hopshive_hdfs_namenode_full", labels), value("hopshive_hdfs_namenode_ready", labels)) == (1, 0)
    assert value("hopshive_hdfs_safe_mode") == 1
    assert value("hopshive_hdfs_datanodes", {"state": "full"}) == 1
    assert len([record for record in caplog.records if "ran out of space" in record.message]) == 1


def test_a_leader_that_reaches_no_namenode_continues() -> None:
    metrics = Metrics()
    work = ReportWork(Config(hdfs=HdfsConfig(namenodes=["127.0.0.1:1"])), metrics)
    assert not work.step()
    assert metrics.registry.get_sample_value("hopshive_hdfs_namenode_ready", {"namenode": "127.0.0.1:1"}) == 0


# --- several ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    """The addresses of two NameNodes, of which the first runs, as standby, and keeps more space free than there is."""
    directory = tmp_path_factory.mktemp("pair")
    addresses = [("127.0.0.1", free_port()) for _ in range(2)]
    settings: dict[str, object] = {
        "dfs.nameservices": "ns",
        "dfs.ha.namenodes.ns": "nn1,nn2",
        "dfs.ha.namenode.id": "nn1",
        "dfs.namenode.shared.edits.dir": f"file://{directory}/shared",
        "dfs.namenode.resource.du.reserved": HUGE,
        "dfs.namenode.resource.check.interval": 200,
    }
    for name, (host, port) in zip(("nn1", "nn2"), addresses, strict=True):
        settings[f"dfs.namenode.rpc-address.ns.{name}"] = f"{host}:{port}"
        settings[f"dfs.namenode.http-address.ns.{name}"] = f"{host}:{free_port()}"
    with run_hdfs(directory, hadoop_home, settings):
        yield addresses


def transition(address: tuple[str, int], method: str) -> None:
    """Let a NameNode become active or standby, as an operator does."""
    answer = answer_of(address, "hdfs", Call(0, method, encode({1: encode({1: 0})}), HA_PROTOCOL), 30)
    assert isinstance(answer, Message), answer


def test_a_standby_without_space_cannot_take_over_and_an_active_one_not_write(pair: list[tuple[str, int]]) -> None:
    one, two = (f"127.0.0.1:{port}" for _, port in pair)
    found = until(pair, lambda found: found.namenodes[0].state == "standby")
    first, second = found.problems
    assert first.startswith(f"The NameNode {one} (standby) ran out of space for its edits: it cannot take over.")
    assert LEAVE not in first
    assert second.startswith(f"The NameNode {two} cannot be reached: ")
    assert found.space is None
    transition(pair[0], "transitionToActive")
    found = until(pair, lambda found: found.namenodes[0].state == "active" and found.namenodes[0].safe_mode)
    assert found.problems[0].startswith(
        f"The NameNode {one} (active) ran out of space for its edits: no client can write"
    )
    assert found.problems[0].endswith(LEAVE)
    assert found.space is not None
    # It takes its safe mode along.
    transition(pair[0], "transitionToStandby")
    (again, _) = report.ask(pair, "hdfs").problems
    assert again.startswith(f"The NameNode {one} (standby) ran out of space for its edits: it cannot take over.")
    assert again.endswith(LEAVE)
