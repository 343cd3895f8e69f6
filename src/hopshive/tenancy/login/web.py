"""HTTP requests to the platform and the identity provider: bounded in time and size, without redirects, cookies and retries.

A client of httpx would keep the cookies of one person for the next request. So the transport, which has the connections, is
asked directly.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

import httpx

from hopshive.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Bytes of an answer.
LARGEST = 256 * 1024


class WebError(Exception):
    """No usable answer came; the message says why, and holds no secret."""


@dataclass(frozen=True)
class Answer:
    """`cookies`: what this one answer set."""

    status: int
    body: bytes
    cookies: Mapping[str, str]

    def json(self) -> Any:
        """The body. Raises WebError."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise WebError("the answer is not JSON") from None


def context(authority: str, setting: str) -> ssl.SSLContext:
    """Verifies servers against an authority's file, or those of the system. Raises ConfigError."""
    try:
        found = ssl.create_default_context(cafile=authority or None)
    except OSError as error:
        raise ConfigError(f"{authority} ({setting}) is no file of certificates: {error.strerror or error}.") from None
    found.minimum_version = ssl.TLSVersion.TLSv1_2
    return found


class Web:
    """A pool of connections. For one event loop."""

    def __init__(self, verify: ssl.SSLContext, timeout: float, connections: int = 10) -> None:
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=30)
        self._transport = httpx.AsyncHTTPTransport(verify=verify, limits=limits, trust_env=False)
        self._timeout = timeout

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """The answer to one request. Raises WebError."""
        extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)}
        request = httpx.Request(method, url, headers={"accept": "application/json", **(headers or {})}, content=body)
        request.extensions |= extensions
        try:
            # A server that drips has one time for all of its answer.
            async with asyncio.timeout(self._timeout):
                response = await self._transport.handle_async_request(request)
                try:
                    content = await _read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise WebError(f"no answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise WebError(f"{type(error).__name__}: {error}".rstrip(": ")) from None
        return Answer(response.status_code, content, _cookies(response.headers.get_list("set-cookie")))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


async def _read(response: httpx.Response) -> bytes:
    found = bytearray()
    async for chunk in response.aiter_raw():
        found += chunk
        if len(found) > LARGEST:
            raise WebError(f"the answer is larger than {LARGEST} bytes")
    return bytes(found)


def _cookies(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        try:
            found |= {name: one.value for name, one in SimpleCookie(line).items()}
        except CookieError:
            continue
    return found
