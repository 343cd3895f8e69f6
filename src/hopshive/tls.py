"""Where a service listens, as settings and command lines say it: `host:port`, or `tls://host:port/<file>` with TLS.

The file has the certificates that vouch for the service's own; without one, those of the operating system do.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

TLS = "tls://"


@dataclass(frozen=True)
class Place:
    """Host and port. `tls`: whether the service has TLS; `authority`: the file of certificates, empty for the system's."""

    host: str
    port: int
    tls: bool = False
    authority: str = ""


def parse(text: str) -> Place:
    """The place of `host:port` or `tls://host:port/<file>`. Raises ValueError."""
    tls = text.startswith(TLS)
    address, slash, path = text.removeprefix(TLS).partition("/") if tls else (text, "", "")
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text} is not host:port, nor {TLS}host:port/<file of certificates>")
    return Place(host.strip("[]"), int(port), tls, f"{slash}{path}")


def wrapped(connection: socket.socket, host: str, authority: str = "") -> ssl.SSLSocket:
    """A connected socket with TLS: the server proves that it is `host`. Raises OSError, ssl.SSLError among them."""
    return context(authority).wrap_socket(connection, server_hostname=host)


def distrust(error: ssl.SSLCertVerificationError, authority: str = "") -> str:
    """Why a server's certificate is refused, as the end of a sentence about the server."""
    return f"its certificate is refused: {error.verify_message} (authority: {authority or 'the system'})"


@lru_cache(maxsize=8)
def _read(authority: str, _changed: float) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority or None)


def context(authority: str = "") -> ssl.SSLContext:
    """The context of clients that trust the certificates of a file, or the system's. Raises OSError."""
    # A file that changed is read again: the daemon runs for months.
    return _read(authority, Path(authority).stat().st_mtime if authority else 0.0)
