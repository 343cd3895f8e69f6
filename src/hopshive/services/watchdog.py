"""Kills a service that hangs, so that its clients move to another replica at once.

A killed replica closes its connections, and clients turn to the next one. A replica that hangs (stopped, or waiting for
a dead disk or for memory) keeps its connections. The kernel accepts new clients, and these wait for Hive's ten minutes.

One watchdog runs beside each replica. It sends a probe twice a second that the process can answer without any other
service. After a missed probe, more probes follow in quick succession. If all stay unanswered and the process used no CPU
time meanwhile, the watchdog kills the process, and systemd restarts it. A busy process (a long garbage collection, more
clients than threads) uses CPU time and is not killed.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hopshive.metastore.thrift import SocketStream, ThriftError, call
from hopshive.tls import parse

log = logging.getLogger(__name__)

# Seconds between two probes.
INTERVAL = 0.5
# Seconds from an unanswered probe to the next probe.
INTERVAL_AFTER_MISS = 0.1
# Seconds to wait for an answer. With three more probes a hang ends after 3 s, for clients of a metastore too.
PATIENCE = 0.5

# Asks at a place (hopshive.tls, or the path of a socket); true if an answer came within so many seconds.
Probe = Callable[[str, float], bool]


class Unresolved(Exception):
    """A host name has no address now. That is no evidence of a hang."""


def _connect(place: str, timeout: float) -> socket.socket:
    """Raises Unresolved and OSError."""
    if place.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        connection.connect(place)
        return connection
    at = parse(place)
    try:
        connection = socket.create_connection((at.host, at.port), timeout)
    except socket.gaierror as error:
        raise Unresolved(str(error)) from None
    if not at.tls:
        return connection
    try:
        # The handshake has the same time. A certificate that ended is no hang, so none is verified.
        return _UNVERIFIED.wrap_socket(connection)
    except BaseException:
        connection.close()
        raise


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


_UNVERIFIED = _unverified()


def probe_metastore(place: str, timeout: float) -> bool:
    """Call a Thrift method that does not exist: a worker thread refuses it, and the audit log has no line for it."""
    with suppress(OSError), _connect(place, timeout) as connection:
        try:
            call(SocketStream(connection), "hopshive_probe", {})
        except ThriftError:
            return True
        return True
    return False


def probe_web(place: str, timeout: float) -> bool:
    """Ask a daemon's HTTP port for a page that does not exist.

    HiveServer2 logs each unfinished handshake at its Thrift port, so the probe uses the HTTP port.
    """
    with suppress(OSError), _connect(place, timeout) as connection:
        connection.sendall(b"HEAD /hopshive-probe HTTP/1.0\r\n\r\n")
        return len(connection.recv(1)) == 1
    return False


def probe_mysql(place: str, timeout: float) -> bool:
    """Wait for the greeting that MySQL and MariaDB send first."""
    with suppress(OSError), _connect(place, timeout) as connection:
        return len(connection.recv(4)) > 0
    return False


PROBES: Mapping[str, Probe] = {
    "metastore": probe_metastore,
    "server2": probe_web,
    "namenode": probe_web,
    "ndb_sql": probe_mysql,
}


class Process(Protocol):
    """The main process of a service."""

    def pid(self) -> int:
        """The process id, 0 if the service does not run."""

    def ticks(self, pid: int) -> int:
        """The CPU time that a process has used, in clock ticks; negative if there is no such process (0 is none)."""

    def kill(self, pid: int) -> None:
        """Kill a process."""


@dataclass(frozen=True)
class Unit:
    """The main process of a systemd unit, found in /proc alone: systemd's bus is not available everywhere."""

    name: str
    proc: Path = Path("/proc")

    def pid(self) -> int:
        """The process of the unit's control group that has init as its parent; 0 without one."""
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
        """Send SIGKILL, which ends a stopped process too."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _stat(self, pid: int) -> list[str]:
        """The fields of /proc/PID/stat, beginning with the state; empty if the process is gone."""
        with suppress(OSError):
            text = (self.proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
            return text.rpartition(")")[2].split()
        return []


class Watchdog:
    """Watches one service. `misses`: how many probes in a row may go unanswered, without CPU time; the next one kills."""

    def __init__(self, service: str, place: str, probe: Probe, process: Process, misses: int) -> None:
        self._service = service
        self._place = place
        self._probe = probe
        self._process = process
        self._misses = misses
        self._pid = 0
        self._missed = 0
        self._ticks = 0
        self.killed = 0

    def look(self) -> None:
        """Probe once, and kill the process if it hangs. A process that has never answered is starting and stays alive."""
        try:
            answered = self._probe(self._place, PATIENCE)
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
        # The process used CPU time, so it is working: start counting again.
        self._missed = self._missed + 1 if self._missed and ticks == self._ticks else 1
        self._ticks = ticks
        # The first miss only notes the CPU time used so far.
        if self._missed > self._misses:
            log.error(
                "%s (process %d) hangs: it left %d probes at %s unanswered and used no CPU time. Killing it.",
                self._service,
                self._pid,
                self._missed,
                self._place,
            )
            self._process.kill(self._pid)
            self.killed += 1
            self._missed = 0

    def run(self, stop: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> None:
        """Probe until `stop()` is true."""
        while not stop():
            self.look()
            sleep(INTERVAL_AFTER_MISS if self._missed else INTERVAL)
