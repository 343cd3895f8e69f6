"""HTTP as an attacker speaks it: any header, any path, any bytes."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any

from tests.attack.attempt import NotTriedError
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.attack.inventory import Person
    from tests.attack.site import Site
    from tests.warehouse.hosts import Host

LOGIN, GATEWAY, SERVER2_HTTP, SERVER2_PAGE = 9443, 10443, 10001, 10002
# The longest that an answer is read.
LARGEST = 1 << 20


@dataclass(frozen=True)
class Answer:
    """What a request was answered. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __str__(self) -> str:
        text = self.body.decode(errors="replace")
        try:
            said = json.loads(text)
            text = str(said.get("message", sorted(said)))
        except (ValueError, AttributeError):
            pass
        return f"{self.status} {text}".strip()

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON object of the body. Raises NotTriedError."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise NotTriedError(f"the answer is no JSON object: {self}")
        return found


class Web:
    """Requests from the controller, which is no host of the warehouse."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def ask(
        self,
        host: Host,
        port: int,
        method: str = "GET",
        path: str = "/",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        context: ssl.SSLContext | None = None,
        timeout: float = 60,
    ) -> Answer:
        """One request, over TLS. Raises OSError and NotTriedError."""
        connection = HTTPSConnection(host.address, port, timeout=timeout, context=context or self._site.tls)
        return self._asked(connection, method, path, headers, body)

    def ask_plain(self, host: Host, port: int, path: str, timeout: float = 5) -> Answer:
        """One request without TLS. Raises OSError and NotTriedError."""
        return self._asked(HTTPConnection(host.address, port, timeout=timeout), "GET", path, None, None)

    def _asked(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str] | None,
        body: bytes | None,
    ) -> Answer:
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            found = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read(LARGEST))
        except HTTPException as error:
            raise NotTriedError(f"{method} {path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
        self._site.heard.append(f"{found.headers} {found.body!r}")
        return found

    def raw(self, host: Host, port: int, data: bytes, context: ssl.SSLContext | None = None) -> bytes:
        """Send bytes as they are; all that comes within a few seconds. Raises OSError."""
        found = b""
        with (
            socket.create_connection((host.address, port), timeout=10) as plain,
            (context or self._site.tls).wrap_socket(plain, server_hostname=host.address) as connection,
        ):
            connection.settimeout(3)
            connection.sendall(data)
            try:
                while (part := connection.recv(65536)) and len(found) < LARGEST:
                    found += part
            except TimeoutError:
                pass
        self._site.heard.append(repr(found))
        return found

    def login(
        self,
        name: object,
        password: object,
        headers: Mapping[str, str] | None = None,
        *,
        database: str = "",
        code: str = "",
    ) -> Answer:
        """POST /v1/login. Raises OSError."""
        fields = {"name": name, "password": password, "database": database}
        return self.post("/v1/login", fields | ({"code": code} if code else {}), headers)

    def post(self, path: str, fields: object, headers: Mapping[str, str] | None = None, replica: int = 0) -> Answer:
        """A request to a login service. `replica`: its number in the group. Raises OSError."""
        host = self._site.lab.group("login")[replica]
        body = json.dumps(fields).encode()
        return self.ask(host, LOGIN, "POST", path, {"Content-Type": "application/json", **(headers or {})}, body)

    def token(self, person: Person, database: str = "") -> str:
        """A token that the service gives for a person's password. Raises NotTriedError."""
        code = person.code() if person.totp else ""
        answer = self.login(person.login, person.password, database=database, code=code)
        if answer.status != 200:
            raise NotTriedError(f"control: {person.login} gets no token: {answer}")
        return str(answer.fields["token"])


def basic(name: str, password: str) -> dict[str, str]:
    """The header of HTTP Basic."""
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


class _Posted:
    """Thrift over HTTP: each message is a request, and its answer the body."""

    def __init__(self, web: Web, session: HttpSession) -> None:
        self._web = web
        self._session = session
        self._body = b""
        self._cookie = ""

    def write(self, data: bytes) -> None:
        one = self._session
        cookie = {"Cookie": self._cookie} if self._cookie else {}
        headers = {"Content-Type": "application/x-thrift", **cookie, **one.headers}
        answer = self._web.ask(one.host, one.port, "POST", one.path, headers, data, one.context, timeout=120)
        if answer.status != 200:
            raise HiveError(str(answer), state=str(answer.status))
        self._cookie = one.cookie = answer.headers.get("set-cookie", "").partition(";")[0] or self._cookie
        self._body = answer.body

    def read(self, size: int) -> bytes:
        found, self._body = self._body[:size], self._body[size:]
        if len(found) < size:
            raise ConnectionError("the answer ended early")
        return found

    def close(self) -> None:
        self._body = b""


class HttpSession(HiveSession):
    """A session of HiveServer2 over HTTP, with the headers of each request."""

    def __init__(
        self,
        web: Web,
        host: Host,
        port: int = SERVER2_HTTP,
        path: str = "/cliservice",
        headers: Mapping[str, str] | None = None,
        context: ssl.SSLContext | None = None,
        database: str = "",
        user: str = "",
    ) -> None:
        super().__init__(
            host.address, port, user or "anonymous", configuration={"use:database": database} if database else {}
        )
        self.web, self.host, self.port, self.path = web, host, port, path
        self.headers = dict(headers or {})
        self.context = context
        # What the server gave last.
        self.cookie = ""

    def whose(self) -> str:
        """Whom HiveServer2 takes the session for, which ends. Raises HiveError for a session that it refuses, and OSError."""
        try:
            return str(self.execute("SELECT current_user()")[0][0])
        finally:
            self.close()

    def _connect(self) -> _Posted:
        return _Posted(self.web, self)
