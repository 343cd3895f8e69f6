"""Two replicas, processes of their own, on one MariaDB: what they share, and what happens when something ends."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyotp
import pytest

from hopshive.tenancy.login.backends.people import HASHER
from hopshive.tenancy.login.tokens import key_of
from tests.support.login_site import ALICE, PASSWORD, TOTP, Answer, LoginSite, Replica, make_tables, person
from tests.support.patience import scaled, until, within
from tests.support.servers import run_leaving_mariadb, wait_until, write_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.authority import Authority

BOB = "bob@example.org"
# Of prctl(2).
MDWE_SET, MDWE_GET = 65, 66


@pytest.fixture
def site(login_site: LoginSite) -> LoginSite:
    return login_site


@contextmanager
def two(site: LoginSite) -> Iterator[list[Replica]]:
    """Two replicas that answer. The second one starts after the first: it finds the first one's key, and makes none."""
    with site.replica("one") as one:
        wait_until(one.healthy, "the replica", one.log)
        with site.replica("two") as another:
            wait_until(another.healthy, "the replica", another.log)
            yield [one, another]


def test_two_that_start_at_once_accept_each_others_tokens(site: LoginSite) -> None:
    """Each may make a key; both take the newest."""
    with site.replica("one") as one, site.replica("two") as another:
        for replica in (one, another):
            wait_until(replica.healthy, "the replica", replica.log)
        tokens = [replica.login(ALICE, PASSWORD).json["token"] for replica in (one, another)]
        assert [one.login("", token).status for token in tokens] == [200, 200]
        assert [another.login("", token).status for token in tokens] == [200, 200]


def at_once(*calls: Callable[[], Answer]) -> list[Answer]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [one.result() for one in [threads.submit(call) for call in calls]]


def statuses(answers: list[Answer]) -> list[int]:
    return sorted(one.status for one in answers)


def command(site: LoginSite, *arguments: str) -> str:
    """`hopshive login`, as an operator calls it on a host of a replica; what it prints."""
    argv = [sys.executable, "-m", "hopshive.cli", "login", arguments[0], "--config", str(site.directory / "one.yml")]
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [*argv, *arguments[1:]], env={**os.environ, "PYTHONPATH": source}, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_limits_are_counted_together(site: LoginSite) -> None:
    site.more["limits"] = {"name": 4, "refusal_seconds": 0}
    with two(site) as replicas:
        wrong = [replicas[number % 2].login(ALICE, f"wrong{number}") for number in range(4)]
        assert [one.status for one in wrong] == [401] * 4
        for replica in replicas:
            answer = replica.login(ALICE, PASSWORD)
            assert answer.status == 429
            assert answer.json["error"] == "limited"
            assert 1 <= int(answer.headers["retry-after"]) <= 300


def test_guesses_at_once_over_both_are_no_more_than_the_limit(site: LoginSite) -> None:
    site.more["limits"] = {"name": 5, "address": 1000, "refusal_seconds": 0}
    with two(site) as replicas:
        answers = at_once(
            *(lambda number=number: replicas[number % 2].login(ALICE, f"guess{number}") for number in range(30))
        )
    assert statuses(answers) == [401] * 5 + [429] * 25


def test_a_code_is_accepted_once_over_both(site: LoginSite) -> None:
    site.write_people({ALICE: person(totp=TOTP)})
    with two(site) as replicas:
        totp = pyotp.TOTP(TOTP)
        # At the beginning of a step, so that none of the calls comes in the next one.
        until(lambda: time.time() % 30 < 20, 15)
        code = totp.now()
        answers = at_once(*(lambda one=one: one.login(ALICE, PASSWORD, code=code) for one in replicas * 3))
        assert statuses(answers) == [200] + [401] * 5
        assert statuses([one.login(ALICE, PASSWORD, code=code) for one in replicas]) == [401, 401]


def test_a_revocation_counts_at_both_at_once(site: LoginSite) -> None:
    with two(site) as (one, another):
        token = one.login(ALICE, PASSWORD).json["token"]
        assert another.login("", token).status == 200
        assert one.ask("POST", "/v1/revoke", headers={"Authorization": f"Bearer {token}"}).status == 200
        assert [replica.login("", token).status for replica in (one, another)] == [401, 401]
        token = another.login(ALICE, PASSWORD).json["token"]
        assert one.login("", token).status == 200
        assert "All tokens of alice" in command(site, "revoke", "alice")
        assert [replica.login("", token).status for replica in (one, another)] == [401, 401]


def test_keys_rotate_while_both_serve(site: LoginSite) -> None:
    """Each token verifies at both until its own end, and its key is published before it is seen."""
    site.more["tokens"] = {"lifetime": 8, "lead": 6}
    with two(site) as replicas:
        first = replicas[0].login(ALICE, PASSWORD).json["token"]
        old = key_of(first)
        assert "signs in 6 s" in command(site, "rotate-keys")
        published: set[str] = set()
        last, expires, new = first, 0.0, ""
        began = time.monotonic()
        number = 0
        while not new:
            assert time.monotonic() - began < scaled(30)
            number += 1
            one, another = replicas[number % 2], replicas[1 - number % 2]
            published |= {key["kid"] for key in another.ask("GET", "/.well-known/jwks.json").json["keys"]}
            asked = time.monotonic()
            granted = one.login(ALICE, PASSWORD).json
            assert key_of(granted["token"]) in published | {old}
            assert another.login("", granted["token"]).status == 200
            if key_of(granted["token"]) == old:
                last, expires = granted["token"], asked + granted["expires_in"]
            else:
                new = key_of(granted["token"])
        assert new != old
        # The old key's last token, to its end.
        refused = 0
        while time.monotonic() < expires - 1:
            answers = [replica.login("", last).status for replica in replicas]
            refused += answers != [200, 200]
            time.sleep(0.1)
        assert refused == 0
        until(lambda: [replica.login("", last).status for replica in replicas] == [401, 401], 5)
        assert "expired" in (replicas[0].log.read_text() + replicas[1].log.read_text())


@pytest.mark.wall_time
def test_one_replica_is_killed_under_clients(site: LoginSite) -> None:
    """Clients that ask the other get in within 5 s, and no wrong password does."""
    site.write_people({ALICE: person(), BOB: person("bob")})
    site.more["limits"] = {"name": 10_000, "address": 10_000, "refusal_seconds": 0}
    with two(site) as replicas:
        stop = threading.Event()
        took: list[float] = []
        wrong: list[int] = []

        def people() -> None:
            while not stop.is_set():
                began = time.monotonic()
                assert asked(replicas, ALICE, PASSWORD) == 200
                took.append(time.monotonic() - began)

        def guesser() -> None:
            while not stop.is_set():
                wrong.append(asked(replicas, BOB, "wrong"))

        with ThreadPoolExecutor(4) as threads:
            clients = [threads.submit(one) for one in (people, people, people, guesser)]
            try:
                until(lambda: len(took) > 20, 20)
                replicas[0].process.kill()
                before = len(took)
                until(lambda: len(took) > before + 20, 20)
                with site.replica("again", replicas[0].port) as again:
                    wait_until(again.healthy, "the replica", again.log)
                    assert again.login(ALICE, PASSWORD).status == 200
            finally:
                stop.set()
            for client in clients:
                client.result()
        assert max(took) < scaled(5)
        assert set(wrong) == {401}


@pytest.mark.wall_time
def test_the_database_is_away_and_comes_back(tmp_path: Path, authority: Authority) -> None:
    with run_leaving_mariadb(tmp_path / "mariadb") as (mariadb, away):
        make_tables(mariadb)
        site = LoginSite(tmp_path, mariadb, authority)
        site.write_people({ALICE: person()})
        site.join("sales", "alice")
        with two(site) as replicas:
            token = replicas[0].login(ALICE, PASSWORD).json["token"]
            with away():
                began = time.monotonic()
                while time.monotonic() - began < 3:
                    for replica in replicas:
                        for name, password in ((ALICE, PASSWORD), (ALICE, "wrong"), ("", token)):
                            answer = replica.login(name, password)
                            assert answer.status == 503
                            assert answer.json["error"] == "unavailable"
                            assert (
                                "The database of the login service cannot be asked now: try again later."
                                in (answer.json["message"])
                            )
                # A contact of the last seconds counts.
                until(lambda: replicas[0].ask("GET", "/healthz").status == 503, 20)
                assert b"login_state" in replicas[0].ask("GET", "/healthz").body
                # The key of the token is published all the while.
                published = replicas[0].ask("GET", "/.well-known/jwks.json").json["keys"]
                assert key_of(token) in [key["kid"] for key in published]
            for replica in replicas:
                with within(5):
                    assert replica.login(ALICE, PASSWORD, database="sales").json["user"] == "sales__alice"
                assert replica.login(ALICE, "wrong").status == 401
                assert replica.login("", token).status == 200
                wait_until(replica.healthy, "the replica", replica.log)


@pytest.mark.wall_time
def test_a_database_that_hangs_holds_no_login_longer_than_its_time(tmp_path: Path, authority: Authority) -> None:
    with run_leaving_mariadb(tmp_path / "mariadb") as (mariadb, _):
        make_tables(mariadb)
        site = LoginSite(tmp_path, mariadb, authority, {"timeout": 2})
        site.write_people({ALICE: person()})
        with two(site) as replicas:
            pid = int((tmp_path / "mariadb/pid").read_text())
            os.kill(pid, signal.SIGSTOP)
            try:
                with within(6):
                    answers = at_once(*(lambda one=one: one.login(ALICE, PASSWORD) for one in replicas * 4))
            finally:
                os.kill(pid, signal.SIGCONT)
            assert statuses(answers) == [503] * 8
            for replica in replicas:
                until(partial(gets_in, replica), 15)


@pytest.mark.wall_time
def test_a_replica_that_is_told_to_end_answers_what_is_under_way(site: LoginSite) -> None:
    site.more["limits"] = {"refusal_seconds": 1.5}
    site.write_people({ALICE: {"account": "alice", "password": HASHER.hash(PASSWORD)}})
    with site.replica("one") as replica:
        wait_until(replica.healthy, "the replica", replica.log)
        with ThreadPoolExecutor(1) as threads, slow_request(replica):
            answer = threads.submit(replica.login, ALICE, "wrong")
            until(lambda: b"hopshive_login_under_way 1.0" in replica.ask("GET", "/metrics").body, 5)
            with within(15):
                replica.process.terminate()
                assert answer.result().status == 401
                assert replica.process.wait(scaled(15)) == 0
        with pytest.raises(OSError):
            replica.ask("GET", "/healthz", timeout=2)
        assert "The login service was told to end." in replica.log.read_text()
        assert "Traceback" not in replica.log.read_text()


def test_it_works_where_no_memory_becomes_executable(
    site: LoginSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the unit's MemoryDenyWriteExecute has it: PR_SET_MDWE with PR_MDWE_REFUSE_EXEC_GAIN."""
    if ctypes.CDLL(None).prctl(MDWE_GET, 0, 0, 0, 0) < 0:
        pytest.skip("this kernel has no PR_SET_MDWE: Linux 6.3 or later has it")
    python = tmp_path / "python"
    refuse = f"assert not ctypes.CDLL(None).prctl({MDWE_SET}, 1, 0, 0, 0)"
    code = f"import ctypes, os, sys; {refuse}; os.execv(sys.argv[1], sys.argv[1:])"
    write_script(python, [sys.executable, "-c", code, sys.executable])
    monkeypatch.setattr(sys, "executable", str(python))
    site.write_people({ALICE: {"account": "alice", "password": HASHER.hash(PASSWORD)}})
    with site.replica("one") as replica:
        wait_until(replica.healthy, "the replica", replica.log)
        token = replica.login(ALICE, PASSWORD).json["token"]
        assert replica.login("", token).status == 200


def gets_in(replica: Replica) -> bool:
    return replica.login(ALICE, PASSWORD).status == 200


def asked(replicas: list[Replica], name: str, password: str) -> int:
    """As the authenticator does it: the next replica if one does not answer."""
    for number in range(20):
        try:
            return replicas[number % 2].ask("POST", "/v1/login", {"name": name, "password": password}, timeout=4).status
        # A replica that is killed leaves some answers without their end.
        except (OSError, http.client.HTTPException):
            continue
    raise AssertionError("no replica answers")


@contextmanager
def slow_request(replica: Replica) -> Iterator[None]:
    """A client that has sent half of a request, and waits."""
    context: Any = ssl.create_default_context(cafile=replica.authority)
    with (
        socket.create_connection(("localhost", replica.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        secure.sendall(b"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        yield
