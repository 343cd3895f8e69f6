"""Restart a HiveServer2 without cutting off its statements, as far as they end in time.

1. If there are other replicas, HiveServer2 leaves the discovery: new sessions go to the others.
2. The restart waits for statements, which the web UI lists, up to a limit. It does not wait for sessions: clients keep idle
   sessions for days, and open another one after a restart.
3. On SIGTERM, HiveServer2 accepts nothing new and gives its statements another GRACE.
4. Statements that still run then are cut off. HiveServer2 cancels them and rolls back, unless it hangs and systemd kills
   it. So transactions that the ended process left open are aborted: their locks would last until hive.txn.timeout.
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

# Seconds between two questions about statements.
PAUSE = 2.0
# A finished statement counts as running if its session was used within so many seconds: a client fetches rows.
FETCHING = 30
# Seconds to wait for one answer of the web UI.
ANSWER_TIMEOUT = 10.0
# Characters of a statement's text in a message.
SHOWN = 80
# Unanswered questions in a row that end the wait. A pause for garbage collection is shorter.
MISSES = 3
# The web UI lists a statement in these states as running until its client closes it.
ENDED = frozenset({"ERROR", "CANCELED", "TIMEDOUT"})
# The user of HiveServer2's process, as the role sets it. Without impersonation its transactions have that user.
USER = "hive"
# A state of sockets in /proc/net/tcp.
LISTEN = "0A"
# Seconds that a stopping HiveServer2 gives its statements: hive.server2.graceful.stop.timeout less the 30 s that Hive
# (HiveServer2.graceful_stop) keeps for itself.
GRACE = 10.0
# While it stops: seconds between two questions, for one answer, and until it no longer listens.
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
    """Where a HiveServer2 is registered: ZooKeeper's command line, the znode of all replicas, its own address."""

    command: Sequence[str]
    namespace: str
    host: str


@dataclass
class Server2:
    """The `rolling.Drain` of a HiveServer2 on this host, whose name is `host`. `port`: its Thrift port.

    `limit`: the most seconds to wait for statements. Afterwards `cut_off` has the statements that were cut off, and
    `messages` a sentence for the operator about each of them and about each failure.
    """

    host: str
    web_port: int
    port: int
    limit: float
    run: Run
    discovery: Discovery | None = None
    metastores: Sequence[str] = ()
    # A file of certificates, if the web UI has TLS.
    authority: str = ""
    # Where the web UI answers; empty: at `host`.
    web_host: str = ""
    impersonates: bool = False
    cut_off: list[Statement] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    # Statements that still ran at the end of the wait. Other statements of `cut_off` began later.
    late: list[Statement] = field(default_factory=list)
    # Open transactions of HiveServer2 when it ended.
    opened: set[int] = field(default_factory=set)

    def leave(self) -> bool:
        """Remove this replica from the discovery. A failure is noted, and the drain continues."""
        if not self.discovery:
            return False
        try:
            leave(self.discovery, self.run)
        except NoAnswer as error:
            self.messages.append(
                f"HiveServer2 on {self.host} could not be removed from the discovery before its restart, so it got new sessions"
                f" until it stopped. {error}"
            )
            return False
        return True

    def wait(self) -> None:
        """Wait until no statement runs, up to `limit`; without an answer, do not wait."""
        with suppress(NoAnswer):
            self.cut_off = self.late = drain(lambda: running(self._base, ANSWER_TIMEOUT, self.authority), self.limit)

    def stopping(self) -> None:
        """Watch HiveServer2 stop, and note the statements that it cuts off."""
        look = functools.partial(running, self._base, STOP_TIMEOUT, self.authority)
        self.cut_off = stopping(look, lambda: listens(self.port), self.cut_off)
        if self.cut_off:
            self.opened = opened(self._process, self.metastores)

    def stopped(self) -> None:
        """Abort transactions that HiveServer2 left open, and note a sentence for each statement that was cut off."""
        self.messages += abort_cut_off(self.cut_off, self._process, self.metastores, self.opened, self.late)

    @property
    def _process(self) -> Process:
        return Process("" if self.impersonates else USER, socket.gethostname())

    @property
    def _base(self) -> str:
        return f"{'https' if self.authority else 'http'}://{self.web_host or self.host}:{self.web_port}"


def registered(discovery: Discovery, run: Run) -> list[str]:
    """The names of a HiveServer2's znodes in the discovery. Raises NoAnswer."""
    listed = _zookeeper(discovery, run, "ls", "")
    return re.findall(rf"serverUri={re.escape(discovery.host)}:[^,\]\s]+", listed)


def leave(discovery: Discovery, run: Run) -> list[str]:
    """Remove a HiveServer2 from the discovery; returns its znodes. HiveServer2 then ends with its last session. NoAnswer."""
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


def running(base: str, timeout: float, authority: str = "") -> list[Statement]:
    """Statements that HiveServer2 runs, or whose rows a client fetches. `base`: URL of the web UI. Raises NoAnswer."""
    active = fetch_json(f"{base}/api/v1/queries/active", timeout, authority)
    sessions = fetch_json(f"{base}/api/v1/sessions", timeout, authority)
    return statements(active, sessions)


def statements(active: list[dict[str, Any]], sessions: list[dict[str, Any]]) -> list[Statement]:
    """Statements that a restart would cut off, from the web UI's lists of queries and sessions."""
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
    """Wait up to `limit` seconds until `look` finds no statement; returns what it found last.

    Raises NoAnswer after MISSES calls of `look` in a row that raised it, and other errors of `look` at once.
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
    """Watch a stopping HiveServer2 until it no longer listens; returns the statements that it cuts off.

    Without an answer these are `left`. A HiveServer2 that stops before GRACE is over ran no statement, even if the last
    answer had some.
    """
    begun = now()
    while listening() and now() - begun < STOP_LIMIT:
        with suppress(NoAnswer):
            left = look()
        sleep(STOP_PAUSE)
    return left if now() - begun >= GRACE else []


def abort_cut_off(
    cut_off: Collection[Statement],
    process: Process,
    metastores: Iterable[str],
    before: Collection[int],
    late: Collection[Statement],
) -> list[str]:
    """Abort the transactions of statements that were cut off; returns a sentence about each statement.

    `late`: those of the statements that the drain waited for.
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
    """Whether a process of this host listens at a port. The process does not notice, other than with a connection."""
    # A kernel without IPv6 has no table tcp6.
    tables = [table for name in ("tcp", "tcp6") if (table := Path("/proc/net", name)).exists()]
    lines = [line for table in tables for line in table.read_text().splitlines()[1:]]
    places = (line.split()[1] for line in lines if line.split()[3] == LISTEN)
    return any(int(place.rpartition(":")[2], 16) == port for place in places)


def _cut(statement: Statement, waited: bool) -> str:
    why = "ran for longer than server2_drain_timeout" if waited else "began after the wait for other statements"
    return f"The restart cut off a statement that {why}: {statement}."


def _aborted(transactions: Sequence[int]) -> str:
    if not transactions:
        return "It left no open transaction."
    numbers = ", ".join(map(str, transactions))
    return (
        f"Its transaction {numbers} was aborted." if len(transactions) == 1 else f"Transactions {numbers} were aborted."
    )
