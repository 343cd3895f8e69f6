"""Logins of the login service: how many a second, and how long one takes, by password and by token, at one replica and two."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from tests.bench.figures import percentile
from tests.bench.measurement import Measurement
from tests.warehouse.people import LOGIN_PORT, PeopleLab

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.warehouse import Host

# People without one-time codes, which are good for one login each. A name has few attempts at once, so they take turns.
PEOPLE = {"alice": "sales", "bob": "sales", "dave": "plans"}
WAYS = ("password", "token")
# Clients at once, and replicas: one client shows how long a login takes, several how many there are in a second.
CASES = ((1, 1), (8, 1), (8, 2))
ROUNDS = 4
SECONDS = 5.0


@dataclass(frozen=True)
class Login:
    """What a client sends, and as whom it then may act."""

    body: bytes = field(repr=False)
    project: str


@dataclass
class Found:
    """What the rounds of one way have shown: rates in logins a second, and the milliseconds of each login."""

    rates: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


class LoginClient:
    """One connection to one replica, which stays open as those of HiveServer2 do."""

    def __init__(self, host: Host, context: ssl.SSLContext) -> None:
        self._connection = http.client.HTTPSConnection(host.address, LOGIN_PORT, context=context, timeout=30)
        self._name = host.name

    def login(self, login: Login) -> dict[str, Any]:
        """The answer. Raises ClickException, with the service's own sentence, for anything but a login."""
        self._connection.request("POST", "/v1/login", login.body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise click.ClickException(
                f"The login service of {self._name} answered {response.status}: {answer['message']}"
            )
        return dict(answer)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def asked(name: str, password: str, project: str) -> Login:
    """The request of a person, or of who has a token."""
    return Login(json.dumps({"name": name, "password": password, "database": project}).encode(), project)


def token(people: PeopleLab, account: str, project: str) -> str:
    """A token of a person, which the first replica gives for the password."""
    person = people.person(account)
    with closing(LoginClient(people.lab.one("login"), _context(people))) as client:
        return str(client.login(asked(person.name, person.password, project))["token"])


def measure(people: PeopleLab, scale: float) -> list[Measurement]:
    """Logins a second and milliseconds of one; ways, numbers of replicas and of clients take turns."""
    replicas = people.lab.group("login")
    order = [(clients, count, way) for clients, count in CASES if count <= len(replicas) for way in WAYS]
    found = {case: Found() for case in order}
    for turn in range(max(1, round(ROUNDS * scale))):
        requests = {"password": _by_password(people), "token": _by_token(people)}
        for case in order if turn % 2 == 0 else reversed(order):
            clients, count, way = case
            milliseconds, seconds = _round(people, replicas[:count], clients, requests[way], SECONDS * scale)
            found[case].milliseconds += milliseconds
            found[case].rates.append(len(milliseconds) / seconds)
    return [one for case, figures in found.items() for one in measurements(*case, figures)]


def measurements(clients: int, replicas: int, way: str, found: Found) -> list[Measurement]:
    """One client tells how long a login takes, several tell how many there are."""
    at = f"by {way}, {replicas} replica{'s' * (replicas > 1)}, {clients} client{'s' * (clients > 1)}"
    return [
        Measurement(f"logins {at}", median(found.rates), "1/s"),
        Measurement(f"a login {at}, p50", percentile(found.milliseconds, 50), "ms"),
        Measurement(f"a login {at}, p99", percentile(found.milliseconds, 99), "ms"),
    ]


def _by_password(people: PeopleLab) -> list[Login]:
    persons = {people.person(account): project for account, project in PEOPLE.items()}
    return [asked(person.name, person.password, project) for person, project in persons.items()]


def _by_token(people: PeopleLab) -> list[Login]:
    return [
        asked(people.person(account).name, token(people, account, project), project)
        for account, project in PEOPLE.items()
    ]


def _round(
    people: PeopleLab, replicas: Sequence[Host], clients: int, requests: Sequence[Login], seconds: float
) -> tuple[list[float], float]:
    """Milliseconds of each login of all clients, and seconds that all together took. Raises ClickException."""
    context = _context(people)
    found: list[float] = []
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            with closing(LoginClient(replicas[number % len(replicas)], context)) as client:
                turn = number
                client.login(requests[turn % len(requests)])  # The handshake is not counted.
                gate.wait()
                while time.monotonic() < gate_opened[0] + seconds:
                    turn += 1
                    began = time.perf_counter()
                    client.login(requests[turn % len(requests)])
                    found.append((time.perf_counter() - began) * 1000)
        except Exception as error:
            errors.append(error)
            gate.abort()

    gate_opened = [0.0]
    gate = threading.Barrier(clients, lambda: gate_opened.__setitem__(0, time.monotonic()))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((one for one in errors if not isinstance(one, threading.BrokenBarrierError)), errors[0])
    return found, time.monotonic() - gate_opened[0]


def _context(people: PeopleLab) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=people.authority)
