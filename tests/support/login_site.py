"""A site for tests of the login service: tables in a MariaDB, certificates, settings, replicas."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import argon2
import httpx
import yaml

from hopshive.database import Database, Names, render
from hopshive.tenancy import members
from hopshive.tenancy.login import backends, keys
from hopshive.tenancy.login.app import LoginApp
from hopshive.tenancy.login.clock import Clock
from hopshive.tenancy.login.metrics import LoginMetrics
from hopshive.tenancy.login.pool import Pool
from hopshive.tenancy.login.provider import IdentityProvider
from hopshive.tenancy.login.proxies import resolved
from hopshive.tenancy.login.service import LoginService
from hopshive.tenancy.login.settings import LoginSettings, checked
from hopshive.tenancy.login.wellbeing import Wellbeing
from hopshive.tenancy.tables import TABLES
from tests.support.servers import free_port, running

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from starlette.applications import Starlette

    from tests.support.authority import Authority, Pair
    from tests.support.servers import MariaDB

Result = TypeVar("Result")
STATE = "login_state"
ALICE = "alice@example.org"
# With a colon, as HTTP Basic would cut it.
PASSWORD = "won:der+land"
TOTP = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
# As argon2 is in production but for its cost.
CHEAP = argon2.PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1)
SEAL = "a secret of the hosts for sealing keys, long enough"
GATEWAY = "a secret of the gateway that is long enough too"


@dataclass
class LoginSite:
    """What replicas share. `more` are settings that a test adds, by section."""

    directory: Path
    mariadb: MariaDB
    authority: Authority
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def people(self) -> Path:
        """The people file."""
        return self.directory / "people.yml"

    def content(self, port: int = 9443) -> dict[str, Any]:
        """What a replica's file holds."""
        pair = self.authority.issue("localhost")
        found: dict[str, Any] = {
            "listen": {"host": "127.0.0.1", "port": port, "certificate": str(pair.certificate), "key": str(pair.key)},
            "database": {"unix_socket": self.mariadb.socket, "user": "root", "state": STATE, "connections": 4},
            "tokens": {"sealing_key_file": self.write("seal", SEAL)},
            "limits": {"refusal_seconds": 0},
            "gateway": {"secret_file": self.write("gateway", GATEWAY)},
            "file": {"path": str(self.people)},
        }
        for name, value in self.more.items():
            found[name] = {**found.get(name, {}), **value} if isinstance(value, dict) else value
        return found

    def settings(self, port: int = 9443) -> LoginSettings:
        """The same, checked."""
        return checked(self.content(port), Path("login.yml"))

    def write(self, name: str, text: str) -> str:
        """A file with one line."""
        path = self.directory / name
        path.write_text(f"{text}\n")
        return str(path)

    def write_people(self, people: Mapping[str, object]) -> None:
        """The people file, in one step."""
        new = self.directory / "people.new"
        new.write_text(yaml.safe_dump({"people": people}))
        new.replace(self.people)

    def database(self) -> Database:
        """A connection; close it."""
        settings = self.settings()
        return Database(settings.server(), settings.names)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as root; `{state}` is the schema."""
        return self.mariadb.execute(*(render(one, Names(STATE)) for one in statements))

    def join(self, project: str, account: str, role: str = "member") -> None:
        """Make the account a member."""
        database = self.database()
        with database.transaction() as tx:
            members.add(tx, project, account, role)
        database.close()

    def run(self, work: Callable[[LoginService], Awaitable[Result]]) -> Result:
        """Do it with a replica in this process, without its port."""

        async def whole() -> Result:
            with self.service() as made:
                service, _, _, pool = made
                sealer = keys.Sealer(SEAL, "seal")
                service.ring = await pool.run(lambda tx: keys.ensure(tx, sealer, 900))
                try:
                    return await work(service)
                finally:
                    await service.settled()

        return asyncio.run(whole())

    def visit(self, work: Callable[[Visit], Awaitable[Result]]) -> Result:
        """Ask the pages of a replica in this process. Its keys are read, and its port is not open."""

        async def whole() -> Result:
            with self.service() as (service, wellbeing, metrics, pool):
                sealer, clock, settings = keys.Sealer(SEAL, "seal"), Clock(), self.settings()
                service.ring = await pool.run(lambda tx: keys.ensure(tx, sealer, 900))
                secret = settings.gateway_secret()
                proxies = resolved(settings.listen.proxies)
                app = LoginApp(settings, service, wellbeing, metrics, clock, secret, proxies).routes()
                try:
                    return await work(Visit(app))
                finally:
                    await service.settled()

        return asyncio.run(whole())

    @contextmanager
    def service(self) -> Iterator[tuple[LoginService, Wellbeing, LoginMetrics, Pool]]:
        """A replica's parts. Its keys are not read yet."""
        settings = self.settings()
        metrics, clock = LoginMetrics(), Clock()
        backend = backends.make(settings)
        wellbeing = Wellbeing(settings.server(), backend.title, metrics)
        pool = Pool(settings.server(), settings.names, settings.database.connections, wellbeing.database)
        provider = IdentityProvider(settings.provider) if settings.provider.issuer else None
        try:
            yield LoginService(settings, pool, backend, provider, clock, metrics), wellbeing, metrics, pool
        finally:
            pool.close()

    @contextmanager
    def replica(self, name: str, port: int = 0) -> Iterator[Replica]:
        """A process of its own; it may not answer yet."""
        port = port or free_port()
        path = self.directory / f"{name}.yml"
        path.write_text(yaml.safe_dump(self.content(port)))
        log = self.directory / f"{name}.log"
        argv = [sys.executable, "-m", "hopshive.cli", "login", "serve", "--config", str(path)]
        source = str(Path(__file__).parents[2] / "src")
        with running(argv, log, {"PYTHONPATH": source, "JOURNAL_STREAM": ""}) as process:
            yield Replica(port, process, log, self.authority.path)


@dataclass(frozen=True)
class Visit:
    """Asks the pages of an application, as if from an address."""

    app: Starlette

    async def __call__(
        self,
        method: str,
        path: str,
        headers: Sequence[tuple[str, str]] = (),
        body: object = None,
        by: str = "192.0.2.1",
    ) -> httpx.Response:
        """The answer."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(by, 1))
        async with httpx.AsyncClient(transport=transport, base_url="https://login") as client:
            return await client.request(method, path, headers=list(headers), json=body)


@dataclass(frozen=True)
class Answer:
    """What a replica answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Replica:
    """A process that serves."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    authority: Path

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
        pair: Pair | None = None,
    ) -> Answer:
        """One request on a connection of its own, with a certificate if one is given. Raises OSError."""
        context = ssl.create_default_context(cafile=self.authority)
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        connection = HTTPSConnection("localhost", self.port, timeout=timeout, context=context)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def login(self, name: str, password: str, **more: str) -> Answer:
        """POST /v1/login."""
        return self.ask("POST", "/v1/login", {"name": name, "password": password, **more})

    def healthy(self) -> bool:
        """Whether /healthz says so."""
        try:
            return self.ask("GET", "/healthz", timeout=5).status == 200
        except OSError:
            return False


def make_tables(mariadb: MariaDB) -> None:
    """The tables of tenancy, empty. With TEST_DATABASE=ndb, those of an SQL node of NDB."""
    names = Names(STATE)
    engine = "NDB" if os.environ.get("TEST_DATABASE") == "ndb" else "InnoDB"
    mariadb.execute(
        f"DROP DATABASE IF EXISTS {STATE}",
        f"CREATE DATABASE {STATE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        *(render(text, names).replace("{engine}", engine) for text in TABLES.values()),
    )


def person(account: str = "alice", password: str = PASSWORD, **more: object) -> dict[str, object]:
    """One of the people file."""
    return {"account": account, "password": CHEAP.hash(password), **more}
