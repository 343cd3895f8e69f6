"""Just enough of Apache Thrift to ask a metastore or a HiveServer2 whether it answers, without a library or a JVM.

The strict binary protocol (thrift/doc/specs/thrift-binary-protocol.md): integers are big-endian; a struct is a list of
fields, each one byte of type, two of id, the value, ended by a zero byte; a message is the word 0x8001 and its kind,
the method's name, a sequence number, and a struct of the arguments. Values are plain Python: a struct that was read is
`{field id: value}`; what is written needs its type along, `{field id: (type, value)}`.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

VERSION_1 = 0x80010000
# A reply that is longer is not from a Hive service: an HTTP server's first bytes read as a length of 1.2 GB.
MAX_LENGTH = 16 * 1024 * 1024


class ThriftError(Exception):
    """The server does not speak Thrift, or answered with an exception."""


class TType(IntEnum):
    """Type bytes of the wire."""

    STOP = 0
    BOOL = 2
    BYTE = 3
    DOUBLE = 4
    I16 = 6
    I32 = 8
    I64 = 10
    STRING = 11
    STRUCT = 12
    MAP = 13
    SET = 14
    LIST = 15


class MessageType(IntEnum):
    """The types of a message (TMessageType)."""

    CALL = 1
    REPLY = 2
    EXCEPTION = 3


# What is written: a struct of typed fields.
Fields = Mapping[int, tuple[TType, Any]]


class Stream(Protocol):
    """A connection that carries messages."""

    def write(self, data: bytes) -> None:
        """Send one whole message."""

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes."""


class Closed(ConnectionError):
    """The other side closed the connection in order, before all that was asked for had come."""


class SocketStream:
    """A connected socket as a stream; the socket is the caller's to close."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        """Send all of it. Raises OSError."""
        self._connection.sendall(data)

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises OSError, and of these Closed if the other side closes before."""
        parts = []
        while size:
            part = self._connection.recv(min(size, 65536))
            if not part:
                raise Closed("the connection was closed in the middle of an answer")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


_FORMATS = {
    TType.BOOL: ">?",
    TType.BYTE: ">b",
    TType.DOUBLE: ">d",
    TType.I16: ">h",
    TType.I32: ">i",
    TType.I64: ">q",
}


def encode_value(kind: TType, value: Any) -> bytes:
    """One value; text is UTF-8, a struct is `Fields`, a list is (type, items), a map of text to text is a dict."""
    if kind in _FORMATS:
        return struct.pack(_FORMATS[kind], value)
    if kind is TType.STRING:
        data = value if isinstance(value, bytes) else str(value).encode()
        return struct.pack(">i", len(data)) + data
    if kind is TType.STRUCT:
        return encode_struct(value)
    if kind is TType.MAP:
        items = b"".join(encode_value(TType.STRING, k) + encode_value(TType.STRING, v) for k, v in value.items())
        return struct.pack(">bbi", TType.STRING, TType.STRING, len(value)) + items
    if kind is TType.LIST:
        item, items = value
        return struct.pack(">bi", item, len(items)) + b"".join(encode_value(item, one) for one in items)
    raise ThriftError(f"nothing here writes {kind.name}")


def encode_struct(fields: Fields) -> bytes:
    """A struct with its closing zero byte."""
    body = b"".join(
        struct.pack(">bh", kind, number) + encode_value(kind, value) for number, (kind, value) in fields.items()
    )
    return body + b"\0"


def encode_call(method: str, arguments: Fields, sequence: int) -> bytes:
    """A call message."""
    head = (
        struct.pack(">I", VERSION_1 | MessageType.CALL)
        + encode_value(TType.STRING, method)
        + struct.pack(">i", sequence)
    )
    return head + encode_struct(arguments)


def _length(stream: Stream) -> int:
    (length,) = struct.unpack(">i", stream.read(4))
    if not 0 <= length <= MAX_LENGTH:
        raise ThriftError(f"a length of {length}: not the binary protocol of Thrift")
    return int(length)


def read_value(stream: Stream, kind: TType) -> Any:
    """One value; a string stays bytes, since only the reader knows whether it is text."""
    if kind in _FORMATS:
        (number,) = struct.unpack(_FORMATS[kind], stream.read(struct.calcsize(_FORMATS[kind])))
        return number
    if kind is TType.STRING:
        return stream.read(_length(stream))
    if kind is TType.STRUCT:
        return read_struct(stream)
    if kind in (TType.LIST, TType.SET):
        item = _type(stream)
        return [read_value(stream, item) for _ in range(_length(stream))]
    if kind is TType.MAP:
        key, value = _type(stream), _type(stream)
        return {read_value(stream, key): read_value(stream, value) for _ in range(_length(stream))}
    raise ThriftError(f"a field of type {kind.name}")


def _type(stream: Stream) -> TType:
    number = stream.read(1)[0]
    try:
        return TType(number)
    except ValueError:
        raise ThriftError(f"a field of unknown type {number}") from None


def read_struct(stream: Stream) -> dict[int, Any]:
    """A struct up to its closing zero byte."""
    fields = {}
    while (kind := _type(stream)) is not TType.STOP:
        (number,) = struct.unpack(">h", stream.read(2))
        fields[number] = read_value(stream, kind)
    return fields


def call(stream: Stream, method: str, arguments: Fields, sequence: int = 1) -> dict[int, Any]:
    """Call a method and return its result struct: field 0 is the value, others are declared exceptions.

    Raises ThriftError for an exception of the protocol (an unknown method, say) and for an answer to something else.
    """
    stream.write(encode_call(method, arguments, sequence))
    (head,) = struct.unpack(">I", stream.read(4))
    if head & 0xFFFF0000 != VERSION_1:
        raise ThriftError(f"the answer to {method} begins with {head:#010x}: not the strict binary protocol of Thrift")
    name = stream.read(_length(stream)).decode(errors="replace")
    (answered,) = struct.unpack(">i", stream.read(4))
    result = read_struct(stream)
    if head & 0xFF == MessageType.EXCEPTION:
        raise ThriftError(f"{method}: {result.get(1, b'an exception without a message').decode(errors='replace')}")
    if (name, answered) != (method, sequence):
        raise ThriftError(f"an answer to {name} ({answered}) came instead of one to {method} ({sequence})")
    return result
