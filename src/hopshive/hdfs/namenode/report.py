"""The health of HDFS: the state of each NameNode, the space, and the DataNodes without space; what is wrong, in sentences.

Each NameNode is asked on its own connection, in any state; the active one also for the space. A question costs a
NameNode less than a client's heartbeat. Field numbers and behaviour are those of Hadoop 3.3.6 (HAServiceProtocol.proto,
ClientNamenodeProtocol.proto, hdfs.proto; NameNode, FSNamesystem, BlockPlacementPolicyDefault).
"""

from __future__ import annotations

import itertools
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode.client import shown
from hopshive.hdfs.namenode.rpc import (
    CLIENT_PROTOCOL,
    HA_PROTOCOL,
    Answer,
    Call,
    Connection,
    ConnectionLostError,
    NotHadoopError,
    RemoteError,
)
from hopshive.hdfs.namenode.wire import Message, WireError, encode
from hopshive.wording import counted, size

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds that each NameNode may take: the work that runs beside this report must not wait for it.
TIMEOUT = 5.0
# Blocks of the default size: a DataNode with room for fewer is reported as nearly full.
NEARLY_FULL_BLOCKS = 8
# Seconds of silence after which a DataNode is reported. Hadoop takes one for dead after ten minutes.
SILENT_SECONDS = 60.0
# Names that one message lists at most.
NAMES_LISTED = 5

STATES = {0: "initializing", 1: "active", 2: "standby", 3: "observer"}
LIVE, DEAD = 2, 3
# DatanodeInfoProto.AdminState: a DataNode that is being decommissioned, or was taken out, is not a problem.
IN_SERVICE = 0
# How getSafeModeTip begins when the disks of the NameNode have less than dfs.namenode.resource.du.reserved, and what
# monitorHealth throws then. Without HA, monitorHealth checks nothing.
LOW_TIP = "Resources are low"
LOW_HEALTH = "no resources available"
# The refusal of a write in safe mode: a SafeModeException, or a RetriableException with one inside. Line 2 has the reason.
IN_SAFE_MODE = "Name node is in safe mode"
HA_PREFIX = "The NameNode is in safemode. "


@dataclass(frozen=True)
class Replica:
    """One NameNode. `state`: active, standby, observer or initializing; empty if it does not answer, for the reason `why`.

    `safe_mode`: the NameNode's own sentence about its safe mode, else empty. `full`: its disks lack space for edits.
    Hadoop 3.3 does not leave the safe mode of a full disk by itself. Only with HA it reports whether there is space again.
    """

    address: str
    state: str = ""
    why: str = ""
    safe_mode: str = ""
    full: bool = False

    @property
    def ready(self) -> bool:
        """Whether the NameNode takes writes, or would if it became active."""
        return self.state in ("active", "standby") and not self.safe_mode and not self.full

    @property
    def stuck(self) -> bool:
        """Whether an operator must let it out of its safe mode."""
        return self.safe_mode.startswith(LOW_TIP)

    @property
    def problem(self) -> str:
        """What an operator must repair; empty if nothing is wrong, or it passes by itself."""
        who = f"The NameNode {self.address}"
        if not self.state:
            return (
                f"{who} {self.why}. Is the unit hadoop-hdfs-namenode running there, and what does its system log say?"
            )
        if self.state == "initializing":
            return f"{who} is neither active nor standby. See the system log of hadoop-hdfs-namenode there."
        leave = "hdfs dfsadmin -safemode leave"
        if self.full:
            so = "no client can write, and nothing is removed" if self.state == "active" else "it cannot take over"
            then = f", then: {leave}" if self.stuck else "."
            return (
                f"{who} ({self.state}) ran out of space for its edits: {so}. "
                f"Make room where its dfs.namenode.name.dir lies{then}"
            )
        if self.stuck:
            return f"{who} ({self.state}) ran out of space for its edits, has some again, and waits for: {leave}"
        return ""

    @property
    def passing(self) -> str:
        """A state that passes by itself or is intended, such as safe mode; empty if there is none."""
        if not self.safe_mode or self.full or self.stuck:
            return ""
        if self.state == "active":
            return f"The NameNode is in safe mode: nothing is removed meanwhile. It says: {self.safe_mode}"
        return f"The NameNode {self.address} ({self.state}) is in safe mode and cannot take over: {self.safe_mode}"


@dataclass(frozen=True)
class DataNode:
    """`name` is host:port. Sizes in bytes, over all of its disks; zeros from its registration to its first heartbeat."""

    name: str
    capacity: int
    remaining: int


@dataclass(frozen=True)
class Space:
    """What the active NameNode knows of the DataNodes that are in service. Sizes in bytes; `block_size` is the default one.

    `silent`: DataNodes without a heartbeat for a minute that the NameNode does not call dead yet. `live` has the others.
    """

    capacity: int
    remaining: int
    block_size: int
    live: tuple[DataNode, ...]
    dead: tuple[str, ...]
    silent: tuple[str, ...] = ()

    @property
    def full(self) -> list[DataNode]:
        """Live DataNodes that get no new block: HDFS wants room for a whole block."""
        return [node for node in self.live if node.remaining < self.block_size and node.capacity]

    @property
    def low(self) -> list[DataNode]:
        """Live DataNodes that are nearly full."""
        return [node for node in self.live if self.block_size <= node.remaining < NEARLY_FULL_BLOCKS * self.block_size]

    @property
    def problems(self) -> list[str]:
        """What an operator must repair, without numbers that change all the time."""
        block = size(self.block_size)
        found = []
        if not self.live:
            found.append("No DataNode is live: no content of a file can be read or written.")
        if self.full:
            so = "no client can write" if len(self.full) == len(self.live) else "HDFS writes nothing there"
            found.append(
                f"No space for another block ({block}) on {_listed([node.name for node in self.full], 'DataNode')}: {so}. "
                "Make room on its disks or in HDFS (hdfs dfs -expunge), or add DataNodes."
            )
        if self.low:
            found.append(
                f"Less than {size(NEARLY_FULL_BLOCKS * self.block_size)} is left on "
                f"{_listed([node.name for node in self.low], 'DataNode')}: soon HDFS writes nothing there. "
                "Make room, or add DataNodes."
            )
        if self.dead or self.silent:
            who = _listed(self.dead + self.silent, "DataNode")
            found.append(f"The NameNode gets no heartbeat from {who}: is the unit hadoop-hdfs-datanode running there?")
        return found


@dataclass(frozen=True)
class Report:
    """All NameNodes, and the space. `space` is None if no active NameNode answers."""

    namenodes: tuple[Replica, ...]
    space: Space | None

    @property
    def active(self) -> Replica | None:
        """The NameNode that takes writes."""
        return next((one for one in self.namenodes if one.state == "active"), None)

    @property
    def problems(self) -> list[str]:
        """What an operator must repair, in sentences."""
        return (
            [one.problem for one in self.namenodes if one.problem]
            + self.unchosen
            + (self.space.problems if self.space else [])
        )

    @property
    def unchosen(self) -> list[str]:
        """A sentence if all NameNodes answer and none is active, else empty."""
        if self.active is not None or not all(one.state for one in self.namenodes):
            return []
        return ["No NameNode is active: does hadoop-hdfs-zkfc run beside each of them, and does ZooKeeper answer?"]

    @property
    def passing(self) -> list[str]:
        """The states that pass by themselves or are intended, in sentences."""
        return [one.passing for one in self.namenodes if one.passing]


def ask(addresses: Sequence[tuple[str, int]], user: str, timeout: float = TIMEOUT) -> Report:
    """Ask each NameNode, for `timeout` seconds or less. Raises nothing: a NameNode that does not answer is part of the report."""
    replicas, space = [], None
    for address in addresses:
        replica, found = _ask(address, user, timeout)
        replicas.append(replica)
        space = found or space
    return Report(tuple(replicas), space)


def _ask(address: tuple[str, int], user: str, timeout: float) -> tuple[Replica, Space | None]:
    """The state of one NameNode, and the space if it is the active one."""
    place = shown(address)
    numbers = itertools.count()

    def call(method: str, request: dict[int, int | bytes | str] | None = None, protocol: str = CLIENT_PROTOCOL) -> Call:
        return Call(next(numbers), method, encode(request or {}), protocol)

    connection: Connection | None = None
    try:
        connection = Connection(address, user, uuid.uuid4(), timeout)
        calls = [
            call("getServiceStatus", protocol=HA_PROTOCOL),
            call("monitorHealth", protocol=HA_PROTOCOL),
            # For a client that does not exist: it changes nothing. In safe mode the refusal has the reason.
            call("renewLease", {1: "hopshive"}),
        ]
        replica = judged(place, *connection.answers(calls))
        if replica.state != "active":
            return replica, None
        calls = [
            call("getFsStats"),
            call("getServerDefaults"),
            call("getDatanodeReport", {1: LIVE}),
            call("getDatanodeReport", {1: DEAD}),
        ]
        return replica, _space(connection.answers(calls))
    except (ConnectionLostError, NotHadoopError) as error:
        return Replica(place, why=str(error)), None
    except (RemoteError, WireError) as error:
        return Replica(place, why=f"does not answer: {error}"), None
    finally:
        if connection:
            connection.close()


def judged(place: str, status: Answer, health: Answer, lease: Answer) -> Replica:
    """What the answers to getServiceStatus, monitorHealth and renewLease say of a NameNode."""
    safe_mode = ""
    if not isinstance(status, RemoteError):
        state = STATES.get(status.number(1), "initializing")
        if state == "standby":
            # The only reason that it gives.
            safe_mode = status.text(3).removeprefix(HA_PREFIX).strip()
    elif "HA for namenode is not enabled" in str(status):
        state = "active"
    else:
        return Replica(place, why=f"does not answer now: {status}")
    if isinstance(lease, RemoteError) and IN_SAFE_MODE in str(lease):
        safe_mode = lease.second.partition(" NamenodeHostName:")[0]
    # A NameNode without HA checks its disks, but does not report when they have space again.
    low = isinstance(health, RemoteError) and LOW_HEALTH in str(health)
    full = low or (isinstance(status, RemoteError) and safe_mode.startswith(LOW_TIP))
    return Replica(place, state, "", safe_mode, full)


def _space(answers: Sequence[Answer]) -> Space | None:
    """The space, from the answers of the active NameNode; None if it is no longer active."""
    if any(isinstance(answer, RemoteError) for answer in answers):
        return None
    stats, defaults, live, dead = (answer for answer in answers if isinstance(answer, Message))
    heard = [info for info in live.messages(1) if info.number(10) == IN_SERVICE]
    silent = _silent([info.number(6) / 1000 for info in heard], time.time())
    return Space(
        capacity=stats.number(1),
        remaining=stats.number(3),
        block_size=defaults.message(1).number(1),
        live=tuple(_datanode(info) for info, one in zip(heard, silent, strict=True) if not one),
        dead=tuple(_datanode(info).name for info in dead.messages(1) if info.number(10) == IN_SERVICE),
        silent=tuple(_datanode(info).name for info, one in zip(heard, silent, strict=True) if one),
    )


def _silent(heard: Sequence[float], now: float) -> list[bool]:
    """Whether each DataNode is silent, from the time of its last heartbeat in seconds of the NameNode's clock; 0 is none yet.

    The NameNode's clock is taken from the newest heartbeat, or from this host's clock, which may be a minute ahead.
    """
    if not heard:
        return []
    latest = max(*heard, now - SILENT_SECONDS)
    return [one > 0 and latest - one > SILENT_SECONDS for one in heard]


def _datanode(info: Message) -> DataNode:
    identity = info.message(1)
    return DataNode(shown((identity.text(2), identity.number(4))), info.number(2), info.number(4))


def _listed(names: Sequence[str], what: str) -> str:
    """`the DataNode a:1`, `3 DataNodes (a:1, b:1, c:1)`."""
    if len(names) == 1:
        return f"the {what} {names[0]}"
    rest = " ..." if len(names) > NAMES_LISTED else ""
    return f"{counted(len(names), what)} ({', '.join(sorted(names)[:NAMES_LISTED])}{rest})"
