"""A HiveServer2 that ends while statements run: a restart lets them end or names them, and no end leaves locks."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.services.draining import Statement, running
from tests.warehouse.hiveserver2 import HiveSession, sleeping
from tests.warehouse.playbook import run_playbook
from tests.warehouse.shell import beeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.group("server2")


@pytest.fixture(scope="module")
def play(request: pytest.FixtureRequest, host: Any) -> Callable[..., str]:
    """Runs what site.yml does for a HiveServer2, with these variables; what it said, in one line."""

    def run(**variables: Any) -> str:
        inventory = request.config.getoption("--ansible-inventory")
        arguments = ["--inventory", inventory, "--limit", host.backend.host, "--tags", "server2"]
        said = run_playbook(*arguments, "--extra-vars", json.dumps(variables), "site.yml", timeout=400)
        return " ".join(said.split())

    return run


@pytest.fixture(scope="module")
def address(host: Any) -> str:
    return str(host.run("hostname -i").stdout.split()[0])


@pytest.fixture(scope="module")
def session(address: str) -> Iterator[HiveSession]:
    """With a table of full ACID; it opens another session after a restart."""
    opened = HiveSession(address)
    opened.execute("CREATE DATABASE IF NOT EXISTS restarted")
    opened.execute("CREATE TABLE restarted.t (ms BIGINT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    yield opened
    opened.wait()
    opened.execute("DROP DATABASE restarted CASCADE")
    opened.close()


def statement(address: str, head: str) -> Statement:
    """The one that runs and begins like that, once it does."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for found in running(f"http://{address}:10002", 10):
            if found.text.startswith(head):
                return found
        time.sleep(0.5)
    raise AssertionError(f"no statement that begins with {head} runs")


def transactions(session: HiveSession) -> dict[str, str]:
    """The state of each in SHOW TRANSACTIONS."""
    return {row[0]: row[1] for row in session.execute("SHOW TRANSACTIONS")}


def process(host: Any) -> str:
    return str(host.check_output("systemctl show --property MainPID --value hive-server2"))


# How long the query takes, in seconds. It must outlast the tasks before the handler: a slow machine tries the next one.
TAKES = (30, 75, 180)
# Seconds: the query runs longer than that after the new configuration is written, and its client ends sooner than that after it.
MARGIN = 15


def test_a_statement_that_ends_in_time_has_its_rows(host: Any, address: str, play: Callable[..., str]) -> None:
    for number, seconds in enumerate(TAKES):
        began = f"@{time.time():.0f}"
        before = process(host)
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(lambda query: (beeline(host, query).strip(), time.time()), sleeping(seconds, seconds))
            statement(address, "SELECT max")
            # Another argument of the JVM each time, which nothing reads.
            said = play(server2_jvm_options=[f"-Dhopshive.test={number}"], server2_drain_timeout=300)
            rows, ended = asked.result()
        assert rows == f"{seconds}"
        assert process(host) != before
        assert "cut off" not in said
        if float(host.check_output("stat --format %Y /etc/hive/conf.server2/jvm.args")) + MARGIN < ended:
            break
    else:
        pytest.fail("Each query ended before there was a reason for a restart.")
    logged = host.check_output(f"journalctl --no-pager --output=short-unix --unit=hive-server2 --since={began}")
    (stopped,) = [float(line.split()[0]) for line in logged.splitlines() if "Stopping hive-server2.service" in line]
    # It was told to stop when the statement had ended: told before, it waits 10 s by itself.
    assert stopped > ended - MARGIN


def test_what_is_cut_off_is_named_and_leaves_no_transaction(
    host: Any, address: str, session: HiveSession, play: Callable[..., str]
) -> None:
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(beeline, host, f"INSERT INTO restarted.t {sleeping(300, 0)}")
        cut = statement(address, "INSERT INTO restarted.t")
        before = {number for number, state in transactions(session).items() if state == "OPEN"}
        said = play(server2_drain_timeout=3)
        with pytest.raises(AssertionError):
            asked.result()
    assert before
    assert re.search(rf"cut off a statement .*: {re.escape(str(cut))}\. .*(left no open transaction|aborted)", said), (
        said
    )
    session.wait()
    after = transactions(session)
    assert {number for number in before if after.get(number) == "OPEN"} == set()
    assert session.execute("SELECT count(*) FROM restarted.t") == [(0,)]


def test_a_killed_one_leaves_no_lock_once_it_runs_again(host: Any, address: str, session: HiveSession) -> None:
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(beeline, host, f"INSERT INTO restarted.t {sleeping(300, 0)}")
        statement(address, "INSERT INTO restarted.t")
        deadline = time.monotonic() + 60
        while not any("restarted" in row for row in session.execute("SHOW LOCKS")) and time.monotonic() < deadline:
            time.sleep(0.5)
        left = {number for number, state in transactions(session).items() if state == "OPEN"}
        host.check_output("systemctl kill --signal=KILL hive-server2")
        with pytest.raises(AssertionError):
            asked.result()
    assert left
    session.wait()
    # Otherwise the table could not be dropped before hive.txn.timeout, five minutes.
    begin = time.monotonic()
    session.execute("DROP TABLE restarted.t")
    assert time.monotonic() - begin < 60
    said = host.check_output("journalctl --quiet --unit hive-server2 --since -5min --grep 'Aborted transactions that'")
    assert any(number in said for number in left), (left, said)
