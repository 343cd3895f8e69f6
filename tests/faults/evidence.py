"""What a slow call waited for: thread dumps from while it waited, the journals and YARN's logs from after the fault."""

from __future__ import annotations

import subprocess
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.faults.calls import Record
    from tests.warehouse.hosts import Host, Lab

# The part of its bound after which a call without success is looked at, and the seconds until it is looked at again.
SUSPICIOUS = 0.5
AGAIN = 6.0
# Whose JVMs write their threads to their output when they get SIGQUIT. Spark's client is of none: the tests read its output.
USERS = "hdfs,hive,yarn"
# One that has just begun would end of the signal. In seconds.
YOUNG = "5"
CONTAINER_LOGS = "/var/lib/hopshive/nodemanager/logs"
# In which a host answers, if it is there, in seconds.
ANSWERS = 60


class Evidence(threading.Thread):
    """Looks at the calls of a fault while it continues; `save` writes what there is of it to a directory.

    Thread dumps stand in the journals of the services, and in the files `stdout` of containers.
    """

    def __init__(self, lab: Lab, record: Record, bounds: Sequence[tuple[str, float]]) -> None:
        super().__init__(daemon=True, name="evidence")
        self._lab = lab
        self._record = record
        self._bounds = bounds
        self._began = time.monotonic()
        self._began_epoch = time.time()
        self._ended = threading.Event()
        self._notes: list[str] = []

    def run(self) -> None:
        """Ask for thread dumps whenever a client waits for long."""
        asked = 0.0
        while not self._ended.wait(0.5):
            now = time.monotonic()
            waiting = [
                f"{name} for {now - last:.1f} s"
                for name, bound, last in self._last(now)
                if now - last > bound * SUSPICIOUS
            ]
            if waiting and now - asked > AGAIN:
                asked = now
                self._notes.append(f"{_clock(time.time())} no success of {', '.join(waiting)}: thread dumps")
                for host in self._lab.hosts.values():
                    self._dump(host)

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join()

    def save(self, directory: Path) -> None:
        """Write the calls, and of each host the journal since the fault began and the logs of containers that wrote since."""
        directory.mkdir(parents=True, exist_ok=True)
        offset = self._began_epoch - self._began
        calls = [
            f"{_clock(call.begin + offset)} {_clock(call.end + offset)} {call.client} {call.end - call.begin:.1f} s {call.error}"
            for call in self._record.between(self._began - 30, time.monotonic())
        ]
        (directory / "calls.txt").write_text("\n".join([*self._notes, *calls]) + "\n")
        since = int(self._began_epoch) - 30
        for host in self._lab.hosts.values():
            journal = ["journalctl", "--no-pager", "--output=short-iso-precise", f"--since=@{since}"]
            self._keep(host, journal, directory / f"{host.name}.journal")
            logs = f"cd {CONTAINER_LOGS} && find . -type f -newermt @{since} -print0 | tar --create --gzip --null --files-from=-"
            self._keep(
                host,
                ["bash", "-c", f"[ ! -d {CONTAINER_LOGS} ] || {{ {logs}; }}"],
                directory / f"{host.name}-containers.tar.gz",
            )

    def _last(self, now: float) -> list[tuple[str, float, float]]:
        """Of each client its bound, and when its last success was: none is older than the fault."""
        calls = self._record.between(self._began, now)
        return [
            (
                name,
                bound,
                max((call.end for call in calls if call.client == name and not call.error), default=self._began),
            )
            for name, bound in self._bounds
        ]

    def _dump(self, host: Host) -> None:
        try:
            host.run("pkill", "-QUIT", "--uid", USERS, "--older", YOUNG, "--exact", "java", check=False, timeout=10)
        except subprocess.TimeoutExpired as error:
            self._notes.append(f"{host.name}: {error}")

    def _keep(self, host: Host, argv: list[str], file: Path) -> None:
        try:
            with file.open("wb") as out:
                subprocess.run(host.argv(*argv), stdout=out, stderr=subprocess.PIPE, timeout=ANSWERS, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            file.with_suffix(".error").write_text(f"{error}\n{error.stderr!r}\n")


def _clock(epoch: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(epoch)) + f".{int(epoch % 1 * 10)}"
