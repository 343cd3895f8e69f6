"""Hadoop's RPC, version 9, over one socket: RpcHeader.proto, IpcConnectionContext.proto and ProtobufRpcEngine2.proto.

The client says `hrpc`, the version, a service class and how it authenticates, then a connection context. From there on both sides
send frames: four bytes of length, a header, a message, each of the latter two with its own length before it. Answers
carry the call's number and may come in any order, so many calls can be under way on one connection.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hopshive.hdfs.namenode.wire import Message, WireError, delimited, encode, read_delimited, zigzag

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
NAMENODE_PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
HA_PROTOCOL = "org.apache.hadoop.ha.HAServiceProtocol"

# The magic word, version 9, service class 0, no SASL.
GREETING = b"hrpc\x09\x00\x00"
PROTOCOL_BUFFERS, FINAL_PACKET, CONTEXT_CALL = 2, 0, -3
# What a NameNode sends at most (ipc.maximum.response.length); the first bytes of HTTP, SSH or MariaDB read as ten times as much.
MAX_FRAME = 128 * 1024 * 1024
# Calls under way at once. The NameNode queues 100 for each of its handlers, and then reads no more from the
# socket, whose buffers fill up. This window stays far below both limits.
WINDOW = 64


class NotHadoopError(Exception):
    """The server at the port does not speak Hadoop's RPC; the message says what shows it."""


class ConnectionLostError(Exception):
    """No server listens, no answer came in time, or the connection ended; `stale` if that was before any answer to the call."""

    def __init__(self, why: str, *, stale: bool = False) -> None:
        super().__init__(why)
        self.stale = stale


class RemoteError(Exception):
    """An exception of the server. `name` is its class without the package, the message its first line, `second` the one after."""

    def __init__(self, exception: str, message: str) -> None:
        self.name = exception.rsplit(".", 1)[-1].rsplit("$", 1)[-1]
        first, self.second = (*message.strip().split("\n", 2), "")[:2]
        super().__init__(first)


@dataclass(frozen=True, slots=True)
class Call:
    """One call. A repetition with the same number lets the server answer from its retry cache instead of doing it twice."""

    number: int
    method: str
    request: bytes
    protocol: str = CLIENT_PROTOCOL
    retries: int = 0


Answer = Message | RemoteError


class Connection:
    """A connection to one server, for one user; not for several threads. After any error but RemoteError it is closed."""

    def __init__(self, address: tuple[str, int], user: str, client_id: uuid.UUID, timeout: float) -> None:
        self._client_id = client_id.bytes
        self._timeout = timeout
        try:
            self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise ConnectionLostError(f"cannot be reached: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._fresh = True
        context = encode({2: encode({1: user}), 3: CLIENT_PROTOCOL})
        # Goes out with the first call: a server that refuses the greeting closes at once, and a second write would find that
        # before the refusal was read.
        self._unsent = GREETING + _frame(delimited(self._header(CONTEXT_CALL, -1)), delimited(context))

    def close(self) -> None:
        """End the connection; more than once does no harm."""
        with suppress(OSError):
            self._socket.close()

    def answers(self, calls: Sequence[Call]) -> list[Answer]:
        """What the server answers to each call, with up to WINDOW of them under way.

        The timeout is for the first answer and then for each further one. Raises ConnectionLostError, NotHadoopError, and
        RemoteError if the server refuses the connection itself.
        """
        found: dict[int, Answer] = {}
        waiting: set[int] = set()
        rest = iter(calls)
        try:
            while len(found) < len(calls):
                if len(waiting) <= WINDOW // 2:
                    batch = list(itertools.islice(rest, WINDOW - len(waiting)))
                    waiting.update(call.number for call in batch)
                    self._send(b"".join(map(self._request, batch)))
                number, answer = self._answer()
                if number in waiting:
                    waiting.remove(number)
                    found[number] = answer
                elif isinstance(answer, RemoteError) and number >> 31:
                    raise answer
        except (ConnectionLostError, NotHadoopError, RemoteError, WireError) as error:
            self.close()
            if isinstance(error, WireError):
                raise NotHadoopError("does not speak Hadoop's RPC") from None
            raise
        return [found[call.number] for call in calls]

    def _header(self, number: int, retries: int) -> bytes:
        return encode({1: PROTOCOL_BUFFERS, 2: FINAL_PACKET, 3: zigzag(number), 4: self._client_id, 5: zigzag(retries)})

    def _request(self, call: Call) -> bytes:
        method = encode({1: call.method, 2: call.protocol, 3: 1})
        return _frame(delimited(self._header(call.number, call.retries)), delimited(method), delimited(call.request))

    def _send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(self._unsent + data)
            self._unsent = b""
        except OSError as error:
            self.close()
            raise ConnectionLostError(f"takes no call: {error}", stale=True) from None

    def _answer(self) -> tuple[int, Answer]:
        deadline = time.monotonic() + self._timeout
        head = self._read(4, deadline)
        (length,) = struct.unpack(">I", head)
        if length > MAX_FRAME:
            raise NotHadoopError(f"does not speak Hadoop's RPC (its answer begins with {head!r})")
        frame = self._read(length, deadline)
        self._fresh = False
        header_bytes, at = read_delimited(frame)
        header = Message(header_bytes)
        # An answer to the connection itself has the number of no call, such as -1 or -3 as 32 bits.
        number = header.number(1)
        if header.number(2) == 0:
            return number, Message(read_delimited(frame, at)[0] if at < length else b"")
        return number, RemoteError(header.text(4), header.text(5))

    def _read(self, size: int, deadline: float) -> bytes:
        buffer = self._buffer
        while len(buffer) < size:
            left = deadline - time.monotonic()
            try:
                if left <= 0:
                    raise TimeoutError
                self._socket.settimeout(left)
                data = self._socket.recv(1 << 20)
            except TimeoutError:
                raise ConnectionLostError(f"did not answer within {self._timeout:g} s") from None
            except OSError as error:
                raise ConnectionLostError(f"ended the connection: {error}", stale=not buffer) from None
            if not data:
                why = "closed the connection without an answer: is this its RPC port?" if self._fresh else ""
                raise ConnectionLostError(why or "closed the connection", stale=not buffer)
            buffer += data
        found = bytes(buffer[:size])
        del buffer[:size]
        return found


def answer_of(address: tuple[str, int], user: str, call: Call, timeout: float) -> Answer:
    """What a server answers to one call, over its own connection. `timeout` in seconds; raises as `Connection.answers`."""
    connection = Connection(address, user, uuid.uuid4(), timeout)
    try:
        (answer,) = connection.answers([call])
    finally:
        connection.close()
    return answer


def _frame(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I", len(body)) + body
