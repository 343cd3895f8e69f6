"""Clients of HiveServer2 that people have in Python. Each asks one question in a session of its own."""

from __future__ import annotations

import json
import ssl
import subprocess
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import impala.dbapi
import thrift_sasl
from puresasl.client import SASLClient
from pyhive import hive
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSSLSocket import TSSLSocket

from tests.warehouse.people import GATEWAY_PORT, LOGIN_PORT, SERVER2_HTTP_PORT, SERVER2_PORT

if TYPE_CHECKING:
    from tests.warehouse.hosts import Host
    from tests.warehouse.people import PeopleLab, Person

USER = "SELECT current_user()"
# Of one connection, in seconds.
TIMEOUT = 60.0


@dataclass(frozen=True)
class Login:
    """What someone types. Without a project the session is the person's own."""

    name: str
    password: str = field(repr=False)
    project: str = "sales"


def of(person: Person, project: str = "sales") -> Login:
    """The person's own."""
    return Login(person.name, person.password, project)


class Sasl:
    """What thrift_sasl asks of a SASL library, with PLAIN."""

    def __init__(self, login: Login) -> None:
        self._client = SASLClient("hiveserver2", mechanism="PLAIN", username=login.name, password=login.password)

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        """The first message."""
        return True, mechanism, self._client.process()

    def step(self, challenge: bytes) -> tuple[bool, bytes]:
        """A further one."""
        return True, self._client.process(challenge)

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        """PLAIN encrypts nothing."""
        return True, data

    def getError(self) -> str:  # noqa: N802 - thrift_sasl's name
        """What went wrong in the library."""
        return ""


def first(connection: Any, sql: str = USER) -> str:
    """The first value of a query. Ends the connection."""
    try:
        cursor = connection.cursor()
        cursor.execute(sql)
        return str(cursor.fetchall()[0][0])
    finally:
        connection.close()


def tls(people: PeopleLab) -> ssl.SSLContext:
    """Trusts the warehouse's authority alone."""
    return ssl.create_default_context(cafile=people.authority)


def opened(login: Login) -> dict[str, Any]:
    """Arguments of PyHive's `connect` for the database of the project."""
    known = {"use:database": login.project} if login.project else {}
    return {"database": login.project or "default", "configuration": known}


def pyhive(people: PeopleLab, login: Login, host: Host | None = None) -> str:
    """The binary port, of a host or of the first one."""
    socket = TSSLSocket((host or people.lab.one("server2")).address, SERVER2_PORT, ssl_context=tls(people))
    socket.setTimeout(TIMEOUT * 1000)
    transport = thrift_sasl.TSaslClientTransport(partial(Sasl, login), "PLAIN", socket)
    return first(hive.connect(username=login.name, thrift_transport=transport, **opened(login)))


def pyhive_http(people: PeopleLab, login: Login) -> str:
    """HTTP, with name and password in each request."""
    url = f"https://{people.lab.one('server2').address}:{SERVER2_HTTP_PORT}/cliservice"
    transport = THttpClient(url, ssl_context=tls(people))
    hive.Connection._set_authorization_header(transport, login.name, login.password)
    return first(hive.connect(username=login.name, thrift_transport=transport, **opened(login)))


def impyla(people: PeopleLab, login: Login, *, http: bool = False) -> str:
    """It sends no database: the name has the project."""
    connection = impala.dbapi.connect(
        people.lab.one("server2").address,
        SERVER2_HTTP_PORT if http else SERVER2_PORT,
        auth_mechanism="LDAP",
        user=f"{login.name}#{login.project}" if login.project else login.name,
        password=login.password,
        use_ssl=True,
        ca_cert=str(people.authority),
        use_http_transport=http,
        http_path="cliservice" if http else "",
    )
    return first(connection)


def certified(people: PeopleLab, account: str, gateway: Host | None = None, project: str = "sales") -> str:
    """PyHive through a gateway, with the client certificate of an account."""
    context = tls(people)
    context.load_cert_chain(*people.certificate(account))
    url = f"https://{(gateway or people.lab.one('gateway')).address}:{GATEWAY_PORT}/cliservice"
    transport = THttpClient(url, ssl_context=context)
    transport.setTimeout(TIMEOUT * 1000)
    return first(hive.connect(thrift_transport=transport, **opened(Login("", "", project))))


def token(people: PeopleLab, login: Login, replica: Host | None = None) -> str:
    """As curl gets one. Raises CalledProcessError, and AssertionError with the service's answer."""
    given = {"name": login.name, "password": login.password, "database": login.project}
    url = f"https://{(replica or people.lab.group('login')[-1]).address}:{LOGIN_PORT}/v1/login"
    argv = ["curl", "--silent", "--show-error", "--max-time", "20", "--cacert", str(people.authority)]
    done = subprocess.run(
        [*argv, "--json", "@-", url], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert "token" in answer, answer
    return str(answer["token"])
