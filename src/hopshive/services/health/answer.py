"""Targets of health checks, their answers, and the errors of a missing or wrong answer."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from hopshive.metastore.thrift import SocketStream
from hopshive.tls import distrust, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


# The most seconds that one question may take.
ATTEMPT_TIMEOUT = 10.0
# Seconds between two questions.
POLL = 0.5
Facts = dict[str, Any]
T = TypeVar("T")


class NoAnswer(Exception):
    """The service does not answer yet."""


class WrongAnswer(Exception):
    """The service gives a wrong answer, and waiting does not change it."""


@dataclass(frozen=True)
class Target:
    """The service to ask, and what the question needs. URLs have no path: `http://namenode:9870`.

    `authority`: a file of certificates that a server with TLS is verified against. Without it the login service is verified
    by the system's certificates. All others are then asked in the clear: metastore, HiveServer2, database, cleaner, and the
    daemons of HDFS. Those of YARN have no TLS.
    """

    kind: str
    host: str
    port: int
    user: str = ""
    password: str = ""
    unix_socket: str = ""
    statement: str = ""
    namenode: Sequence[str] = ()
    resourcemanager: Sequence[str] = ()
    cleaners: Sequence[str] = ()
    authority: str = ""
    safe_mode: bool = False

    @property
    def place(self) -> str:
        """The socket, or `host:port`."""
        return self.unix_socket or f"{self.host}:{self.port}"


def at(target: Target, place: str) -> Target:
    """The same target at another server, `host:port`."""
    host, _, port = place.rpartition(":")
    return replace(target, host=host, port=int(port))


@dataclass(frozen=True)
class Answer:
    """A service's answer, and the number of attempts and seconds until it came."""

    facts: Facts
    attempts: int
    waited: float


@contextmanager
def connect(host: str, port: int, timeout: float, authority: str = "", *, tls: bool = False) -> Iterator[SocketStream]:
    """Open a connection for one question, with TLS if it is asked for or an authority is given. Raises NoAnswer."""
    try:
        with socket.create_connection((host, port), timeout=timeout) as plain:
            if not (tls or authority):
                yield SocketStream(plain)
                return
            with wrapped(plain, host, authority) as connection:
                yield SocketStream(connection)
    except ssl.SSLCertVerificationError as error:
        raise NoAnswer(distrust(error, authority)) from None
    except TimeoutError:
        raise NoAnswer(f"nothing came back within {timeout:.0f} s") from None
    except OSError as error:
        raise NoAnswer(reason(error)) from None


def reason(error: Exception) -> str:
    """An error as text for an operator: `connection refused` instead of `[Errno 111] ..`."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text[:1].lower()}{text[1:]}"


def first(urls: Sequence[str], ask: Callable[[str], T]) -> T:
    """The first answer of several servers, any of which may be down. Raises NoAnswer."""
    errors = []
    for url in urls:
        try:
            return ask(url)
        except NoAnswer as error:
            errors.append(f"{url}: {error}")
    raise NoAnswer("; ".join(errors))
