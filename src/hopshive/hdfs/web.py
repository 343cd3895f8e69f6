"""Connections to the web ports of NameNodes and DataNodes, and what their answers mean for a client of WebHDFS."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse

from hopshive.hdfs.wanted import WebHdfsError
from hopshive.tls import context, distrust

# Longest silence on a connection, in seconds.
SOCKET_TIMEOUT = 60.0


class NotNow(Exception):
    """No NameNode can do it at the moment: standby, starting, safe mode, no DataNode yet, no process there."""


class Untrusted(NotNow):
    """The certificate of a server is refused. That stays so, unless another server answers."""


class Refused(Exception):
    """The NameNode or a DataNode answered with an exception."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(message)
        self.exception = exception


def connected(url: str, authority: str = "") -> http.client.HTTPConnection:
    """A connection to the server of a URL, which connects at its first request. Raises WebHdfsError."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WebHdfsError(f"{url!r} is no URL of a NameNode. Give it as http://namenode:9870.")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=SOCKET_TIMEOUT)
    try:
        trust = context(authority)
    except OSError as error:
        raise WebHdfsError(f"The authority {authority} is no file of certificates: {reason(error)}.") from None
    return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=SOCKET_TIMEOUT, context=trust)


def failure(error: Exception, authority: str, begin: str = "") -> NotNow:
    """What a failed connection means; `begin` is the start of its message."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Untrusted(f"{begin}{distrust(error, authority)}")
    return NotNow(f"{begin}{reason(error)}")


def reason(error: Exception) -> str:
    """An error as text for an operator: `connection refused` instead of `[Errno 111] ..`."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text[:1].lower()}{text[1:]}"


# What a NameNode says while HDFS comes up. RetriableException: starting, or safe mode under HA.
_PASSING = ("StandbyException", "SafeModeException", "RetriableException")
_NO_DATANODE = ("Failed to find datanode", "could only be written to 0 of")


def raise_refusal(status: int, data: bytes) -> None:
    """Turn an answer that is no success into NotNow or Refused."""
    if 200 <= status < 300:
        return
    try:
        remote = json.loads(data)["RemoteException"]
        exception, message = str(remote["exception"]), str(remote["message"])
    except (ValueError, KeyError, TypeError):
        exception, message = "", f"HTTP {status}"
    if exception in _PASSING or any(text in message for text in _NO_DATANODE) or status == 503:
        raise NotNow(message.strip().splitlines()[0].rstrip(".") if message.strip() else exception)
    raise Refused(exception, message)
