"""What NameNodes answer about themselves, and the sentences that an operator reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hopshive.consistency.status import FileSystem, Status, Stored
from hopshive.daemon.lease import Standing
from hopshive.hdfs.namenode import report
from hopshive.hdfs.namenode.report import DataNode, Replica, Report, Space
from hopshive.hdfs.namenode.rpc import RemoteError
from hopshive.hdfs.namenode.wire import Message, encode

BLOCK = 128 << 20


LOW = "Resources are low on NN. Please add or free up more resources"


LEAVE = "hdfs dfsadmin -safemode leave"


LEADS = Stored(Standing("one", 1, 5.0), 1, 0.0, None, 0, 0, {}, None, None, 0, None, 0, {})


FILES = FileSystem("CID-1", False, 1)


def status(found: Report, file_system: FileSystem | None = FILES) -> Status:
    """With a leader, and nothing else that is not well."""
    return Status(LEADS, file_system, [], found)


HA_OFF = RemoteError("org.apache.hadoop.ha.ServiceFailedException", "HA for namenode is not enabled")


ACTIVE, STANDBY = Message(encode({1: 1, 2: 1})), Message(encode({1: 2, 2: 1}))


FINE = Message(b"")


NOT_ACTIVE = RemoteError("org.apache.hadoop.ipc.StandbyException", "Operation category WRITE is not supported")


NO_SPACE = RemoteError("org.apache.hadoop.ha.HealthCheckFailedException", "The NameNode has no resources available")


def safe_mode(tip: str) -> RemoteError:
    """A write that is refused, as FSNamesystem.newSafemodeException words it."""
    text = f"Cannot renew lease for hopshive. Name node is in safe mode.\n{tip} NamenodeHostName:one"
    return RemoteError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", text)


def test_a_namenode_that_has_space_again_waits_to_be_let_out() -> None:
    standby = Message(encode({1: 2, 2: 0, 3: f"The NameNode is in safemode. {LOW}"}))
    for found in (
        report.judged("one:8020", standby, FINE, NOT_ACTIVE),
        report.judged("one:8020", ACTIVE, FINE, safe_mode(LOW)),
    ):
        assert not found.full
        assert not found.ready
        assert found.problem.endswith(f"has some again, and waits for: {LEAVE}")


def test_a_namenode_without_ha_is_full_until_it_leaves_its_safe_mode() -> None:
    assert report.judged("one:8020", HA_OFF, FINE, safe_mode(LOW)) == Replica("one:8020", "active", "", LOW, True)
    assert report.judged("one:8020", HA_OFF, FINE, FINE) == Replica("one:8020", "active")


def test_a_safe_mode_after_a_start_passes_by_itself() -> None:
    text = (
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot renew lease for hopshive. Name node is in safe mode.\n"
        "The reported blocks 3 needs additional 4 blocks. NamenodeHostName:one"
    )
    active = report.judged("one:8020", ACTIVE, FINE, RemoteError("org.apache.hadoop.ipc.RetriableException", text))
    starting = Message(encode({1: 2, 2: 0, 3: "The NameNode is in safemode. The reported blocks 3 needs"}))
    standby = report.judged("two:8020", starting, FINE, NOT_ACTIVE)
    assert active.passing == (
        "The NameNode is in safe mode: nothing is removed meanwhile. It says: The reported blocks 3 needs additional 4 blocks."
    )
    assert (
        standby.passing
        == "The NameNode two:8020 (standby) is in safe mode and cannot take over: The reported blocks 3 needs"
    )
    assert (active.problem, standby.problem) == ("", "")


def test_one_that_has_just_begun_to_start_does_not_answer() -> None:
    starting = RemoteError("org.apache.hadoop.ipc.RetriableException", "NameNode still not started")
    found = report.judged("one:8020", starting, starting, starting)
    assert found.problem.startswith("The NameNode one:8020 does not answer now: NameNode still not started. ")


def test_a_standby_that_is_well_may_take_over() -> None:
    found = report.judged("one:8020", STANDBY, FINE, NOT_ACTIVE)
    assert (found.ready, found.problem, found.passing) == (True, "", "")
    assert report.judged("one:8020", STANDBY, NO_SPACE, NOT_ACTIVE).full


def test_without_an_active_namenode_an_operator_must_look_at_the_failover() -> None:
    standbys = (Replica("one:8020", "standby"), Replica("two:8020", "standby"))
    assert "No NameNode is active: does hadoop-hdfs-zkfc run" in Report(standbys, None).problems[0]
    # Nor can be asked how far it is.
    assert status(Report(standbys, None), None).hdfs_problems == Report(standbys, None).problems
    assert Report((replace(standbys[0], state="active"), standbys[1]), None).problems == []


def test_datanodes_are_full_before_nothing_is_left() -> None:
    nodes = tuple(DataNode(f"w{number}:9866", 100 * BLOCK, number * BLOCK // 2) for number in range(20))
    space = Space(0, 0, BLOCK, nodes, ("dead1:9866", "dead2:9866"))
    assert [node.name for node in space.full] == ["w0:9866", "w1:9866"]
    assert len(space.low) == 14
    just_registered = replace(space, live=(DataNode("w:9866", 0, 0),), dead=())
    assert just_registered.problems == []
    full, low, dead = space.problems
    assert full.startswith(
        "No space for another block (128 MiB) on 2 DataNodes (w0:9866, w1:9866): HDFS writes nothing there."
    )
    assert low.startswith(
        "Less than 1 GiB is left on 14 DataNodes (w10:9866, w11:9866, w12:9866, w13:9866, w14:9866 ...): soon"
    )
    assert dead.startswith("The NameNode gets no heartbeat from 2 DataNodes (dead1:9866, dead2:9866)")
    (silent,) = Space(0, 0, BLOCK, nodes[-1:], (), ("w1:9866",)).problems
    assert silent.startswith("The NameNode gets no heartbeat from the DataNode w1:9866: is the unit")
    assert Space(0, 0, BLOCK, (), ()).problems == ["No DataNode is live: no content of a file can be read or written."]


@pytest.mark.parametrize(
    ("heard", "now", "silent"),
    [
        pytest.param([], 1000, [], id="none"),
        pytest.param([1000, 939], 1000, [False, True], id="one lags behind the other"),
        pytest.param([1000, 939], 5, [False, True], id="whatever this host's clock says"),
        pytest.param([1000, 941], 1055, [False, False], id="a clock that is ahead"),
        pytest.param([1000], 1121, [True], id="the only one"),
        pytest.param([0], 1000, [False], id="has just registered"),
    ],
)
def test_a_datanode_is_silent_long_before_it_is_dead(heard: list[float], now: float, silent: list[bool]) -> None:
    assert report._silent(heard, now) == silent
