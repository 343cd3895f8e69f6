"""An application master of Tez that is killed: what HiveServer2 acknowledges is there, and no client waits for long."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse import HiveError, HiveSession, find_lab
from tests.warehouse.hiveserver2 import sleeping

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.group("server2")
TABLE = "mastered.t"
ROUNDS = 3
# An INSERT takes 6 s with a new application master. Upstream's recovery of the old one let some wait for minutes.
LONGEST = 60.0
SLEEPS = 12


@pytest.fixture(scope="module")
def address(host: Any) -> Iterator[str]:
    found = str(host.run("hostname -i").stdout.split()[0])
    session = HiveSession(found)
    session.execute("CREATE DATABASE IF NOT EXISTS mastered")
    session.execute(
        f"CREATE TABLE IF NOT EXISTS {TABLE} (n INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    yield found
    session.execute("DROP DATABASE mastered CASCADE")
    session.close()


def kill_masters(killed: list[bool]) -> None:
    """HiveServer2's; a compaction's too, which is tried again. Notes whether there was one."""
    command = ("pkill", "-KILL", "-f", "org.apache.tez.dag.app.[D]AGAppMaster")
    done = [host.run(*command, check=False) for host in find_lab("molecule-default").group("nodemanager")]
    killed.append(any(one.returncode == 0 for one in done))


def insert(address: str, number: int, source: str, acknowledged: list[int]) -> None:
    """One row, by a session of its own as clients have; an error is one of the two things that may come of it."""
    session = HiveSession(address, timeout=LONGEST)
    begin = time.monotonic()
    try:
        session.execute(f"INSERT INTO {TABLE} {source}")
        acknowledged.append(number)
    except HiveError as error:
        assert not error.lost, f"the INSERT of {number}: {error}"
    finally:
        session.close()
    assert time.monotonic() - begin < LONGEST


def test_what_is_acknowledged_is_there(address: str) -> None:
    acknowledged: list[int] = []
    killed: list[bool] = []
    numbers = iter(range(1000))
    for _ in range(ROUNDS):
        insert(address, number := next(numbers), f"VALUES ({number})", acknowledged)
        kill_masters(killed)
        for _ in range(3):
            insert(address, number := next(numbers), f"VALUES ({number})", acknowledged)
        number = next(numbers)
        killer = threading.Timer(SLEEPS / 3, kill_masters, [killed])
        killer.start()
        begin = time.monotonic()
        insert(address, number, sleeping(SLEEPS, number), acknowledged)
        killer.join()
        # Killed while it ran: an INSERT that is acknowledged has slept again.
        assert number not in acknowledged or time.monotonic() - begin > SLEEPS
    assert killed == [True] * (2 * ROUNDS)
    session = HiveSession(address)
    try:
        there = sorted(number for (number,) in session.execute(f"SELECT n FROM {TABLE}"))
    finally:
        session.close()
    # What was refused may not be there either: its transaction was rolled back.
    assert there == sorted(acknowledged)
    assert len(acknowledged) >= ROUNDS * 3
