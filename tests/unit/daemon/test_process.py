"""The daemon with work of the tests' own, on a real MariaDB: standby, leading, what passes, what does not, and its end."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from hopshive.config import Config, DatabaseConfig, HdfsConfig
from hopshive.daemon import health as health_module
from hopshive.daemon import process as daemon_module
from hopshive.daemon import request
from hopshive.daemon import worker as worker_module
from hopshive.daemon.health import Leader
from hopshive.daemon.metrics import Metrics
from hopshive.daemon.notify import Notifier
from hopshive.daemon.process import Bell, Daemon
from hopshive.daemon.request import Doing, Handler, RequestFailed
from hopshive.daemon.worker import Duty, Work
from hopshive.database import Database, DatabaseError, DatabaseUnavailable, LostLease, Server
from hopshive.errors import Refused
from hopshive.hdfs.namenode import NameNodeError, NameNodeUnavailable
from tests.support.daemon_state import NAMES, STATE, daemon_state
from tests.support.patience import until, within
from tests.support.servers import MariaDB, free_port


@pytest.fixture
def server(mariadb: MariaDB) -> Iterator[Server]:
    with daemon_state(mariadb) as server:
        yield server


@dataclass
class Fake(Work):
    """Work: what it does in a step is what a test put there."""

    database: Database
    act: Callable[[Database], object] = lambda _: None
    asked: Mapping[str, Handler] = field(default_factory=dict)
    closed: int = 0

    def start(self) -> None:
        write(self.database, "start")

    def step(self) -> bool:
        self.act(self.database)
        return False

    def handlers(self) -> Mapping[str, Handler]:
        return self.asked

    def close(self) -> None:
        self.closed += 1


def write(database: Database, what: str) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO proof VALUES (%s)", (what,))


class Systemd:
    """The other end of a notify socket."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._socket.settimeout(5)

    def notifier(self) -> Notifier:
        return Notifier({"NOTIFY_SOCKET": str(self.path)})

    def wait_for(self, *messages: str) -> None:
        """Until all of them were said, in any order."""
        left = set(messages)
        while left:
            left.discard(self._socket.recv(4096).decode())


@dataclass
class Running:
    daemon: Daemon
    metrics: Metrics
    thread: threading.Thread
    ended: list[BaseException] = field(default_factory=list)

    def stop(self) -> None:
        self.daemon.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()


Run = Callable[..., Running]


@pytest.fixture
def run(server: Server) -> Iterator[Run]:
    running: list[Running] = []

    def begin(
        act: Callable[[Database], object] = lambda _: None,
        *,
        name: str = "one",
        lease: float = 2.0,
        asked: Mapping[str, Handler] | None = None,
        notifier: Notifier | None = None,
        hdfs: HdfsConfig | None = None,
        **more: Any,
    ) -> Running:
        config = Config(name=name, lease=lease, database=DatabaseConfig(state=STATE), hdfs=hdfs or HdfsConfig())
        duty = Duty("mirror", 0.01, lambda database: Fake(database, act, asked or {}))
        metrics = Metrics()
        place = more.pop("server", server)
        daemon = Daemon(config, place, metrics, notifier or Notifier({}), [duty], **more)

        def body() -> None:
            try:
                daemon.run()
            except BaseException as error:
                one.ended.append(error)

        one = Running(daemon, metrics, threading.Thread(target=body))
        running.append(one)
        one.thread.start()
        return one

    yield begin
    for one in running:
        one.stop()


def metric(metrics: Metrics, line: str) -> bool:
    return line in generate_latest(metrics.registry).decode().splitlines()


def proofs(mariadb: MariaDB) -> list[str]:
    return [what for (what,) in mariadb.execute("SELECT what FROM proof", database=STATE)]


# --- terms ------------------------------------------------------------------------------------------------------------


def test_one_leads_and_works_the_other_is_on_standby(run: Run, mariadb: MariaDB, tmp_path: Path) -> None:
    systemd = Systemd(tmp_path)
    first = run(lambda database: write(database, "one"))
    until(lambda: "one" in proofs(mariadb))
    second = run(lambda database: write(database, "two"), name="two", notifier=systemd.notifier())
    systemd.wait_for("STATUS=standby, one leads", "READY=1", "WATCHDOG=1")
    assert metric(first.metrics, "hopshive_leader 1.0")
    assert metric(first.metrics, "hopshive_epoch 1.0")
    assert metric(second.metrics, "hopshive_leader 0.0")
    first.stop()
    assert not first.ended
    assert metric(first.metrics, "hopshive_leader 0.0")
    systemd.wait_for("STATUS=leading, epoch 2")
    until(lambda: "two" in proofs(mariadb), 0.5)
    second.stop()
    systemd.wait_for("STOPPING=1")


def test_what_is_under_way_is_finished_before_the_end(run: Run, mariadb: MariaDB) -> None:
    began = threading.Event()

    def slow(database: Database) -> None:
        with database.transaction() as tx:
            tx.execute("INSERT INTO proof VALUES ('slow')")
            began.set()
            time.sleep(0.5)

    one = run(slow)
    began.wait(5)
    one.stop()
    assert "slow" in proofs(mariadb)
    assert mariadb.execute("SELECT expires <= UTC_TIMESTAMP(6) FROM lease", database=STATE) == [(1,)]


def test_a_lost_lease_makes_a_standby_that_may_lead_again(run: Run, mariadb: MariaDB) -> None:
    raised: list[Exception] = []

    def act(database: Database) -> None:
        try:
            write(database, "x")
        except (LostLease, DatabaseError) as error:
            raised.append(error)
            raise

    one = run(act, lease=2.0)
    until(lambda: "x" in proofs(mariadb))
    # As if another had taken over, which is gone at once.
    mariadb.execute("UPDATE lease SET epoch = 7, holder = 'other', expires = UTC_TIMESTAMP(6)", database=STATE)
    until(lambda: metric(one.metrics, "hopshive_epoch 8.0"))
    assert raised
    until(lambda: proofs(mariadb)[-1] == "x")
    assert not one.ended


def test_a_new_term_waits_for_the_threads_of_the_last(run: Run, mariadb: MariaDB) -> None:
    hold, held = threading.Event(), threading.Event()

    def act(database: Database) -> None:
        if not held.is_set():
            held.set()
            hold.wait(10)
        write(database, "x")

    run(act, lease=1.0)
    held.wait(5)
    mariadb.execute("UPDATE lease SET epoch = 7, holder = 'other', expires = UTC_TIMESTAMP(6)", database=STATE)
    time.sleep(1.5)
    assert mariadb.execute("SELECT epoch FROM lease", database=STATE) == [(7,)]
    hold.set()
    until(lambda: mariadb.execute("SELECT epoch FROM lease", database=STATE) == [(8,)])


def test_a_leader_without_a_namenode_lets_another_try(
    run: Run, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_module, "DEAF", 0.3)

    def deaf(_: Database) -> None:
        raise NameNodeUnavailable("The NameNode nn:8020 does not answer.")

    one = run(deaf, lease=1.0)
    until(lambda: metric(one.metrics, "hopshive_leader 1.0"))
    run(lambda database: write(database, "two"), name="two")
    until(lambda: "two" in proofs(mariadb))
    # It stands back for two leases, and looks at the lease all the same.
    until(lambda: one.daemon.health.leader.sentence == "two leads, epoch 2.", 1.5)
    assert not one.ended
    assert metric(one.metrics, "hopshive_leader 0.0")


# --- what passes, and what does not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (DatabaseUnavailable("The database is away."), "database"),
        (NameNodeUnavailable("The NameNode is away."), "namenode"),
        (DatabaseError("The database does not like it."), "mirror"),
        (NameNodeError("The NameNode does not like it."), "mirror"),
        (ZeroDivisionError("division by zero"), "unforeseen"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_error_is_counted_and_the_work_continues(
    run: Run, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch, error: Exception, what: str
) -> None:
    monkeypatch.setattr(worker_module, "UNEXPECTED", (0.05, 1.0))
    errors = [error, error]

    def act(database: Database) -> None:
        if errors:
            raise errors.pop()
        write(database, "went on")

    one = run(act)
    until(lambda: "went on" in proofs(mariadb))
    assert metric(one.metrics, f'hopshive_errors_total{{what="{what}"}} 2.0')
    # After an unexpected error, the work is created again.
    assert proofs(mariadb).count("start") == (3 if what == "unforeseen" else 1)


def test_what_a_human_must_act_on_ends_the_daemon_and_frees_the_lease(run: Run, mariadb: MariaDB) -> None:
    def act(_: Database) -> None:
        raise Refused("The NameNode belongs to another cluster.")

    one = run(act)
    one.thread.join(5)
    assert [str(error) for error in one.ended] == ["The NameNode belongs to another cluster."]
    assert mariadb.execute("SELECT expires <= UTC_TIMESTAMP(6) FROM lease", database=STATE) == [(1,)]


def test_a_check_that_refuses_ends_the_daemon(run: Run) -> None:
    def check() -> None:
        raise Refused("The schema is not there.")

    one = run(check=check)
    one.thread.join(5)
    assert [str(error) for error in one.ended] == ["The schema is not there."]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"user": "nobody", "password": "wrong"}, "Access denied for user 'nobody'"),
        ({"database": "not_there"}, "Unknown database 'not_there'"),
    ],
)
def test_what_the_database_will_never_accept_ends_the_daemon(
    run: Run, server: Server, change: dict[str, str], sentence: str
) -> None:
    one = run(server=Server(**{**server.__dict__, **change}))
    one.thread.join(5)
    assert [type(error) for error in one.ended] == [Refused]
    assert sentence in str(one.ended[0])


def test_a_database_that_is_away_is_waited_for(run: Run, server: Server, tmp_path: Path) -> None:
    systemd = Systemd(tmp_path)
    away = Server(STATE, user="root", unix_socket=str(tmp_path / "socket"))
    one = run(server=away, notifier=systemd.notifier())
    systemd.wait_for(f"STATUS=waiting for {away.place}", "READY=1")
    (tmp_path / "socket").symlink_to(server.unix_socket)
    systemd.wait_for("STATUS=leading, epoch 1")
    one.stop()


def test_a_worker_that_hangs_is_not_called_alive(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_module, "HUNG", 0.3)
    monkeypatch.setattr(daemon_module, "TICK", 0.05)
    systemd = Systemd(tmp_path)
    hang = threading.Event()
    run(lambda _: hang.wait(10), notifier=systemd.notifier())
    systemd.wait_for("STATUS=leading, epoch 1")
    time.sleep(0.8)
    systemd._socket.setblocking(False)
    with suppress(BlockingIOError):
        while systemd._socket.recv(100):
            pass
    time.sleep(0.3)
    with pytest.raises(BlockingIOError):
        systemd._socket.recv(100)
    hang.set()


# --- what it says about itself ----------------------------------------------------------------------------------------


def test_leader_and_standby_are_well_and_know_who_leads(run: Run) -> None:
    first = run().daemon
    until(lambda: first.health.leader == Leader(True, "one leads, epoch 1."))
    second = run(name="two").daemon
    until(lambda: second.health.leader == Leader(False, "one leads, epoch 1."))
    assert (first.health.problems, second.health.problems) == ([], [])


def test_a_process_that_gave_the_lease_back_names_no_leader_and_the_next_one_does(run: Run) -> None:
    first = run()
    until(lambda: first.daemon.health.leader.here)
    second = run(name="two").daemon
    first.stop()
    assert not first.daemon.health.leader.here
    until(lambda: second.health.leader == Leader(True, "two leads, epoch 2."))


def test_who_lost_the_lease_does_not_say_that_it_leads(run: Run, mariadb: MariaDB) -> None:
    one = run().daemon
    until(lambda: one.health.leader.here)
    mariadb.execute(
        "UPDATE lease SET epoch = 7, holder = 'other', expires = UTC_TIMESTAMP(6) + INTERVAL 60 SECOND", database=STATE
    )
    until(lambda: one.health.leader == Leader(False, "other leads, epoch 7."))
    assert one.health.problems == []


def test_a_database_that_is_away_is_told_until_it_answers(run: Run, server: Server, tmp_path: Path) -> None:
    away = Server(STATE, user="root", unix_socket=str(tmp_path / "socket"))
    one = run(server=away).daemon
    until(lambda: any(f"has not reached {away.place} since its start at" in problem for problem in one.health.problems))
    until(lambda: "Can't connect" in one.health.problems[0])
    (tmp_path / "socket").symlink_to(server.unix_socket)
    until(lambda: one.health.problems == [])


def test_a_leader_that_loses_the_database_says_since_when(
    run: Run, server: Server, mariadb: MariaDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_module, "LATELY", 3.0)
    (tmp_path / "socket").symlink_to(server.unix_socket)
    one = run(server=replace(server, unix_socket=str(tmp_path / "socket"))).daemon
    until(lambda: one.health.leader.here)
    # Longer than LATELY: each renewal of the lease counts.
    time.sleep(4)
    assert one.health.problems == []
    (tmp_path / "socket").unlink()
    for (number,) in mariadb.execute(f"SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{STATE}'"):
        mariadb.execute(f"KILL {number}")
    until(lambda: one.health.problems)
    said = re.search(r" since [-\d]{10} [:\d]{8} UTC, (\d+) s ago\. ", one.health.problems[0])
    assert said and int(said[1]) >= 3
    assert not one.health.leader.here


def test_a_namenode_is_asked_on_a_standby_too(run: Run) -> None:
    first = run().daemon
    until(lambda: first.health.leader.here)
    port = free_port()
    standby = run(name="two", hdfs=HdfsConfig(namenodes=[f"127.0.0.1:{port}"])).daemon
    until(lambda: f"The NameNode 127.0.0.1:{port} cannot be reached" in " ".join(standby.health.problems))
    # The NameNode is asked by a thread of its own, which may be the faster one.
    until(lambda: not standby.health.database.problem)


def test_a_worker_that_hangs_is_no_sign_of_life(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough for a busy machine to see the daemon well before.
    monkeypatch.setattr(daemon_module, "HUNG", 2.0)
    monkeypatch.setattr(daemon_module, "TICK", 0.05)
    monkeypatch.setattr(health_module, "SILENT", 2.0)
    hang = threading.Event()
    one = run(lambda _: hang.wait(30)).daemon
    until(lambda: one.health.leader.here)
    assert one.health.problems == []
    until(lambda: one.health.problems)
    assert "has shown no sign of life since" in one.health.problems[0]
    hang.set()
    until(lambda: one.health.problems == [])


# --- what humans ask --------------------------------------------------------------------------------------------------


def asked(
    server: Server, kind: request.RequestKind, argument: Mapping[str, Any] | None = None
) -> Callable[[], request.Request]:
    database = Database(server, NAMES)
    with database.transaction() as tx:
        number = request.ask(tx, kind, argument or {}, "ada")

    def now() -> request.Request:
        with database.reading() as tx:
            found = request.read(tx, number)
        assert found
        return found

    return now


def test_a_request_is_done_a_little_at_a_time_between_steps(run: Run, server: Server, mariadb: MariaDB) -> None:
    def restore(argument: Mapping[str, Any]) -> Doing:
        for done in range(1, 4):
            yield done, 3
            write_now.append(f"restored {argument['name']}")
        return "Restored 3 tables."

    write_now: list[str] = []

    def act(database: Database) -> None:
        write(database, write_now.pop(0) if write_now else "step")

    now = asked(server, "restore", {"name": "straße"})
    assert now().state == "waiting"
    run(act, asked={"restore": restore})
    until(lambda: now().over)
    assert (now().state, now().message, now().done, now().total) == ("done", "Restored 3 tables.", 3, 3)
    until(lambda: proofs(mariadb).count("restored straße") == 3)


def test_a_request_that_cannot_be_done_says_why(run: Run, server: Server) -> None:
    def restore(_: Mapping[str, Any]) -> Doing:
        yield 0, 0
        raise RequestFailed("Nothing was removed at /x.")

    def fix(_: Mapping[str, Any]) -> Doing:
        yield 0, 0
        raise KeyError("surprise")

    one = run(asked={"restore": restore, "collect": fix})
    failed, broken, other = asked(server, "restore"), asked(server, "collect"), asked(server, "sync")
    until(lambda: broken().over)
    assert (failed().state, failed().message) == ("failed", "Nothing was removed at /x.")
    assert (
        broken().message
        == "Unexpected error: KeyError('surprise'). The system log of hopshive-cleaner has its traceback."
    )
    assert other().state == "waiting"
    assert not one.ended


def test_a_request_is_begun_again_when_something_passed(run: Run, server: Server) -> None:
    attempts = []

    def sync(_: Mapping[str, Any]) -> Doing:
        attempts.append(1)
        yield 0, 0
        if len(attempts) == 1:
            raise NameNodeUnavailable("away")
        return "Compared."

    now = asked(server, "sync")
    run(asked={"sync": sync})
    until(lambda: now().over)
    assert (len(attempts), now().message) == (2, "Compared.")


def test_a_request_that_only_waits_takes_no_processor(run: Run, server: Server) -> None:
    looks = []

    def collect(_: Mapping[str, Any]) -> Doing:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            looks.append(1)
            yield 7, 0
        return "Collected 7 rows."

    now = asked(server, "collect")
    run(asked={"collect": collect})
    until(lambda: now().over)
    assert now().done == 7
    # The duty looks every hundredth of a second.
    assert 1 < len(looks) < 60


def test_what_a_former_leader_began_is_begun_again(run: Run, server: Server, mariadb: MariaDB) -> None:
    def sync(_: Mapping[str, Any]) -> Doing:
        yield 0, 0
        return "Compared."

    now = asked(server, "sync")
    mariadb.execute("UPDATE request SET state = 'running'", database=STATE)
    run(asked={"sync": sync})
    until(lambda: now().over)
    assert now().state == "done"


# --- small parts ------------------------------------------------------------------------------------------------------


@pytest.mark.wall_time
def test_a_bell_that_rang_before_wakes_at_once_and_once() -> None:
    bell = Bell()
    for _ in range(100_000):
        bell.ring()
    with within(1):
        bell.wait(60)
    began = time.monotonic()
    bell.wait(0.05)
    assert time.monotonic() - began >= 0.05


def test_a_daemon_without_a_name_is_named_as_its_host(server: Server) -> None:
    config = Config(database=DatabaseConfig(state=STATE))
    daemon = Daemon(config, server, Metrics(), Notifier({}), [])
    assert daemon._lease.holder == os.uname().nodename
