"""Restart a HiveServer2 without cutting off its statements, as far as they end in time.

1. It leaves the discovery, if there are other replicas: new sessions go to those.
2. Its statements are waited for, up to a limit. The web UI lists them. Sessions are not waited for: clients keep idle ones for
   days, and open another after a restart.
3. Told to stop, it accepts nothing new and gives its statements another GRACE.
4. Statements that still run then are cut off. HiveServer2 cancels them and rolls back, unless it hangs and systemd kills it.
   So when the process is gone, what it has left open is aborted: locks would last until hive.txn.timeout otherwise.
"""

from __future__ import annotations

import functools
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopshive.services.health import NoAnswer, fetch_json
from hopshive.services.locks import Process, abort, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from hopshive.services.rolling import Run

# Between two looks, in seconds.
PAUSE = 2.0
# A statement that has finished counts as long as a client fetched rows of its session within that many seconds.
FETCHING = 30
# For one answer of the web UI, in seconds.
ANSWER_TIMEOUT = 10.0
SHOWN = 80
# Looks in a row without an answer after which the wait ends: a pause for garbage is no hang.
MISSES = 3
# The web UI lists a statement in these states as running until its client closes it.
ENDED = frozenset({"ERROR", "CANCELED", "TIMEDOUT"})
# Whom its transactions name as their user: the one that the role runs it as.
USER = "hive"
# A state of sockets in /proc/net/tcp.
LISTEN = "0A"
# How long one that was told to stop waits for its statements: hive.server2.graceful.stop.timeout less the 30 s that Hive
# (HiveServer2.graceful_stop) keeps for itself. In seconds.
GRACE = 10.0
# While it stops: between two looks, for one answer, and the longest until it listens no more; in seconds.
STOP_PAUSE = 0.25
STOP_TIMEOUT = 1.0
STOP_LIMIT = 90.0


@dataclass(frozen=True)
class Statement:
    """A statement that runs: the query's id, its user, and the head of its text."""

    query: str
    user: str
    text: str

    def __str__(self) -> str:
        """One line of the run's output."""
        return f"{self.query} of {self.user}: {self.text}"


@dataclass(frozen=True)
class Discovery:
    """Where a HiveServer2 is registered: ZooKeeper's command line, the znode of all of them, and its own address."""

    command: Sequence[str]
    namespace: str
    host: str


@dataclass
class Server2:
    """The `rolling.Drain` of a HiveServer2 on this host, which is known as `host`; `port` is that of Thrift.

    `limit` bounds the wait for its statements, in seconds. Afterwards `cut_off` lists what was cut off, and `told` has a sentence
    for the operator about each, and about what failed.
    """

    host: str
    web_port: int
    port: int
    limit: float
    run: Run
    discovery: Discovery | None = None
    metastores: Sequence[str] = ()
    cut_off: list[Statement] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    # Those that still ran when the wait was over; what was cut off besides began later.
    late: list[Statement] = field(default_factory=list)
    # Its transactions when it ended.
    opened: set[int] = field(default_factory=set)

    def leave(self) -> bool:
        """Take it out of the discovery; where that fails it is drained all the same."""
        if not self.discovery:
            return False
        try:
            leave(self.discovery, self.run)
        except NoAnswer as error:
            self.told.append(
                f"HiveServer2 on {self.host} was not taken out of the discovery before its restart, and got new sessions until"
                f" it stopped. {error}"
            )
            return False
        return True

    def wait(self) -> None:
        """Until it runs nothing, or for as long as it may; one that does not answer cannot be asked."""
        with suppress(NoAnswer):
            self.cut_off = self.late = drain(lambda: running(self._base, ANSWER_TIMEOUT), self.limit)

    def stopping(self) -> None:
        """Watch it stop: what does it cut off?"""
        look = functools.partial(running, self._base, STOP_TIMEOUT)
        self.cut_off = stopping(look, lambda: listens(self.port), self.cut_off)
        if self.cut_off:
            self.opened = opened(self._process, self.metastores)

    def stopped(self) -> None:
        """Abort what it has left open, and tell what it has cut off."""
        self.told += settle(self.cut_off, self._process, self.metastores, self.opened, self.late)

    @property
    def _process(self) -> Process:
        return Process(USER, socket.gethostname())

    @property
    def _base(self) -> str:
        return f"http://{self.host}:{self.web_port}"


def registered(discovery: Discovery, run: Run) -> list[str]:
    """The znodes of a HiveServer2 in the discovery. Raises NoAnswer."""
    listed = _zookeeper(discovery, run, "ls", "")
    return re.findall(rf"serverUri={re.escape(discovery.host)}:[^,\]\s]+", listed)


def leave(discovery: Discovery, run: Run) -> list[str]:
    """Remove a HiveServer2 from the discovery; its znodes. It sees that, and ends with its last session. Raises NoAnswer."""
    found = registered(discovery, run)
    for name in found:
        _zookeeper(discovery, run, "delete", f"/{name}")
    return found


def _zookeeper(discovery: Discovery, run: Run, verb: str, path: str) -> str:
    code, output, error = run([*discovery.command, verb, f"/{discovery.namespace}{path}"])
    if code:
        lines = (error.strip() or output.strip() or f"exit code {code}").splitlines()
        raise NoAnswer(f"ZooKeeper could not {verb} /{discovery.namespace}{path}: {lines[-1]}")
    return output


def running(base: str, timeout: float) -> list[Statement]:
    """The statements that a HiveServer2 runs, or whose rows are fetched; `base` is its web UI. Raises NoAnswer."""
    active = fetch_json(f"{base}/api/v1/queries/active", timeout)
    sessions = fetch_json(f"{base}/api/v1/sessions", timeout)
    return statements(active, sessions)


def statements(active: list[dict[str, Any]], sessions: list[dict[str, Any]]) -> list[Statement]:
    """Those of both answers of the web UI that a restart would cut off."""
    fetched = {session["sessionId"] for session in sessions if int(session["idleTime"]) < FETCHING}
    found = []
    for item in active:
        fetching = item["state"] != "FINISHED" or item["sessionId"] in fetched
        if not item["running"] or item["state"] in ENDED or not fetching:
            continue
        display = item.get("queryDisplay") or {}
        text = " ".join(str(display.get("queryString") or "").split())
        found.append(Statement(str(display.get("queryId") or item["operationId"]), str(item["userName"]), text[:SHOWN]))
    return found


def drain(
    look: Callable[[], list[Statement]],
    limit: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Statement]:
    """Wait up to `limit` seconds until `look` finds no statement; what it found last.

    Raises NoAnswer after MISSES looks in a row that got none, and what else `look` raises.
    """
    end = now() + limit
    left: list[Statement] = []
    misses = 0
    while True:
        try:
            left, misses = look(), 0
            if not left:
                return left
        except NoAnswer:
            misses += 1
            if misses == MISSES:
                raise
        if now() >= end:
            return left
        sleep(PAUSE)


def stopping(
    look: Callable[[], list[Statement]],
    listening: Callable[[], bool],
    left: list[Statement],
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Statement]:
    """Watch one that was told to stop until it listens no more; what it cuts off then: `left`, if it tells nothing any more.

    One that stops before GRACE is over had nothing left to run, whatever the last look has found.
    """
    begun = now()
    while listening() and now() - begun < STOP_LIMIT:
        with suppress(NoAnswer):
            left = look()
        sleep(STOP_PAUSE)
    return left if now() - begun >= GRACE else []


def settle(
    cut_off: Collection[Statement],
    process: Process,
    metastores: Iterable[str],
    before: Collection[int],
    late: Collection[Statement],
) -> list[str]:
    """Abort the transactions of statements whose HiveServer2 is gone; a sentence about each statement.

    `late`: those of them that were waited for, and in vain.
    """
    if not cut_off:
        return []
    waited = {statement.query for statement in late}
    said = {statement: _cut(statement, statement.query in waited) for statement in cut_off}
    try:
        transactions = abort({statement.query for statement in cut_off}, process, metastores, before)
    except NoAnswer as error:
        return [f"{text} Its transaction stays open until hive.txn.timeout. {error}" for text in said.values()]
    return [f"{text} {_aborted(transactions.get(statement.query, []))}" for statement, text in said.items()]


def listens(port: int) -> bool:
    """Whether a process of this host listens at a port; it does not notice, as it would a connection."""
    # Without IPv6 in the kernel there is one table.
    tables = [table for name in ("tcp", "tcp6") if (table := Path("/proc/net", name)).exists()]
    lines = [line for table in tables for line in table.read_text().splitlines()[1:]]
    places = (line.split()[1] for line in lines if line.split()[3] == LISTEN)
    return any(int(place.rpartition(":")[2], 16) == port for place in places)


def _cut(statement: Statement, waited: bool) -> str:
    why = "ran for longer than server2_drain_timeout" if waited else "began after the wait for others"
    return f"The restart cut off a statement that {why}: {statement}."


def _aborted(transactions: Sequence[int]) -> str:
    if not transactions:
        return "It has left no open transaction."
    numbers = ", ".join(map(str, transactions))
    return (
        f"Its transaction {numbers} was aborted." if len(transactions) == 1 else f"Transactions {numbers} were aborted."
    )
