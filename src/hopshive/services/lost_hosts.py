"""Fails the application masters of a host that is gone, so that their clients do not wait for them.

A lost host closes no connection. YARN waits for its application masters until they have been silent for
`yarn.am.liveness-monitor.expiry-interval-ms`. That time cannot be short: an application master also has it from its launch
until it registers, and Spark in cluster mode registers only after the job has created its session. Meanwhile all queries
wait whose Tez session had its application master there.

One such daemon runs beside each ResourceManager. It connects once a second to the NodeManagers beside which application
masters run. A NodeManager that answered before, and then leaves several attempts in a row without even a refusal, is
gone. Its application masters are failed, as `yarn applicationattempt -fail` does it. YARN starts those of Spark on another
host. Tez has one attempt (tez.dag.recovery.enabled is false): the statement that ran there ends with an error, and
HiveServer2 opens another session. Only the daemon beside the active ResourceManager acts, which a majority of ZooKeeper can
reach. The others watch too, so that they know which hosts are silent when theirs becomes active.

An application may name its client by a tag `client=host:port`. If that host is gone as well, the application is ended: no
client would use its next application master, which would take memory and CPU from the remaining HiveServer2.
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

from hopshive.services.health import NoAnswer
from hopshive.services.resourcemanager import Master, ResourceManager

log = logging.getLogger(__name__)

# Seconds between two rounds of attempts to connect.
INTERVAL = 1.0
# Seconds between two lists of application masters from the same ResourceManager.
LIST_INTERVAL = 3.0
# Seconds that an attempt to connect may take.
CONNECT_TIMEOUT = 1.0
# A host is gone after so many seconds of silence and so many attempts. A refusal is an answer.
SILENT = 6.0
ATTEMPTS = 4
# Seconds before the same attempt is failed again.
REPEAT_AFTER = 10.0
# What happens next. The ResourceManager's list does not say which applications may have another attempt.
ELSEWHERE = (
    "For Spark, YARN starts another one on another host."
    " For Tez it starts none: Hive's statement there ends with an error."
)
# Errors that mean: no host at that address. ENETUNREACH says nothing about the other host.
NO_HOST = frozenset({errno.EHOSTUNREACH, errno.EHOSTDOWN})


def answers(node: str) -> bool | None:
    """Whether there is a host at `host:port`: a connection or a refusal proves it; None if unknown."""
    host, _, port = node.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT).close()
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    except OSError as error:
        return False if error.errno in NO_HOST else None
    return True


@dataclass
class _Node:
    """What is known about a NodeManager, or about a client.

    `since`: start of the first attempt without an answer. `missed`: number of attempts without an answer in a row.
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
        """For how many seconds it is gone; 0 if it is not. A host that never answered may be behind a firewall: 0."""
        silent = now - self.since
        return silent if self.answered and self.missed >= ATTEMPTS and silent >= SILENT else 0.0


@dataclass
class LostHosts:
    """Watches application masters for the ResourceManager `own`. `others` are asked while `own` is not active."""

    own: ResourceManager
    others: Sequence[ResourceManager] = ()
    answers: Callable[[str], bool | None] = answers
    clock: Callable[[], float] = time.monotonic
    masters: list[Master] = field(default_factory=list)
    _active: bool = False
    # When to read the list of masters again, and the list that another ResourceManager is being asked for.
    _due: float = 0.0
    _asked: Future[list[Master]] | None = None
    _nodes: dict[str, _Node] = field(default_factory=dict)
    # For each attempt that was failed or ended, the time before which that is not repeated.
    _failed: dict[str, float] = field(default_factory=dict)

    def look(self, pool: ThreadPoolExecutor) -> None:
        """Find the active ResourceManager, connect to each NodeManager and client once, and fail lost masters."""
        self._learn(pool)
        nodes = sorted({place for master in self.masters for place in (master.node, master.client) if place})
        self._nodes = {node: self._nodes.get(node, _Node()) for node in nodes}
        began = self.clock()
        for node, answer in zip(nodes, pool.map(self.answers, nodes), strict=True):
            self._nodes[node].note(answer, began)
        if self._active:
            for master in self.masters:
                if silent := self._gone(master.node):
                    self._fail(master, silent, bool(self._gone(master.client)))

    def run(self, stop: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> None:
        """Call `look` again and again until `stop()` is true."""
        with ThreadPoolExecutor(32) as pool:
            while not stop():
                self.look(pool)
                sleep(INTERVAL)

    def _gone(self, place: str) -> float:
        return self._nodes[place].gone(self.clock()) if place else 0.0

    def _learn(self, pool: ThreadPoolExecutor) -> None:
        """Read whether `own` is active, and the application masters; without an answer the last ones stay."""
        was, self._active = self._active, False
        with suppress(NoAnswer):
            self._active = self.own.is_active()
        if not self._active and self._asked and self._asked.done():
            with suppress(NoAnswer):
                self.masters = self._asked.result()
            self._asked = None
        if self._active == was and self.clock() < self._due:
            return
        self._due = self.clock() + LIST_INTERVAL
        if self._active:
            self._asked = None
            with suppress(NoAnswer):
                self.masters = self.own.masters()
        elif not self._asked:
            self._asked = pool.submit(self._ask_others)

    def _ask_others(self) -> list[Master]:
        """The application masters, from another ResourceManager that is active. Raises NoAnswer."""
        for one in self.others:
            with suppress(NoAnswer):
                return one.masters()
        raise NoAnswer("no ResourceManager is active")

    def _fail(self, master: Master, silent: float, client_gone: bool) -> None:
        """Fail an application master; with `client_gone`, end the whole application."""
        begin = f"{master.node} was silent for {silent:.0f} s: the application master of {master.application} beside it"
        try:
            attempt = self.own.attempt(master)
            if not attempt or self.clock() < self._failed.get(attempt, 0.0):
                return
            self._failed = {one: until for one, until in self._failed.items() if until > self.clock()}
            self._failed[attempt] = self.clock() + REPEAT_AFTER
            if client_gone:
                self.own.end(master.application, f"Its client {master.client} and the node {master.node} are gone.")
            else:
                self.own.fail(attempt)
        except NoAnswer as error:
            log.warning("%s could not be failed: %s", begin, error)
        else:
            log.error(
                "%s (%s) was failed. %s",
                begin,
                attempt,
                f"Its application was ended, since its client {master.client} is gone as well."
                if client_gone
                else ELSEWHERE,
            )
