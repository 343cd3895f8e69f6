"""The lease on a real MariaDB: several contenders, frozen leaders, a server that is killed."""

from __future__ import annotations

import logging
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue

import pytest

from hopshive.consistency.schema.own_tables import TABLES
from hopshive.daemon import lease as lease_module
from hopshive.daemon.lease import Lease, Renewal, Term
from hopshive.database import Contention, Database, DatabaseError, DatabaseUnavailable, LostLease, Names, Server, render
from tests.support.patience import scaled, until, within
from tests.support.servers import ROOT, MariaDB, run_mariadb, wait_until

DATABASE = "lease_test"
NAMES = Names(state=DATABASE)
SECONDS = 1.0
# Of a lease that no process renews.
SHORT = 0.8


@contextmanager
def own_schema(mariadb: MariaDB, name: str = DATABASE) -> Iterator[Server]:
    mariadb.execute(f"CREATE DATABASE {name}")
    mariadb.execute(
        render(TABLES["lease"], Names(state=name)).replace("{engine}", "InnoDB"),
        "CREATE TABLE proof (id BIGINT AUTO_INCREMENT PRIMARY KEY, epoch BIGINT NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE counter (epoch BIGINT NOT NULL, wrong BIGINT NOT NULL) ENGINE=InnoDB",
        "INSERT INTO counter VALUES (0, 0)",
        database=name,
    )
    yield Server(name, user="root", unix_socket=mariadb.socket)


@pytest.fixture
def server(mariadb: MariaDB) -> Iterator[Server]:
    with own_schema(mariadb) as found:
        yield found
    mariadb.execute(f"DROP DATABASE {DATABASE}")


def contend(server: Server, name: str, seconds: float = SECONDS) -> Lease:
    return Lease(server, NAMES, name, seconds)


def acquired(lease: Lease, seconds: float = 5) -> Term:
    terms: list[Term] = []

    def leads() -> bool:
        if term := lease.try_acquire():
            terms.append(term)
        return bool(terms)

    until(leads, seconds, f"{lease.holder} does not lead")
    return terms[0]


def insert(database: Database, epoch: int) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO proof (epoch) VALUES (%s)", (epoch,))


def connection_id(database: Database) -> int:
    with database.reading() as tx:
        return int(tx.value("SELECT CONNECTION_ID()"))


def written(mariadb: MariaDB, epoch: int) -> int:
    return mariadb.execute("SELECT epoch FROM proof", database=DATABASE).count((epoch,))


# --- one process ------------------------------------------------------------------------------------------------------


def test_one_leads_and_the_others_wait(server: Server) -> None:
    one, other = contend(server, "one"), contend(server, "other")
    term = acquired(one)
    assert (term.epoch, term.held) == (1, True)
    assert other.try_acquire() is None
    assert one.try_acquire() is None
    standing = other.standing()
    assert standing is not None
    assert (standing.holder, standing.epoch, standing.led) == ("one", 1, True)
    assert 0 < standing.left <= SECONDS


def test_no_process_led_yet(server: Server) -> None:
    assert contend(server, "one").standing() is None


def test_after_its_release_another_leads_at_once(server: Server) -> None:
    one, other = contend(server, "one", 60), contend(server, "other", 60)
    term = acquired(one)
    database = term.database()
    insert(database, 1)
    term.release()
    assert acquired(other, 0.5).epoch == 2
    assert not term.held
    with pytest.raises(DatabaseUnavailable):  # killed
        insert(database, 1)
    with pytest.raises(LostLease, match="released"):
        insert(database, 1)


def test_a_renewed_lease_does_not_expire(server: Server) -> None:
    term, other = acquired(contend(server, "one")), contend(server, "other")
    lost: list[LostLease] = []
    renewal = Renewal(term, lost.append)
    renewal.start()
    deadline = time.monotonic() + 1.5 * SECONDS
    while time.monotonic() < deadline:
        assert other.try_acquire() is None
        time.sleep(0.05)
    renewal.stop()
    assert term.held
    assert not lost


def test_who_does_not_renew_writes_nothing_more(server: Server, mariadb: MariaDB) -> None:
    term = acquired(contend(server, "one", SHORT))
    database = term.database()
    insert(database, 1)
    time.sleep(SHORT + 0.1)
    attempts: list[Callable[[], None]] = [lambda: insert(database, 1), term.renew, lambda: term.record("x", "1@x:1")]
    for attempt in attempts:
        with pytest.raises(LostLease, match=r"epoch 1\): it could not be renewed for 0.8 s"):
            attempt()
    assert written(mariadb, 1) == 1


def test_the_databases_word_counts_and_not_the_own_clock(
    server: Server, mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the sleep of a virtual machine, which its clock did not see."""
    now = time.monotonic()
    monkeypatch.setattr(lease_module, "monotonic", lambda: now)
    term = acquired(contend(server, "one", SHORT))
    database = term.database()
    insert(database, 1)
    time.sleep(SHORT + 0.1)
    assert term.held
    with pytest.raises(LostLease, match="expired"):
        insert(database, 1)
    assert not term.held
    assert written(mariadb, 1) == 1


def test_attempts_that_fail_are_a_line_and_their_end_another(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, lease_module.__name__)
    term = acquired(contend(server, "a", 30.0))
    renew = term.renew
    away = iter([DatabaseUnavailable("away"), DatabaseUnavailable("away"), DatabaseUnavailable("away")])
    renewed = threading.Event()

    def attempt() -> None:
        if error := next(away, None):
            raise error
        renew()
        renewed.set()

    monkeypatch.setattr(term, "renew", attempt)
    monkeypatch.setattr(lease_module, "RENEWALS", 300)
    renewal = Renewal(term, lambda error: pytest.fail(str(error)))
    renewal.start()
    assert renewed.wait(20)
    renewal.stop()
    failed, again = [record.message for record in caplog.records]
    assert re.fullmatch(r"The lease could not be renewed; it expires in [\d.]+ s: away", failed)
    assert again == "The lease is renewed again, after 3 failed attempts."


def test_an_expired_lease_is_not_renewed_even_if_no_process_took_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(lease_module, "monotonic", lambda: now)
    lease = contend(server, "one", SHORT)
    term = acquired(lease)
    time.sleep(SHORT + 0.1)
    with pytest.raises(LostLease):
        term.renew()
    assert acquired(lease).epoch == 2


def test_a_lost_term_stays_lost_when_the_same_daemon_leads_again(server: Server, mariadb: MariaDB) -> None:
    lease = contend(server, "one", SHORT)
    old = acquired(lease)
    database = old.database()
    with pytest.raises((LostLease, DatabaseUnavailable)), database.transaction() as tx:
        tx.execute("INSERT INTO proof (epoch) VALUES (1)")
        new = acquired(lease)
    insert(new.database(), 2)
    with pytest.raises(LostLease):
        insert(database, 1)
    assert (written(mariadb, 1), written(mariadb, 2)) == (0, 1)


def test_reading_needs_no_lease(server: Server) -> None:
    term = acquired(contend(server, "one", SHORT))
    database = term.database()
    insert(database, 1)
    time.sleep(SHORT + 0.1)
    with database.reading() as tx:
        assert tx.value("SELECT COUNT(*) FROM proof") == 1


def test_each_connection_is_recorded_before_it_writes(server: Server, mariadb: MariaDB) -> None:
    term = acquired(contend(server, "one", 60))
    mirror, cleaner = term.database(), term.database()
    numbers = [connection_id(mirror), connection_id(cleaner)]

    def recorded() -> str:
        return str(mariadb.execute("SELECT connections FROM lease", database=DATABASE)[0][0])

    ((node,),) = mariadb.execute(f"SELECT {lease_module.NODE}")
    assert recorded() == f"{numbers[0]}@{node},{numbers[1]}@{node}"
    mariadb.execute(f"KILL {numbers[0]}")
    with pytest.raises(DatabaseUnavailable):
        insert(mirror, 1)
    insert(mirror, 1)
    assert recorded() == f"{connection_id(mirror)}@{node},{numbers[1]}@{node}"
    term.renew()
    assert recorded() == f"{connection_id(mirror)}@{node},{numbers[1]}@{node}"


def test_a_connection_of_an_ended_term_is_never_made(server: Server) -> None:
    lease = contend(server, "one", SHORT)
    term = acquired(lease)
    database = term.database()
    time.sleep(SHORT + 0.1)
    with pytest.raises(LostLease), database.transaction() as tx:
        tx.execute("SELECT 1")


def test_a_strangers_connection_is_left_alone(server: Server, mariadb: MariaDB) -> None:
    """Its number is recorded because the server was restarted meanwhile."""
    mariadb.execute("CREATE USER stranger@'%'", f"GRANT ALL ON {DATABASE}.* TO stranger@'%'")
    try:
        stranger = Database(Server(DATABASE, user="stranger", unix_socket=mariadb.socket))
        ours = Database(server)
        lease = contend(server, "one")
        assert lease.try_acquire() is None
        recorded = [connection_id(stranger), connection_id(ours), connection_id(lease._session), 4_000_000_000]
        with ours.transaction() as tx:
            node = tx.value(f"SELECT {lease_module.NODE}")
            tx.execute("UPDATE lease SET connections = %s", (",".join(f"{number}@{node}" for number in recorded),))
        assert acquired(lease).epoch == 1
        with stranger.reading() as tx:
            assert tx.value("SELECT 1") == 1
        with pytest.raises(DatabaseUnavailable), ours.reading() as tx:
            tx.value("SELECT 1")
        stranger.close()
    finally:
        mariadb.execute("DROP USER stranger@'%'")


def test_a_connection_of_the_same_number_at_another_server_is_left_alone(server: Server) -> None:
    ours = Database(server)
    lease = contend(server, "one")
    assert lease.try_acquire() is None
    with ours.transaction() as tx:
        tx.execute("UPDATE lease SET connections = CONCAT(CONNECTION_ID(), '@77')")
    assert acquired(lease).epoch == 1
    with ours.reading() as tx:
        assert tx.value("SELECT 1") == 1
    ours.close()


@pytest.mark.wall_time
def test_the_server_ends_what_is_idle_in_a_transaction(server: Server, mariadb: MariaDB) -> None:
    """Where the take-over cannot kill the connection: here the lease has lost its number."""
    if not mariadb.execute("SHOW VARIABLES LIKE 'idle_transaction_timeout'"):
        pytest.skip("MySQL has no idle_transaction_timeout: run this on MariaDB, without TEST_DATABASE=ndb")
    term, other = acquired(contend(server, "one", SHORT)), contend(server, "other", SHORT)
    database = term.database()
    terms: list[Term] = []

    def leads() -> bool:
        with suppress(Contention):  # ROW_WAIT is over
            if taken := other.try_acquire():
                terms.append(taken)
        return bool(terms)

    with pytest.raises(LostLease), database.transaction() as tx:
        tx.execute("INSERT INTO proof (epoch) VALUES (1)")
        term.check(tx)
        mariadb.execute("UPDATE lease SET connections = ''", database=DATABASE)
        with within(lease_module.IDLE_LEASES * SHORT + 2):
            until(leads, 60)
    assert terms[0].epoch == 2


@pytest.mark.wall_time
def test_a_statement_that_waits_can_be_cut(server: Server) -> None:
    database = acquired(contend(server, "one", 60)).database()
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            with database.reading() as tx:
                tx.value("SELECT SLEEP(20)")
        except DatabaseUnavailable as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    database.cut()
    with within(3):
        thread.join()
    assert raised


def test_many_contenders_and_one_term(server: Server) -> None:
    terms: Queue[Term] = Queue()

    def ask(name: str) -> None:
        lease = contend(server, name, 30)
        for _ in range(5):
            with suppress(DatabaseError):
                term = lease.try_acquire()
                if term:
                    terms.put(term)
        lease.close()

    threads = [threading.Thread(target=ask, args=(f"daemon-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert terms.qsize() == 1


# --- processes --------------------------------------------------------------------------------------------------------


class Contender:
    """A process of tests/support/contender.py."""

    def __init__(self, server: Server, name: str, seconds: float = SECONDS, pause: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.contender", server.unix_socket, name, str(seconds), pause],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        self.said: Queue[tuple[str, int]] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, word: str, seconds: float = 10) -> int:
        """The epoch in which it says so."""
        deadline = time.monotonic() + scaled(seconds)
        with suppress(Empty):
            while True:
                said, epoch = self.said.get(timeout=max(0.0, deadline - time.monotonic()))
                if said == word:
                    return epoch
        raise AssertionError(f"the contender did not say {word!r} within {scaled(seconds):.1f} s")

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            word, epoch = line.split()
            self.said.put((word, int(epoch)))


@pytest.fixture
def start(server: Server) -> Iterator[Callable[..., Contender]]:
    contenders: list[Contender] = []

    def begin(name: str, seconds: float = SECONDS, pause: str = "") -> Contender:
        contenders.append(Contender(server, name, seconds, pause))
        return contenders[-1]

    yield begin
    for contender in contenders:
        contender.process.kill()
        contender.process.wait()


@pytest.mark.wall_time
@pytest.mark.parametrize("moment", ["writing", "committing"])
def test_a_leader_that_was_frozen_writes_nothing_afterwards(
    start: Callable[..., Contender], mariadb: MariaDB, moment: str
) -> None:
    old = start("old", pause=moment)
    assert old.wait_for(moment) == 1
    old.freeze()
    # The start of a process included. Without an end of the old connection its lock would stay for a hundred leases.
    with within(SECONDS + 1):
        new = start("new")
        assert new.wait_for("wrote") == 2
    old.thaw()
    old.wait_for("lost")
    new.wait_for("wrote")
    assert written(mariadb, 1) == 0
    assert mariadb.execute("SELECT wrong FROM counter", database=DATABASE) == [(0,)]


@pytest.mark.wall_time
def test_a_killed_leader_is_followed_within_the_lease(start: Callable[..., Contender]) -> None:
    old, new = start("old"), start("new")
    leader, standby = (old, new) if _first_to_say(old, new, "wrote") is old else (new, old)
    leader.process.kill()
    with within(SECONDS + 0.5):
        assert standby.wait_for("wrote") == 2


def _first_to_say(one: Contender, other: Contender, word: str) -> Contender:
    first: list[Contender] = []

    def said() -> bool:
        for contender in (one, other):
            with suppress(Empty):
                if contender.said.get_nowait()[0] == word:
                    first.append(contender)
        return bool(first)

    until(said, 10, f"no contender said {word!r}")
    return first[0]


def test_no_epoch_writes_after_a_later_one_whichever_process_freezes(
    start: Callable[..., Contender], mariadb: MariaDB
) -> None:
    contenders = {name: start(name, seconds=0.5) for name in ("one", "two", "three")}
    for contender in contenders.values():
        contender.wait_for("ready")
    chance = random.Random(7)  # noqa: S311 - when it freezes, not a secret
    frozen: list[Contender] = []
    began = time.monotonic()
    epoch = 0
    while epoch <= 3 or time.monotonic() - began < 4:
        assert time.monotonic() - began < scaled(60), f"only {epoch} epochs have written"
        time.sleep(chance.uniform(0.0, 0.1))
        ((epoch,),) = mariadb.execute("SELECT epoch FROM counter", database=DATABASE)
        holders = [holder for (holder,) in mariadb.execute("SELECT holder FROM lease", database=DATABASE)]
        leader = contenders.get(holders[0]) if holders else None
        if leader and leader not in frozen:
            leader.freeze()
            frozen.append(leader)
        if len(frozen) == len(contenders) or (frozen and chance.random() < 0.2):
            frozen.pop(chance.randrange(len(frozen))).thaw()
    for victim in frozen:
        victim.thaw()
    time.sleep(0.3)
    assert mariadb.execute("SELECT wrong FROM counter", database=DATABASE) == [(0,)]


# --- the server goes away ---------------------------------------------------------------------------------------------


def test_a_leader_outlives_its_database(tmp_path: Path) -> None:
    """With a long lease it leads on; with a short one it knows that it does not."""
    with run_mariadb(tmp_path) as mariadb:
        pid = int((tmp_path / "pid").read_text())
        argv = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        # As in production; a test's server forgets its last second when it is killed.
        mariadb.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        with own_schema(mariadb) as server, own_schema(mariadb, "other") as other:
            short, long = contend(server, "one", 0.5), Lease(other, Names(state="other"), "one", 60)
            terms = [acquired(short), acquired(long)]
            databases = [term.database() for term in terms]
            lost: list[LostLease] = []
            renewals = [Renewal(term, lost.append) for term in terms]
            for renewal, database in zip(renewals, databases, strict=True):
                renewal.start()
                insert(database, 1)
            os.kill(pid, signal.SIGKILL)
            for database in databases:
                with pytest.raises(DatabaseUnavailable):
                    insert(database, 1)
            time.sleep(0.6)
            again = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_until(lambda: answers(short), "MariaDB", tmp_path / "log")
                with suppress(DatabaseUnavailable):  # each connection learns of it once
                    terms[1].renew()
                insert(databases[1], 1)
                assert acquired(short).epoch == 2
                for renewal in renewals:
                    renewal.stop()
                assert [str(error) for error in lost] == [
                    "This daemon no longer leads (epoch 1): it could not be renewed for 0.5 s."
                ]
            finally:
                again.kill()
                again.wait()


def answers(lease: Lease) -> bool:
    try:
        return lease.standing() is not None
    except DatabaseError:
        return False
