"""Ends a service that hangs, so that its clients go to another replica at once.

A replica that is killed closes its connections, and clients turn to the next one. One that hangs (stopped, waiting for a dead
disk or for memory) keeps them: new clients are accepted by the kernel and wait, for Hive's ten minutes. This daemon, one beside
each replica, knocks twice a second: it asks something that the process can answer by itself, whatever else is down. If it and
several more in quick succession are not answered and the process used no processor time meanwhile, it is killed; systemd starts
it anew. A process that is
busy (a long collection of garbage, more clients than threads) uses the processor and is left alone.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hopshive.metastore.thrift import SocketStream, ThriftError, call

log = logging.getLogger(__name__)

# Between two knocks, and after one that was not answered, in seconds.
INTERVAL = 0.5
AGAIN = 0.1
# How long an answer may take, in seconds. With three more knocks a hang ends after 3 s: clients of a metastore have it that fast.
PATIENCE = 0.5

# Knocks at an address (`host:port`, or the path of a socket): whether an answer came within so many seconds.
Knock = Callable[[str, float], bool]


class Unresolved(Exception):
    """A host's name has no address now, which says nothing of the service."""


def _connect(place: str, timeout: float) -> socket.socket:
    """Raises Unresolved and OSError."""
    if place.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        connection.connect(place)
        return connection
    host, _, port = place.rpartition(":")
    try:
        return socket.create_connection((host, int(port)), timeout)
    except socket.gaierror as error:
        raise Unresolved(str(error)) from None


def knock_metastore(place: str, timeout: float) -> bool:
    """A Thrift call of no method: a worker thread refuses it, and the audit log is not told of it twice a second."""
    with suppress(OSError), _connect(place, timeout) as connection:
        try:
            call(SocketStream(connection), "hopshive_knock", {})
        except ThriftError:
            return True
        return True
    return False


def knock_web(place: str, timeout: float) -> bool:
    """A page that is not there, of a daemon's web pages: at HiveServer2's Thrift port a handshake without an end is logged."""
    with suppress(OSError), _connect(place, timeout) as connection:
        connection.sendall(b"HEAD /hopshive-knock HTTP/1.0\r\n\r\n")
        return len(connection.recv(1)) == 1
    return False


def knock_mysql(place: str, timeout: float) -> bool:
    """The greeting with which MySQL and MariaDB begin."""
    with suppress(OSError), _connect(place, timeout) as connection:
        return len(connection.recv(4)) > 0
    return False


KNOCKS: Mapping[str, Knock] = {
    "metastore": knock_metastore,
    "server2": knock_web,
    "namenode": knock_web,
    "ndb_sql": knock_mysql,
}


class Process(Protocol):
    """The main process of a service."""

    def pid(self) -> int:
        """Its number, 0 if the service does not run."""

    def ticks(self, pid: int) -> int:
        """The processor time that it has used, in clock ticks; negative if there is no such process (0 is none)."""

    def kill(self, pid: int) -> None:
        """End it at once."""


@dataclass(frozen=True)
class Unit:
    """The main process of a systemd unit. Found by /proc alone, whoever asks: the manager's bus is not everywhere."""

    name: str
    proc: Path = Path("/proc")

    def pid(self) -> int:
        """The process of the unit's control group whose parent is init."""
        ending = f"/{self.name}.service"
        for directory in self.proc.iterdir():
            if directory.name.isdigit():
                with suppress(OSError):
                    groups = (directory / "cgroup").read_text(encoding="utf-8").splitlines()
                    if any(group.endswith(ending) for group in groups) and self._stat(int(directory.name))[1:2] == [
                        "1"
                    ]:
                        return int(directory.name)
        return 0

    def ticks(self, pid: int) -> int:
        """User and system time, from /proc/PID/stat."""
        fields = self._stat(pid)
        return int(fields[11]) + int(fields[12]) if fields else -1

    def kill(self, pid: int) -> None:
        """SIGKILL, which ends a stopped process too."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _stat(self, pid: int) -> list[str]:
        """The fields of /proc/PID/stat from the state on; none if the process is gone."""
        with suppress(OSError):
            text = (self.proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
            return text.rpartition(")")[2].split()
        return []


class Watchdog:
    """Watches one service. `misses` knocks in a row without an answer and without processor time are one hang too many."""

    def __init__(self, service: str, place: str, knock: Knock, process: Process, misses: int) -> None:
        self._service = service
        self._place = place
        self._knock = knock
        self._process = process
        self._misses = misses
        self._pid = 0
        self._missed = 0
        self._ticks = 0
        self.killed = 0

    def look(self) -> None:
        """Knock once, and draw the conclusion. A process that has never answered is starting: nobody waits for it."""
        try:
            answered = self._knock(self._place, PATIENCE)
        except Unresolved:
            self._missed = 0
            return
        if answered:
            if self._process.ticks(self._pid) < 0:
                self._pid = self._process.pid()
            self._missed = 0
            return
        ticks = self._process.ticks(self._pid)
        if ticks < 0:
            self._missed = 0
            return
        # Who used the processor is at work: the count begins anew.
        self._missed = self._missed + 1 if self._missed and ticks == self._ticks else 1
        self._ticks = ticks
        # The first miss only notes the time that was used until then.
        if self._missed > self._misses:
            log.error(
                "%s (process %d) hangs: %d knocks at %s were not answered, and it used no processor time. It is killed.",
                self._service,
                self._pid,
                self._missed,
                self._place,
            )
            self._process.kill(self._pid)
            self.killed += 1
            self._missed = 0

    def run(self, stop: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> None:
        """Look until `stop` says so."""
        while not stop():
            self.look()
            sleep(AGAIN if self._missed else INTERVAL)
