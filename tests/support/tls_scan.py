"""Which versions and cipher suites of TLS a port accepts; `python -m tests.support.tls_scan HOST PORT...` prints them as JSON.

A port of MariaDB or MySQL begins with a greeting in the clear, and changes to TLS on request.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.tls_hello import (
    NAMES,
    SUITES,
    SUITES_13,
    TLS12,
    TLS13,
    Answer,
    answer,
    client_hello,
    record_length,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST = TLS12
# Suites with authenticated encryption, and keys that are of one connection alone.
GOOD: Mapping[int, str] = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0x1304: "TLS_AES_128_CCM_SHA256",
    0x009E: "DHE-RSA-AES128-GCM-SHA256",
    0x009F: "DHE-RSA-AES256-GCM-SHA384",
    0xC02B: "ECDHE-ECDSA-AES128-GCM-SHA256",
    0xC02C: "ECDHE-ECDSA-AES256-GCM-SHA384",
    0xC02F: "ECDHE-RSA-AES128-GCM-SHA256",
    0xC030: "ECDHE-RSA-AES256-GCM-SHA384",
    0xC09E: "DHE-RSA-AES128-CCM",
    0xC09F: "DHE-RSA-AES256-CCM",
    0xC0AC: "ECDHE-ECDSA-AES128-CCM",
    0xC0AD: "ECDHE-ECDSA-AES256-CCM",
    0xCCA8: "ECDHE-RSA-CHACHA20-POLY1305",
    0xCCA9: "ECDHE-ECDSA-CHACHA20-POLY1305",
    0xCCAA: "DHE-RSA-CHACHA20-POLY1305",
}
# The greeting of MariaDB has this version of the protocol. The request for TLS has capabilities, a size and a character set.
_GREETING = 10
_TLS_REQUEST = struct.pack("<IIB", 0x0008_AA00, 1 << 24, 45) + bytes(23)


@dataclass(frozen=True)
class Spoken:
    """Accepted suites by version. Empty: the port speaks no TLS."""

    suites: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def faults(self) -> list[str]:
        """A sentence for each version and suite that is too weak."""
        said = [f"{NAMES[version]} is accepted" for version in sorted(self.suites) if version < OLDEST]
        weak = sorted({suite for suites in self.suites.values() for suite in suites} - GOOD.keys())
        return said + [f"the suite 0x{suite:04X} is accepted" for suite in weak]

    def words(self) -> dict[str, list[str]]:
        """Names of suites by name of version."""
        return {
            NAMES[version]: [GOOD.get(suite, f"0x{suite:04X}") for suite in suites]
            for version, suites in sorted(self.suites.items())
        }


class Port:
    """A port that is asked again and again, each time over a new connection."""

    def __init__(self, host: str, number: int, timeout: float = 5) -> None:
        self._address = (host, number)
        self._timeout = timeout
        self._greets = self._begins_with_a_greeting()

    def spoken(self) -> Spoken:
        """All that it accepts."""
        found = {}
        for version in NAMES:
            suites: list[int] = []
            offered = SUITES_13 if version == TLS13 else SUITES
            while answered := self._ask(version, tuple(suite for suite in offered if suite not in suites)):
                if answered.version != version or answered.suite in suites:
                    break
                suites.append(answered.suite)
            if suites:
                found[version] = tuple(suites)
        return Spoken(found)

    def _ask(self, version: int, suites: tuple[int, ...]) -> Answer | None:
        if not suites:
            return None
        with closing(self._connect()) as connection:
            try:
                if self._greets:
                    _packet(connection)
                    connection.sendall(len(_TLS_REQUEST).to_bytes(3, "little") + b"\1" + _TLS_REQUEST)
                connection.sendall(client_hello(version, suites))
                head = _exactly(connection, 5)
                return answer(head + _exactly(connection, record_length(head))) if head[1] == 3 else None
            except (OSError, EOFError):
                return None

    def _begins_with_a_greeting(self) -> bool:
        with closing(self._connect()) as connection:
            connection.settimeout(0.5)
            try:
                return _packet(connection)[:1] == bytes([_GREETING])
            except (OSError, EOFError):
                return False

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._address, self._timeout)


def _packet(connection: socket.socket) -> bytes:
    """A packet of MariaDB's protocol."""
    return _exactly(connection, int.from_bytes(_exactly(connection, 4)[:3], "little"))


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def main() -> None:
    host, *ports = sys.argv[1:]
    print(json.dumps({port: Port(host, int(port)).spoken().words() for port in ports}, indent=1))


if __name__ == "__main__":
    main()
