"""The HTTP port of the daemon: metrics for Prometheus, health and leadership for load balancers and probes.

As in the REST API of Patroni, the status alone is the answer: 200 is yes, 503 is no. Each request has a thread of its own.
No request waits for a database or a NameNode: answers come from the daemon's memory.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import CollectorRegistry

    from hopshive.daemon.health import Health

# The longest silence of a client, in seconds: a client that only connects must not keep its thread.
PATIENCE = 10.0
METHODS = ("GET", "HEAD")


class EndpointError(Exception):
    """The endpoint cannot be served; the message names host, port and setting."""


@contextmanager
def endpoint(
    host: str, port: int, registry: CollectorRegistry, health: Health, tls: tuple[str, str] | None = None
) -> Iterator[None]:
    """Serve http://host:port until the block's end, https with the files of a certificate and its key; port 0: nothing.

    Raises EndpointError.
    """
    if not port:
        yield
        return
    try:
        certificate = _Certificate(*tls) if tls else None
    except OSError as error:
        raise EndpointError(
            f"{' and '.join(tls or ())} (metrics.certificate, metrics.key) cannot be used: {error}."
        ) from None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        server = _Server(family, address, certificate)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EndpointError(f"{host}:{port} (metrics.host, metrics.port) cannot be served: {reason}.") from None
    server.set_app(application(registry, health))
    thread = threading.Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True)
class _Answer:
    """A page's answer to GET. `status`: as in the first line, `200 OK`."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


_Page = Callable[["WSGIEnvironment"], _Answer]


def application(registry: CollectorRegistry, health: Health) -> WSGIApplication:
    """Routes a request to its page. HEAD answers as GET without the body."""
    pages: dict[str, _Page] = {
        "/metrics": _metrics(registry),
        "/healthz": lambda _: _healthz(health),
        "/leader": lambda _: _leader(health),
    }

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        page = pages.get(environ["PATH_INFO"])
        method = environ["REQUEST_METHOD"]
        if page is None:
            found = _text(HTTPStatus.NOT_FOUND, f"The paths of this port are {', '.join(pages)}.")
        elif method not in METHODS:
            allowed = ", ".join(METHODS)
            found = _text(HTTPStatus.METHOD_NOT_ALLOWED, f"The methods of this path are {allowed}.", ("Allow", allowed))
        else:
            found = page(environ)
        start(found.status, [*found.headers, ("Content-Length", str(len(found.body)))])
        return [b"" if method == "HEAD" else found.body]

    return answer


def _metrics(registry: CollectorRegistry) -> _Page:
    """Text for Prometheus, compressed and in the format that the client asks for."""
    wsgi: Callable[..., Iterable[bytes]] = make_wsgi_app(registry)

    def page(environ: WSGIEnvironment) -> _Answer:
        begun: list[tuple[str, list[tuple[str, str]]]] = []
        # The application of prometheus_client refuses HEAD.
        body = b"".join(wsgi({**environ, "REQUEST_METHOD": "GET"}, lambda *said: begun.append(said)))
        ((status, headers),) = begun
        return _Answer(status, headers, body)

    return page


def _healthz(health: Health) -> _Answer:
    if problems := health.problems:
        return _text(HTTPStatus.SERVICE_UNAVAILABLE, "\n".join(problems))
    needed = " and ".join(contact.name for contact in health.contacts)
    return _text(HTTPStatus.OK, f"The daemon is alive and reaches {needed}.")


def _leader(health: Health) -> _Answer:
    known = health.leader
    return _text(HTTPStatus.OK if known.here else HTTPStatus.SERVICE_UNAVAILABLE, known.sentence)


def _text(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> _Answer:
    kind = ("Content-Type", "text/plain; charset=utf-8")
    return _Answer(f"{status.value} {status.phrase}", [kind, *headers], f"{text}\n".encode())


class _Handler(WSGIRequestHandler):
    """Logs no request, and drops a client that falls silent or closes the connection."""

    timeout = PATIENCE

    def handle(self) -> None:
        """Answer one request."""
        with suppress(OSError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a load balancer asks every second."""


class _Server(ThreadingMixIn, WSGIServer):
    """Gives each request a thread. No thread keeps the process from ending."""

    daemon_threads = True

    def __init__(self, family: socket.AddressFamily, address: Any, certificate: _Certificate | None) -> None:
        # The base class creates the socket with this family; its default is IPv4.
        self.address_family = family
        self._certificate = certificate
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """A new connection. Its handshake comes with the first read, in the thread of the request."""
        connection, address = super().get_request()
        if self._certificate:
            connection = self._certificate.context().wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address


# Of TLS 1.2: authenticated encryption, with keys of one connection.
SUITES = "ECDHE+AESGCM:ECDHE+CHACHA20"


class _Certificate:
    """A certificate and its key, read again when the files change. Raises OSError for files that cannot be used."""

    def __init__(self, certificate: str, key: str) -> None:
        self._files = (certificate, key or certificate)
        self._read = self._times()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context of new connections; that of before while the files cannot be used."""
        with suppress(OSError):
            times = self._times()
            if times != self._read:
                self._context, self._read = self._load(), times
        return self._context

    def _times(self) -> list[float]:
        return [Path(file).stat().st_mtime for file in self._files]

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(SUITES)
        context.load_cert_chain(*self._files)
        return context
