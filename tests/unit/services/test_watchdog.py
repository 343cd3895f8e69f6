"""A process that hangs is ended, one that works is not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hopshive.services.watchdog import (
    INTERVAL,
    INTERVAL_AFTER_MISS,
    PATIENCE,
    Probe,
    Unit,
    Watchdog,
    probe_metastore,
    probe_mysql,
    probe_web,
)
from tests.support.patience import scaled, until, within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Answers each connection with a word, and works for a second when it is told to by a signal.
SERVER = """
import signal, socket, sys, time
def work(*_):
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        pass
signal.signal(signal.SIGUSR1, work)
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    connection = server.accept()[0]
    connection.sendall(b"I am here")
    connection.close()
"""


class Running:
    """A real process as the main process of a service."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._unit = Unit("")

    def pid(self) -> int:
        return self.process.pid

    def ticks(self, pid: int) -> int:
        return self._unit.ticks(pid)

    def kill(self, pid: int) -> None:
        self._unit.kill(pid)


@pytest.fixture
def server() -> Iterator[tuple[Running, str]]:
    with subprocess.Popen([sys.executable, "-c", SERVER, "6"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield Running(process), f"127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


@pytest.mark.wall_time
def test_a_stopped_process_is_killed(server: tuple[Running, str]) -> None:
    running, place = server
    watchdog = Watchdog("s", place, probe_mysql, running, misses=3)
    watchdog.look()
    os.kill(running.pid(), signal.SIGSTOP)
    with within(3):
        watchdog.run(lambda: watchdog.killed > 0)
        assert running.process.wait() == -signal.SIGKILL


def test_a_process_that_hangs_right_after_an_answer_is_killed_within_three_seconds() -> None:
    """All that the watchdog waits for: answers that do not come, and its own pauses."""

    class Idle:
        def pid(self) -> int:
            return 7

        def ticks(self, pid: int) -> int:
            return 0 if pid else -1

        def kill(self, pid: int) -> None:
            assert pid == 7

    waited: list[float] = []
    answers = [True]

    def probe(_place: str, patience: float) -> bool:
        if answers:
            return answers.pop()
        waited.append(patience)
        return False

    watchdog = Watchdog("s", "here", probe, Idle(), misses=3)
    watchdog.run(lambda: watchdog.killed > 0 or len(waited) > 100, waited.append)
    assert watchdog.killed == 1
    # Without the pause after the end of the process.
    assert sum(waited[:-1]) == pytest.approx(INTERVAL + 4 * PATIENCE + 3 * INTERVAL_AFTER_MISS)
    assert sum(waited[:-1]) <= 3


def test_a_busy_process_that_does_not_answer_is_left_alone(server: tuple[Running, str]) -> None:
    running, place = server
    watchdog = Watchdog("s", place, probe_mysql, running, misses=2)
    watchdog.look()
    os.kill(running.pid(), signal.SIGUSR1)
    for _ in range(4):
        watchdog.look()
    assert not watchdog.killed
    assert running.process.poll() is None


def test_a_process_that_has_never_answered_is_starting(server: tuple[Running, str]) -> None:
    running, place = server
    os.kill(running.pid(), signal.SIGSTOP)
    watchdog = Watchdog("s", place, probe_mysql, running, misses=1)
    for _ in range(4):
        watchdog.look()
    assert not watchdog.killed


def test_a_process_that_continues_in_time_is_left_alone(server: tuple[Running, str]) -> None:
    running, place = server
    watchdog = Watchdog("s", place, probe_mysql, running, misses=2)
    watchdog.look()
    for _ in range(3):
        os.kill(running.pid(), signal.SIGSTOP)
        watchdog.look()
        watchdog.look()
        os.kill(running.pid(), signal.SIGCONT)
        until(lambda: probe_mysql(place, 1), 10, "The process does not answer again.")
        watchdog.look()
    assert not watchdog.killed


def test_a_service_that_does_not_run_is_no_matter() -> None:
    class Gone:
        def pid(self) -> int:
            return 0

        def ticks(self, pid: int) -> int:
            assert pid == 0
            return -1

        def kill(self, pid: int) -> None:
            raise AssertionError(pid)

    watchdog = Watchdog("s", "127.0.0.1:1", probe_mysql, Gone(), misses=1)
    for _ in range(5):
        watchdog.look()
    assert not watchdog.killed


def test_a_name_that_has_no_address_now_says_nothing_of_the_service(server: tuple[Running, str]) -> None:
    running, place = server
    watchdog = Watchdog("s", place, probe_mysql, running, misses=1)
    watchdog.look()
    watchdog._place = "nowhere.invalid:1"
    os.kill(running.pid(), signal.SIGSTOP)
    for _ in range(5):
        watchdog.look()
    unresolved = watchdog.killed
    watchdog._place = place
    for _ in range(3):
        watchdog.look()
    assert (unresolved, watchdog.killed) == (0, 1)


@pytest.mark.parametrize("probe", [probe_metastore, probe_web, probe_mysql])
def test_a_server_that_accepts_and_is_silent_has_not_answered(probe: Probe) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not probe(f"127.0.0.1:{silent.getsockname()[1]}", 0.2)


@pytest.mark.parametrize(
    ("probe", "reply"),
    [
        (probe_web, b"HTTP/1.1 404 Not Found\r\n\r\n"),
        # TApplicationException: unknown method.
        (
            probe_metastore,
            b"\x80\x01\x00\x03\x00\x00\x00\x0ehopshive_probe\x00\x00\x00\x01\x08\x00\x02\x00\x00\x00\x01\x00",
        ),
    ],
)
def test_a_refusal_is_an_answer(probe: Probe, reply: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection = server.accept()[0]
            connection.recv(1000)
            connection.sendall(reply)
            connection.close()

        thread = threading.Thread(target=refuse)
        thread.start()
        assert probe(f"127.0.0.1:{server.getsockname()[1]}", scaled(2))
        thread.join()


def test_the_main_process_of_a_unit_is_the_one_that_init_started(tmp_path: Path) -> None:
    def process(pid: int, group: str, parent: int) -> None:
        directory = tmp_path / str(pid)
        directory.mkdir()
        (directory / "cgroup").write_text(
            f"9:name=systemd:/docker/x/system.slice/{group}\n0::/docker/x/system.slice/{group}\n"
        )
        (directory / "stat").write_text(
            f"{pid} (a name) of) S {parent} {pid} {pid} 0 -1 4194560 1 1 1 1 7 5 0 0 20 0 1 0 1 1 1\n"
        )

    process(70, "hive-metastore.service", 1)
    process(71, "hive-metastore.service", 70)
    process(50, "hive-metastore-watchdog.service", 1)
    unit = Unit("hive-metastore", tmp_path)
    assert unit.pid() == 70
    assert unit.ticks(70) == 12
    assert unit.ticks(99) == -1
    assert Unit("hive-server2", tmp_path).pid() == 0
