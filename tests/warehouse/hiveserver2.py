"""A long-lived session of HiveServer2, on the wire code that asks for its health: no JVM, no further library."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from hopshive.metastore.thrift import Fields, Stream, ThriftError, TType, call

PORT = 10000
PROTOCOL_V10 = 9
SUCCESS = (0, 1)
SASL_START, SASL_OK, SASL_COMPLETE = 1, 2, 5
FETCH = 5000


class HiveError(Exception):
    """HiveServer2 refused a statement; the message is its own. `state` is the SQL state, `lost` that it went away."""

    def __init__(self, message: str, state: str = "", *, lost: bool = False) -> None:
        super().__init__(message)
        self.state = state
        self.lost = lost


class Connection(Stream, Protocol):
    """What carries the calls of a session."""

    def close(self) -> None:
        """End it."""


class _Stream:
    """Thrift's SASL transport with PLAIN: each message goes in a frame of four bytes of length and the bytes."""

    def __init__(
        self, address: tuple[str, int], user: str, password: str, timeout: float, authority: Path | None
    ) -> None:
        self._socket = socket.create_connection(address, timeout=10)
        if authority:
            context = ssl.create_default_context(cafile=authority)
            self._socket = context.wrap_socket(self._socket, server_hostname=address[0])
        self._socket.settimeout(timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        self._frame = memoryview(b"")
        for status, payload in ((SASL_START, b"PLAIN"), (SASL_OK, f"\0{user}\0{password}".encode())):
            self._socket.sendall(struct.pack(">bi", status, len(payload)) + payload)
        status, length = struct.unpack(">bi", self._exactly(5))
        message = self._exactly(length).decode(errors="replace")
        if status != SASL_COMPLETE:
            raise HiveError(f"the login of {user} was refused: {message}")

    def write(self, data: bytes) -> None:
        self._socket.sendall(struct.pack(">i", len(data)) + data)

    def read(self, size: int) -> bytes:
        if len(self._frame) < size:
            data = bytes(self._frame)
            while len(data) < size:
                (length,) = struct.unpack(">i", self._exactly(4))
                data += self._exactly(length)
            self._frame = memoryview(data)
        data, self._frame = bytes(self._frame[:size]), self._frame[size:]
        return data

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
            self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise ConnectionError("HiveServer2 closed the connection")
        return data


def sleeping(seconds: int, value: int) -> str:
    """A query whose only row is `value`, and that takes that long in a task of Tez."""
    # Hive's planner must not see that the value is the same whether the call returns null or not, as it does.
    slept = f"coalesce(cast(reflect('java.lang.Thread', 'sleep', ms) AS INT), {value})"
    return f"SELECT max({slept}) FROM (SELECT stack(1, {seconds * 1000}L) AS (ms)) x"


class HiveSession:
    """One session, opened when it is needed and again after it was lost. Statements run one after the other."""

    def __init__(
        self,
        host: str,
        port: int = PORT,
        user: str = "hive",
        settings: dict[str, str] | None = None,
        timeout: float = 300,
        password: str | None = None,
        configuration: dict[str, str] | None = None,
        authority: Path | None = None,
    ) -> None:
        """`configuration` is that of OpenSession as it stands, such as `use:database`; `password` is the user without one.

        `authority` signed the certificate of a HiveServer2 with TLS.
        """
        self._address = (host, port)
        self._user = user
        self._password = user if password is None else password
        self._configuration = {f"set:hiveconf:{name}": value for name, value in (settings or {}).items()}
        self._configuration |= configuration or {}
        self._timeout = timeout
        self._authority = authority
        self._stream: Connection | None = None
        self._session: tuple[TType, Fields] | None = None

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement to its end; its rows, none for one without a result. Raises HiveError.

        Numbers and booleans are Python's; all else is text, as Hive writes it.
        """
        try:
            return self._execute(sql)
        except (OSError, ThriftError) as error:
            self._forget()
            raise HiveError(f"HiveServer2 at {self._address[0]} was lost: {error}", lost=True) from error
        except HiveError as error:
            if error.lost:
                self._forget()
            raise

    def wait(self, seconds: float = 120) -> None:
        """Until it answers. Raises HiveError."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.execute("SHOW DATABASES LIKE 'default'")
                return
            except HiveError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.3)

    def close(self) -> None:
        """End the session."""
        if self._stream and self._session:
            with suppress(OSError, ThriftError, HiveError):
                self._call("CloseSession", {1: self._session})
        self._forget()

    def _forget(self) -> None:
        if self._stream:
            self._stream.close()
        self._stream, self._session = None, None

    def _execute(self, sql: str) -> list[tuple[Any, ...]]:
        if self._session is None:
            self._open()
        assert self._session
        request: Fields = {1: self._session, 2: (TType.STRING, sql), 4: (TType.BOOL, False)}
        returned = self._call("ExecuteStatement", request)[2]
        operation: tuple[TType, Fields] = (
            TType.STRUCT,
            {1: _handle(returned[1]), 2: (TType.I32, returned[2]), 3: (TType.BOOL, returned[3])},
        )
        rows: list[tuple[Any, ...]] = []
        try:
            while returned[3]:
                fetch: Fields = {1: operation, 2: (TType.I32, 0), 3: (TType.I64, FETCH)}
                page = _rows(self._call("FetchResults", fetch).get(3, {}).get(3, []))
                rows += page
                if not page:
                    break
        finally:
            self._call("CloseOperation", {1: operation})
        return rows

    def call(self, method: str, request: Fields) -> dict[int, Any]:
        """A call of TCLIService as it stands; the session is opened first. Raises HiveError, OSError, ThriftError."""
        if self._session is None:
            self._open()
        return self._call(method, request)

    @property
    def handle(self) -> tuple[TType, Fields]:
        """The handle of the session, which is opened first. Raises HiveError, OSError, ThriftError."""
        if self._session is None:
            self._open()
        assert self._session
        return self._session

    def _open(self) -> None:
        self._stream = self._connect()
        opened = self._call(
            "OpenSession",
            {
                1: (TType.I32, PROTOCOL_V10),
                2: (TType.STRING, self._user),
                4: (TType.MAP, self._configuration),
            },
        )
        identifier = opened[3][1]
        self._session = (TType.STRUCT, {1: _handle(identifier)})

    def _connect(self) -> Connection:
        """The connection of the session, with its login. Raises HiveError and OSError."""
        return _Stream(self._address, self._user, self._password, self._timeout, self._authority)

    def _call(self, method: str, request: Fields) -> dict[int, Any]:
        assert self._stream
        response: dict[int, Any] = call(self._stream, method, {1: (TType.STRUCT, request)}).get(0, {})
        status = response.get(1, {})
        # The answer to GetQueryId has no status.
        if isinstance(status, dict) and status.get(1) not in SUCCESS:
            message = status.get(5, b"no message").decode(errors="replace")
            lost = "Invalid SessionHandle" in message
            raise HiveError(message, status.get(3, b"").decode(errors="replace"), lost=lost)
        return response


def _handle(identifier: dict[int, bytes]) -> tuple[TType, Fields]:
    """A THandleIdentifier."""
    return TType.STRUCT, {1: (TType.STRING, identifier[1]), 2: (TType.STRING, identifier[2])}


def _rows(columns: list[dict[int, dict[int, Any]]]) -> list[tuple[Any, ...]]:
    """Rows of a TRowSet's columns, each a union of typed lists with a bitmap of its nulls."""
    lists = []
    for column in columns:
        ((kind, content),) = column.items()
        nulls = content.get(2, b"")
        values = content.get(1, [])
        if kind == 7:
            values = [value.decode(errors="replace") for value in values]
        lists.append([None if _is_set(nulls, index) else value for index, value in enumerate(values)])
    return list(zip(*lists, strict=True)) if lists else []


def _is_set(bitmap: bytes, index: int) -> bool:
    return index // 8 < len(bitmap) and bool(bitmap[index // 8] & (1 << (index % 8)))
