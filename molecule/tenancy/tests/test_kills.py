"""A login service, a HiveServer2 and a gateway end under clients that log in all the time, and others take over."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.support.hive_clients import Login, certified, of, pyhive, token
from tests.support.patience import slowness
from tests.warehouse.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.warehouse.hosts import Host
    from tests.warehouse.people import PeopleLab

# Within so many seconds of the end of a service a new login succeeds.
BOUND = 5.0
# Clients work that long before the end of the service, and after it.
BEFORE, AFTER = 4.0, 12.0
# Between two logins. Wrong ones are rare: an address has a hundred of them within five minutes.
PAUSE, PAUSE_OF_INTRUDERS = 0.3, 2.0
UNITS = {"login": "hopshive-login", "server2": "hive-server2", "gateway": "hopshive-gateway"}


@dataclass
class Client(threading.Thread):
    """Logs in until it is told to stop. After a host that fails comes the next one, as in clients that have a list of hosts."""

    way: Callable[[Host], str]
    hosts: Sequence[Host]
    pause: float = PAUSE
    # Of each login that succeeded: when it began and ended, and as whom.
    accepted: list[tuple[float, float, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        """See above."""
        while not self._over.wait(self.pause):
            began = time.monotonic()
            for host in self.hosts:
                try:
                    user = self.way(host)
                except Exception as error:
                    self.errors.append(f"{host.name}: {error}")
                else:
                    self.accepted.append((began, time.monotonic(), user))
                    break

    def __enter__(self) -> Client:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(60)

    def longest_wait(self, since: float, until: float) -> float:
        """The longest time between two moments without a login that succeeded, and that began after the first."""
        ends = [ended for began, ended, _ in self.accepted if since <= began and ended <= until]
        return max(later - earlier for earlier, later in pairwise([since, *ends, until]))


@pytest.fixture(autouse=True)
def whole(people: PeopleLab) -> Iterator[None]:
    """Everything works before a test and after it."""
    wait_whole(people)
    yield
    wait_whole(people)


def wait_whole(people: PeopleLab) -> None:
    alice = of(people.person("alice"))
    works: list[Callable[[], str]] = [partial(token, people, alice, host) for host in people.lab.group("login")]
    works += [partial(pyhive, people, alice, host) for host in people.lab.group("server2")]
    works += [partial(certified, people, "alice", host) for host in people.lab.group("gateway")]
    deadline = time.monotonic() + 180
    for work in works:
        while True:
            try:
                work()
                break
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)


def clients(people: PeopleLab) -> dict[str, Client]:
    """Those who may come in, each by another way. The host that ends is the first that each tries."""
    bob = people.person("bob")
    known = Login(bob.name, token(people, of(bob)))
    servers, gateways = people.lab.group("server2"), people.lab.group("gateway")
    return {
        "password": Client(partial(pyhive, people, of(people.person("alice"))), servers),
        "token": Client(partial(pyhive, people, known), servers),
        "certificate": Client(partial(certified, people, "alice"), gateways),
        "curl": Client(lambda host: "sales__bob" if token(people, of(bob), host) else "", people.lab.group("login")),
    }


def intruders(people: PeopleLab) -> dict[str, Client]:
    """Those who may not, with what is almost right."""
    bob, dave = people.person("bob"), people.person("dave")
    right = token(people, of(bob))
    head, _, signature = right.rpartition(".")
    forged = f"{head}.{signature[::-1]}"
    servers, gateways = people.lab.group("server2"), people.lab.group("gateway")
    ways: dict[str, tuple[Callable[[Host], str], Sequence[Host]]] = {
        "wrong password": (partial(pyhive, people, Login(dave.name, f"{dave.password}x", "plans")), servers),
        "foreign project": (partial(pyhive, people, of(bob, "plans")), servers),
        "foreign token": (partial(pyhive, people, Login(dave.name, right)), servers),
        "forged token": (partial(pyhive, people, Login(bob.name, forged)), servers),
        "foreign certificate": (partial(certified, people, "alice", project="plans"), gateways),
    }
    return {name: Client(way, hosts, PAUSE_OF_INTRUDERS) for name, (way, hosts) in ways.items()}


@pytest.mark.parametrize("group", UNITS)
def test_new_logins_succeed_soon_and_wrong_ones_never(people: PeopleLab, group: str) -> None:
    right, wrong = clients(people), intruders(people)
    with ExitStack() as stack:
        for client in (*right.values(), *wrong.values()):
            stack.enter_context(client)
        began = time.monotonic()
        time.sleep(BEFORE)
        Service(people.lab.one(group), UNITS[group]).kill()
        killed = time.monotonic()
        time.sleep(AFTER * slowness())
        ended = time.monotonic()
    assert {name: client.accepted for name, client in wrong.items() if client.accepted} == {}
    assert [name for name, client in wrong.items() if not client.errors] == []
    users = {name: {user for _, _, user in client.accepted} for name, client in right.items()}
    assert users == {
        "password": {"sales__alice"},
        "token": {"sales__bob"},
        "certificate": {"sales__alice"},
        "curl": {"sales__bob"},
    }
    # What a login takes on this machine, with the clients at work, comes on top.
    usual = {name: client.longest_wait(began, killed) for name, client in right.items()}
    waits = {name: client.longest_wait(killed, ended) - usual[name] for name, client in right.items()}
    print(f"without the first {group}, later by: " + ", ".join(f"{name} {wait:.1f} s" for name, wait in waits.items()))
    assert {name: wait for name, wait in waits.items() if wait > BOUND * slowness()} == {}, {
        name: client.errors[-5:] for name, client in right.items()
    }
