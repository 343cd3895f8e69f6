"""Gives up the application masters of a host that is gone, so that nobody waits for them.

A host that is gone ends no connection, and YARN waits for its application masters until they have been silent for
`yarn.am.liveness-monitor.expiry-interval-ms`. That cannot be short: it is also the time that an application master has from its
launch until it registers, which Spark's does in cluster mode when the job has made its session. Meanwhile all queries of a
HiveServer2 wait whose session's application master it was.

This daemon, one beside each ResourceManager, connects once a second to the NodeManagers beside which application masters run. One
that answered before and then lets several attempts in a row go unanswered, not even by refusing them, is gone: the application
masters beside it are failed as `yarn applicationattempt -fail` does it. YARN starts those of Spark elsewhere. Tez has one
attempt (tez.dag.recovery.enabled is false): the statement that ran there ends with an error, and HiveServer2 opens another
session. Only the one beside the active ResourceManager, which ZooKeeper's majority can reach, acts; the others know by then
who is silent.

An application that says whose it is, by a tag `client=host:port`, is ended if that host is gone as well: nobody would ask
its next application master for anything, and it would take room and processors from that of the HiveServer2 that is left.
"""

from __future__ import annotations

import errno
import logging
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hopshive.config import is_address
from hopshive.hdfs.namenode.rpc import Call, ConnectionLostError, NotHadoopError, RemoteError, answer_of
from hopshive.hdfs.namenode.wire import encode
from hopshive.services.health import NoAnswer, Target, ask_resourcemanager, fetch_json

log = logging.getLogger(__name__)

# Between two looks, in seconds; how long one attempt to connect may take, and an answer of a ResourceManager.
INTERVAL = 1.0
# Between two lists of application masters from the same ResourceManager, in seconds.
LISTED = 3.0
CONNECTS = 1.0
ANSWERS = 3.0
# A host is gone that was silent for so many seconds, and at so many attempts. A refused attempt is an answer.
SILENT = 6.0
ATTEMPTS = 4
# Before an order that was refused is given again, in seconds.
AGAIN = 10.0
PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
# What an application's tag begins with that tells its client's host:port.
CLIENT = "client="
# What becomes of an application that lost its master; the ResourceManager's list does not tell which may have another.
ELSEWHERE = (
    "YARN starts another elsewhere for Spark, and none for Tez: a statement of Hive that ran there ends with an error."
)
# Nobody at that address; that there is no way from here (ENETUNREACH) says nothing of the other host.
NOBODY = frozenset({errno.EHOSTUNREACH, errno.EHOSTDOWN})


@dataclass(frozen=True)
class Master:
    """An application master: its application's id, the NodeManager beside which it runs, and for whom, each `host:port`.

    `client` is empty where the application does not tell it.
    """

    application: str
    node: str
    client: str = ""


class ResourceManager:
    """One ResourceManager: `web` and `rpc` are `host:port` of its web pages and of its clients' protocol.

    Methods raise NoAnswer.
    """

    def __init__(self, web: str, rpc: str = "", user: str = "yarn") -> None:
        host, _, port = web.rpartition(":")
        self._target = Target("resourcemanager", host, int(port))
        self._web = f"http://{web}/ws/v1/cluster"
        self._rpc = rpc
        self._user = user

    def is_active(self) -> bool:
        """Whether it is the one that works."""
        return bool(ask_resourcemanager(self._target, ANSWERS)["state"] == "active")

    def masters(self) -> list[Master]:
        """The application masters of all applications that run or wait for theirs. Only the active one answers."""
        found = fetch_json(f"{self._web}/apps?states=ACCEPTED,RUNNING&deSelects=resourceRequests,resourceInfo", ANSWERS)
        # Without any the list is null.
        applications: list[dict[str, Any]] = (found.get("apps") or {}).get("app") or []
        return [
            Master(one["id"], one["masterNodeId"], _client(one.get("applicationTags", "")))
            for one in applications
            if one.get("masterNodeId") and not one.get("unmanagedApplication")
        ]

    def attempt(self, master: Master) -> str:
        """The id of the attempt that an application master is, empty if it is not beside that NodeManager any more."""
        found = fetch_json(f"{self._web}/apps/{master.application}/appattempts", ANSWERS)
        attempts: list[dict[str, Any]] = (found.get("appAttempts") or {}).get("appAttempt") or []
        last = max(attempts, key=lambda one: int(one["id"]), default={})
        return str(last["appAttemptId"]) if last.get("nodeId") == master.node else ""

    def fail(self, attempt: str) -> None:
        """End an attempt (ApplicationClientProtocol.failApplicationAttempt); YARN starts another if one is left."""
        _, timestamp, application, number = attempt.split("_")
        request = encode({1: encode({1: encode({1: int(application), 2: int(timestamp)}), 2: int(number)})})
        self._call("failApplicationAttempt", request)

    def end(self, application: str, why: str) -> None:
        """Let YARN end an application, of which its page then says why (ApplicationClientProtocol.forceKillApplication).

        YARN does it after its answer.
        """
        _, timestamp, number = application.split("_")
        self._call("forceKillApplication", encode({1: encode({1: int(number), 2: int(timestamp)}), 2: why}))

    def _call(self, method: str, request: bytes) -> None:
        host, _, port = self._rpc.rpartition(":")
        try:
            call = Call(0, method, request, PROTOCOL)
            answer = answer_of((host, int(port)), self._user, call, ANSWERS)
        except (ConnectionLostError, NotHadoopError, RemoteError) as error:
            raise NoAnswer(str(error)) from None
        if isinstance(answer, RemoteError):
            raise NoAnswer(f"{answer.name}: {answer}")


def _client(tags: str) -> str:
    """What a list of tags, parted by commas, tells of the client, empty if nothing."""
    told = (tag.strip().removeprefix(CLIENT) for tag in tags.split(",") if tag.strip().startswith(CLIENT))
    return next((client for client in told if is_address(client)), "")


def answers(node: str) -> bool | None:
    """Whether there is a host at `host:port`: a connection or its refusal tells it; None if nothing can be said."""
    host, _, port = node.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECTS).close()
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    except OSError as error:
        return False if error.errno in NOBODY else None
    return True


@dataclass
class _Node:
    """What is known of a NodeManager, or of a client.

    `since` is when the first attempt without an answer began, `missed` how many there were.
    """

    answered: bool = False
    missed: int = 0
    since: float = 0.0

    def note(self, answer: bool | None, began: float) -> None:
        if answer is False:
            self.since = self.since if self.missed else began
            self.missed += 1
        else:
            self.missed = 0
            self.answered = self.answered or answer is True

    def gone(self, now: float) -> float:
        """For how many seconds it is gone, 0 if it is not. One that never answered may be behind a firewall."""
        silent = now - self.since
        return silent if self.answered and self.missed >= ATTEMPTS and silent >= SILENT else 0.0


@dataclass
class LostHosts:
    """Looks after the application masters for the ResourceManager `own`; `others` are asked while it is not the active one."""

    own: ResourceManager
    others: Sequence[ResourceManager] = ()
    answers: Callable[[str], bool | None] = answers
    clock: Callable[[], float] = time.monotonic
    masters: list[Master] = field(default_factory=list)
    _active: bool = False
    # When the list of them is to be had anew, and the one that another ResourceManager was asked for, which may be gone as well.
    _due: float = 0.0
    _asked: Future[list[Master]] | None = None
    _nodes: dict[str, _Node] = field(default_factory=dict)
    # Attempts that were failed, or ended with their application, each with the time before which that is not repeated.
    _failed: dict[str, float] = field(default_factory=dict)

    def look(self, pool: ThreadPoolExecutor) -> None:
        """Ask who is active, connect to each NodeManager and client in question once, and draw the conclusion."""
        self._learn(pool)
        nodes = sorted({place for master in self.masters for place in (master.node, master.client) if place})
        self._nodes = {node: self._nodes.get(node, _Node()) for node in nodes}
        began = self.clock()
        for node, answer in zip(nodes, pool.map(self.answers, nodes), strict=True):
            self._nodes[node].note(answer, began)
        if self._active:
            for master in self.masters:
                if silent := self._gone(master.node):
                    self._give_up(master, silent, bool(self._gone(master.client)))

    def run(self, stop: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> None:
        """Look until `stop` says so."""
        with ThreadPoolExecutor(32) as pool:
            while not stop():
                self.look(pool)
                sleep(INTERVAL)

    def _gone(self, place: str) -> float:
        return self._nodes[place].gone(self.clock()) if place else 0.0

    def _learn(self, pool: ThreadPoolExecutor) -> None:
        """Whether the own ResourceManager is the active one, and the application masters; those of before if nobody tells."""
        was, self._active = self._active, False
        with suppress(NoAnswer):
            self._active = self.own.is_active()
        if not self._active and self._asked and self._asked.done():
            with suppress(NoAnswer):
                self.masters = self._asked.result()
            self._asked = None
        if self._active == was and self.clock() < self._due:
            return
        self._due = self.clock() + LISTED
        if self._active:
            self._asked = None
            with suppress(NoAnswer):
                self.masters = self.own.masters()
        elif not self._asked:
            self._asked = pool.submit(self._ask_others)

    def _ask_others(self) -> list[Master]:
        """Raises NoAnswer."""
        for one in self.others:
            with suppress(NoAnswer):
                return one.masters()
        raise NoAnswer("no ResourceManager is active")

    def _give_up(self, master: Master, silent: float, forsaken: bool) -> None:
        """One whose client is gone as well is `forsaken`."""
        begin = f"{master.node} was silent for {silent:.0f} s: the application master of {master.application} beside it"
        try:
            attempt = self.own.attempt(master)
            if not attempt or self.clock() < self._failed.get(attempt, 0.0):
                return
            self._failed = {one: until for one, until in self._failed.items() if until > self.clock()}
            self._failed[attempt] = self.clock() + AGAIN
            if forsaken:
                self.own.end(master.application, f"Its client {master.client} is gone, and {master.node}.")
            else:
                self.own.fail(attempt)
        except NoAnswer as error:
            log.warning("%s was not given up: %s", begin, error)
        else:
            log.error(
                "%s (%s) is given up. %s",
                begin,
                attempt,
                f"It is not started again, since its client {master.client} is gone as well."
                if forsaken
                else ELSEWHERE,
            )
