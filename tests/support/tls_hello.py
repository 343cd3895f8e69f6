"""A ClientHello of any version with any cipher suites, and what a server answers to it (RFC 5246, RFC 8446).

Written by hand, since OpenSSL as Debian builds it can offer neither old versions nor weak suites: a scan with it would not
see a server that accepts them.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

SSL3, TLS10, TLS11, TLS12, TLS13 = 0x0300, 0x0301, 0x0302, 0x0303, 0x0304
NAMES = {SSL3: "SSL 3.0", TLS10: "TLS 1.0", TLS11: "TLS 1.1", TLS12: "TLS 1.2", TLS13: "TLS 1.3"}
# Suites of TLS 1.3 have numbers of their own.
SUITES_13 = tuple(range(0x1301, 0x1306))
# All numbers that the registry gave to suites of earlier versions: NULL, EXPORT, RC4 and DES are among them.
SUITES = (*range(0x0001, 0x00C6), *range(0xC001, 0xC0B4), *range(0xCCA8, 0xCCAF))

_ALERT, _HANDSHAKE = 21, 22
_CLIENT_HELLO, _SERVER_HELLO = 1, 2
_SERVER_NAME, _GROUPS, _POINT_FORMATS, _SIGNATURES, _VERSIONS, _KEY_SHARE = 0, 10, 11, 13, 43, 51
_X25519 = 0x001D
_CURVES = (_X25519, 0x0017, 0x0018, 0x0019, 0x0100)
_SCHEMES = (0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201)


@dataclass(frozen=True)
class Answer:
    """`version` and `suite` that the server chose. Both are 0 for an alert: it speaks TLS, and takes nothing of the offer."""

    version: int = 0
    suite: int = 0


def client_hello(version: int, suites: tuple[int, ...], name: str = "") -> bytes:
    """A record with a ClientHello that offers one version. `name`: the host's, if it is no address."""
    extensions = b""
    if name:
        host = name.encode()
        extensions += _extension(_SERVER_NAME, _sized(2, b"\0" + _sized(2, host)))
    extensions += _extension(_GROUPS, _sized(2, _numbers(_CURVES)))
    extensions += _extension(_POINT_FORMATS, _sized(1, b"\0"))
    extensions += _extension(_SIGNATURES, _sized(2, _numbers(_SCHEMES)))
    if version == TLS13:
        extensions += _extension(_VERSIONS, _sized(1, _numbers((TLS13,))))
        share = struct.pack("!H", _X25519) + _sized(2, os.urandom(32))
        extensions += _extension(_KEY_SHARE, _sized(2, share))
    # SSL 3.0 has no extensions.
    tail = _sized(2, extensions) if version > SSL3 else b""
    body = struct.pack("!H", min(version, TLS12)) + os.urandom(32) + _sized(1, os.urandom(32))
    body += _sized(2, _numbers(suites)) + _sized(1, b"\0") + tail
    message = bytes([_CLIENT_HELLO]) + _sized(3, body)
    return struct.pack("!BH", _HANDSHAKE, min(version, TLS10)) + _sized(2, message)


def answer(record: bytes) -> Answer | None:
    """What a server's first record says; None if it is no TLS."""
    kind, content = record[0:1], record[5:]
    if record[1:2] != b"\x03" or kind not in (bytes([_ALERT]), bytes([_HANDSHAKE])):
        return None
    if kind == bytes([_ALERT]) or content[:1] != bytes([_SERVER_HELLO]):
        return Answer()
    (version,) = struct.unpack("!H", content[4:6])
    rest = content[38:]
    rest = rest[1 + rest[0] :]
    (suite,) = struct.unpack("!H", rest[:2])
    return Answer(_selected(rest[3:]) or version, suite)


def record_length(head: bytes) -> int:
    """Bytes of a record behind its first five."""
    return int(struct.unpack("!H", head[3:5])[0])


def _selected(extensions: bytes) -> int:
    """The version that a server of TLS 1.3 names; 0 if there is none."""
    rest = extensions[2:]
    while len(rest) >= 4:
        kind, length = struct.unpack("!HH", rest[:4])
        if kind == _VERSIONS:
            return int(struct.unpack("!H", rest[4:6])[0])
        rest = rest[4 + length :]
    return 0


def _extension(kind: int, content: bytes) -> bytes:
    return struct.pack("!H", kind) + _sized(2, content)


def _numbers(values: tuple[int, ...]) -> bytes:
    return b"".join(struct.pack("!H", value) for value in values)


def _sized(width: int, content: bytes) -> bytes:
    return len(content).to_bytes(width, "big") + content
