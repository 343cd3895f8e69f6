"""Which statements a restart of a HiveServer2 waits for, how long, and what becomes of those that it cuts off."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.services import draining, locks
from hopshive.services.draining import (
    GRACE,
    PAUSE,
    Discovery,
    Server2,
    Statement,
    abort_cut_off,
    drain,
    leave,
    listens,
    statements,
    stopping,
)
from hopshive.services.health import NoAnswer
from hopshive.services.locks import Process, abandon
from tests.support.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROCESS = Process("hive", "one")
ONE = Statement("q1", "spark", "SELECT 1")


def active(state: str, session: str = "s1") -> dict[str, Any]:
    display = {"queryId": "q1", "queryString": "SELECT\n 1"}
    return {
        "userName": "spark",
        "running": True,
        "state": state,
        "sessionId": session,
        "operationId": "o",
        "queryDisplay": display,
    }


def session(idle: int) -> dict[str, Any]:
    return {"sessionId": "s1", "idleTime": idle}


def test_a_statement_that_runs_counts_however_idle_its_session_is() -> None:
    assert statements([active("RUNNING")], [session(500)]) == [ONE]


def test_a_finished_statement_counts_while_its_rows_are_fetched() -> None:
    assert statements([active("FINISHED")], [session(1)]) == [ONE]
    assert statements([active("FINISHED")], [session(500)]) == []


@pytest.mark.parametrize("state", ["ERROR", "CANCELED", "TIMEDOUT"])
def test_a_statement_that_ended_without_a_result_is_not_waited_for(state: str) -> None:
    assert statements([active(state)], [session(1)]) == []


def test_an_idle_session_is_not_waited_for() -> None:
    assert statements([], [session(0)]) == []


class Clock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_it_waits_until_no_statement_runs() -> None:
    clock = Clock()
    assert drain(lambda: [ONE] if clock.time < 60 else [], 3600, clock.now, clock.sleep) == []
    assert 60 <= clock.time <= 60 + PAUSE


def test_what_still_runs_at_the_limit_is_named() -> None:
    clock = Clock()
    assert drain(lambda: [ONE], 10, clock.now, clock.sleep) == [ONE]
    assert 10 <= clock.time <= 10 + PAUSE


def looks(*answers: list[Statement] | None) -> Callable[[], list[Statement]]:
    """Answers of the web UI, in turn; None is a silence."""
    left = iter(answers)

    def look() -> list[Statement]:
        answer = next(left)
        if answer is None:
            raise NoAnswer("silence")
        return answer

    return look


def test_a_web_ui_that_pauses_does_not_end_the_wait() -> None:
    clock = Clock()
    assert drain(looks([ONE], None, None, [ONE], None, []), 3600, clock.now, clock.sleep) == []
    assert clock.time == 5 * PAUSE


def test_a_web_ui_that_hangs_ends_it() -> None:
    clock = Clock()
    with pytest.raises(NoAnswer):
        drain(looks([ONE], None, None, None, [ONE]), 3600, clock.now, clock.sleep)


def test_what_runs_when_it_stops_after_its_grace_is_cut_off() -> None:
    clock = Clock()
    assert stopping(lambda: [ONE], lambda: clock.time < GRACE + 1, [], clock.now, clock.sleep) == [ONE]


def test_one_that_stops_sooner_had_nothing_left_to_run() -> None:
    clock = Clock()
    assert stopping(lambda: [ONE], lambda: clock.time < GRACE - 1, [], clock.now, clock.sleep) == []


def test_what_ends_within_the_grace_is_not_cut_off() -> None:
    """An idle cursor keeps it as long as a statement would."""
    clock = Clock()
    look = lambda: [ONE] if clock.time < 3 else []  # noqa: E731 - as short as what it stands for
    assert stopping(look, lambda: clock.time < GRACE + 1, [], clock.now, clock.sleep) == []


def test_a_web_ui_that_ends_first_takes_nothing_back() -> None:
    clock = Clock()
    answers = looks([ONE], *[None] * 100)
    assert stopping(answers, lambda: clock.time < GRACE + 1, [], clock.now, clock.sleep) == [ONE]


def test_one_that_hangs_cuts_off_what_it_ran_when_it_was_seen_last() -> None:
    clock = Clock()
    silent = looks(*[None] * 100)
    assert stopping(silent, lambda: clock.time < GRACE + 1, [ONE], clock.now, clock.sleep) == [ONE]


def test_who_listens_is_seen_without_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(port)
    assert not listens(port)


def test_one_that_cannot_say_what_it_runs_is_not_waited_for() -> None:
    nowhere = Server2("127.0.0.1", free_port(), free_port(), 3600, ZooKeeper().run)
    nowhere.wait()
    nowhere.stopping()
    nowhere.stopped()
    assert (nowhere.cut_off, nowhere.messages) == ([], [])


LISTED = """Connecting to zk1:2181

WATCHER::

[serverUri=one:10000;version=4.0.1;sequence=0000000007, serverUri=one.two:10000;version=4.0.1;sequence=0000000006]
"""
DISCOVERY = Discovery(["zkCli", "-server", "zk1:2181"], "hiveserver2", "one")


class ZooKeeper:
    """Its command line."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.deleted: list[str] = []

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        assert command[:-2] == DISCOVERY.command
        verb, path = command[-2:]
        if verb == self.fails:
            return 1, "", "a line of its log\nKeeperErrorCode = ConnectionLoss\n"
        if verb == "delete":
            self.deleted.append(path)
        return 0, LISTED if path == "/hiveserver2" else "", ""


def test_it_leaves_the_discovery_and_the_others_stay() -> None:
    zookeeper = ZooKeeper()
    assert leave(DISCOVERY, zookeeper.run) == ["serverUri=one:10000;version=4.0.1;sequence=0000000007"]
    assert zookeeper.deleted == ["/hiveserver2/serverUri=one:10000;version=4.0.1;sequence=0000000007"]


@pytest.mark.parametrize("fails", ["ls", "delete"])
def test_one_that_cannot_leave_is_restarted_all_the_same_and_told(fails: str) -> None:
    server = Server2("one", 10002, 10000, 30, ZooKeeper(fails).run, DISCOVERY)
    assert not server.leave()
    (sentence,) = server.messages
    assert "could not be removed from the discovery" in sentence
    assert sentence.endswith("KeeperErrorCode = ConnectionLoss")


def test_without_a_metastore_a_transaction_that_stays_is_told() -> None:
    (sentence,) = abort_cut_off([ONE], PROCESS, [], {17}, [ONE])
    assert sentence.startswith(
        "The restart cut off a statement that ran for longer than server2_drain_timeout: q1 of spark: SELECT 1."
    )
    assert "Its transaction stays open until hive.txn.timeout" in sentence


def test_nothing_is_told_where_nothing_was_cut_off() -> None:
    assert abort_cut_off([], PROCESS, [], [], []) == []


def test_a_statement_that_began_after_the_wait_is_told_as_such() -> None:
    (sentence,) = abort_cut_off([ONE], PROCESS, [], {17}, [])
    assert sentence.startswith(
        "The restart cut off a statement that began after the wait for other statements: q1 of spark: SELECT 1."
    )


def test_what_was_waited_for_in_vain_is_told_apart_from_what_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = Statement("q2", "spark", "SELECT 2")
    monkeypatch.setattr(draining, "running", lambda *_: [ONE])
    server = Server2("edge", 10002, 10000, 0, lambda _: (0, "", ""))
    server.wait()
    monkeypatch.setattr(draining, "stopping", lambda *_: [ONE, later])
    server.stopping()
    server.stopped()
    assert ["server2_drain_timeout: q1" in told for told in server.messages] == [True, False]
    assert "after the wait for other statements: q2" in server.messages[1]


# --- what a HiveServer2 has left that was killed ----------------------------------------------------------------------


@pytest.fixture
def metastores(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What one metastore at b:9083 knows and is told; another at a:9083 does not answer."""
    known: dict[str, Any] = {"open": [], "compactions": [], "aborted": [], "asked": 0}

    def call(place: str, method: str, request: dict[int, Any], _timeout: float) -> dict[int, Any]:
        known["asked"] += 1
        if place != "b:9083":
            raise NoAnswer("connection refused")
        if method == "abort_txns":
            known["aborted"] += request[1][1][1][1][1]
        return {"get_open_txns_info": {2: known["open"]}, "show_compact": {1: known["compactions"]}}.get(method, {})

    monkeypatch.setattr(locks, "call_metastore", call)
    return known


def test_what_a_killed_one_has_left_is_aborted_but_for_compactions(metastores: dict[str, Any]) -> None:
    metastores["open"] = [
        {1: 17, 2: 3, 3: b"hive", 4: b"one"},
        {1: 18, 2: 2, 3: b"hive", 4: b"one"},
        {1: 19, 2: 3, 3: b"spark", 4: b"one"},
        {1: 20, 2: 3, 3: b"hive", 4: b"two"},
        {1: 21, 2: 3, 3: b"hive", 4: b"one"},
        {1: 22, 2: 3, 3: b"hive", 4: b"one"},
    ]
    metastores["compactions"] = [{22: 21}]
    assert abandon(PROCESS, ["a:9083", "b:9083"], 5) == [17, 22]
    assert metastores["aborted"] == [17, 22]


def test_one_that_left_nothing_aborts_nothing(metastores: dict[str, Any]) -> None:
    assert abandon(PROCESS, ["b:9083"], 0) == []
    assert metastores["aborted"] == []


def test_a_metastore_that_is_away_is_asked_again_for_a_while_and_then_named(metastores: dict[str, Any]) -> None:
    clock = iter(range(100))
    with pytest.raises(NoAnswer, match="The metastore at a:9083: connection refused"):
        abandon(PROCESS, ["a:9083"], 5, now=lambda: next(clock), sleep=lambda _: None)
    assert 2 <= metastores["asked"] <= 6


def test_the_start_continues_without_a_metastore(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopshive.commands.abandoned.PATIENCE", 0)
    monkeypatch.setattr("hopshive.daemon.logs.configure", lambda: None)
    done = CliRunner().invoke(main, ["abandoned", "--user", "hive", "--metastore", "127.0.0.1:1"])
    assert done.exit_code == 0
    assert "stay open until hive.txn.timeout. The metastore at 127.0.0.1:1" in caplog.text
