"""Metastore and HiveServer2, over Thrift."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hopshive.metastore.thrift import Fields, SocketStream, ThriftError, TType, call
from hopshive.services.health.answer import Facts, NoAnswer, Target, WrongAnswer, connect
from hopshive.tls import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from hopshive.tls import Place


def ask_metastore(target: Target, timeout: float) -> Facts:
    """`getVersion`, then `get_catalogs`, which reads the database. Plain Thrift, over TLS or not: no SASL, no framing."""
    with connect(target.host, target.port, timeout, target.authority) as connection, _thrift():
        version = call(connection, "getVersion", {})
        catalogs = call(connection, "get_catalogs", {}, sequence=2)
    if 0 not in catalogs:
        raise NoAnswer(f"get_catalogs: {_message(catalogs)}")
    return {"version": version.get(0, b"").decode(), "catalogs": [name.decode() for name in catalogs[0].get(1, [])]}


def metastore_start(place: Place, timeout: float) -> float:
    """When a metastore's process began, in seconds since 1970 by its host's clock. Needs no database. Raises NoAnswer."""
    with _connect(place, timeout) as connection, _thrift():
        answer = call(connection, "aliveSince", {})
    if not isinstance(answer.get(0), int):
        raise NoAnswer(f"aliveSince: {_message(answer)}")
    return float(answer[0])


def call_metastore(place: str, method: str, arguments: Fields, timeout: float) -> dict[int, Any]:
    """Call a method of a metastore that returns a struct or nothing; returns the struct. `place`: see hopshive.tls. NoAnswer."""
    with _connect(parse(place), timeout) as connection, _thrift():
        result = call(connection, method, arguments)
    if result.keys() - {0}:
        raise NoAnswer(f"{method}: {_message(result)}")
    value: dict[int, Any] = result.get(0, {})
    return value


def _connect(place: Place, timeout: float) -> AbstractContextManager[SocketStream]:
    return connect(place.host, place.port, timeout, place.authority, tls=place.tls)


@contextmanager
def _thrift() -> Iterator[None]:
    try:
        yield
    except ThriftError as error:
        raise NoAnswer(str(error)) from None


def _message(result: Mapping[int, Any]) -> str:
    """The message of a declared exception: the first field of each of Hive's exceptions."""
    for exception in result.values():
        if isinstance(exception, dict) and isinstance(exception.get(1), bytes):
            return str(exception[1].decode(errors="replace"))
    return "an answer without a value"


# Negotiation bytes of Thrift's SASL transport (TSaslTransport.NegotiationStatus).
_SASL_START: Final = 1
_SASL_OK: Final = 2
_SASL_COMPLETE: Final = 5
# TCLIService: HIVE_CLI_SERVICE_PROTOCOL_V10; TGetInfoType CLI_DBMS_VER; SUCCESS and SUCCESS_WITH_INFO.
_PROTOCOL_V10: Final = 9
_DBMS_VERSION: Final = 18
_SUCCESS: Final = (0, 1)


class _SaslStream:
    """Thrift's SASL transport. After the handshake each message is a frame: four bytes of length, then the bytes."""

    def __init__(self, connection: SocketStream, user: str, password: str) -> None:
        self._connection = connection
        self._frame = b""
        self._negotiate(_SASL_START, b"PLAIN")
        self._negotiate(_SASL_OK, b"\0" + user.encode() + b"\0" + password.encode())
        status, length = struct.unpack(">bi", connection.read(5))
        if not 0 <= length <= 65536:
            raise ThriftError("not the SASL transport of Thrift; hive.server2.authentication NOSASL, or another port?")
        message = connection.read(length).decode(errors="replace")
        if status != _SASL_COMPLETE:
            raise WrongAnswer(f"it refused the login of {user}: {message or status}")

    def _negotiate(self, status: int, payload: bytes) -> None:
        self._connection.write(struct.pack(">bi", status, len(payload)) + payload)

    def write(self, data: bytes) -> None:
        self._connection.write(struct.pack(">i", len(data)) + data)

    def read(self, size: int) -> bytes:
        while len(self._frame) < size:
            (length,) = struct.unpack(">i", self._connection.read(4))
            self._frame += self._connection.read(length)
        data, self._frame = self._frame[:size], self._frame[size:]
        return data


def ask_server2(target: Target, timeout: float) -> Facts:
    """Log in with SASL PLAIN (authentication NONE, LDAP, PAM or CUSTOM), open a session, ask for its version, close it.

    A target with a `statement` runs it as well, within the same time.
    """
    user = target.user or "anonymous"
    with connect(target.host, target.port, timeout, target.authority) as connection, _thrift():
        stream = _SaslStream(connection, user, target.password or "anonymous")
        opened = _hive_call(
            stream,
            "OpenSession",
            {1: (TType.I32, _PROTOCOL_V10), 2: (TType.STRING, user), 3: (TType.STRING, target.password)},
        )
        session = _handle(opened[3][1])
        info = _hive_call(stream, "GetInfo", {1: session, 2: (TType.I32, _DBMS_VERSION)})
        facts: Facts = {"version": info[2].get(1, b"").decode()}
        if target.statement:
            facts["rows"] = _run(stream, session, target.statement)
        # After an error the server closes the session itself, with the connection.
        _hive_call(stream, "CloseSession", {1: session})
    return facts


def _handle(identifier: Mapping[int, bytes]) -> tuple[TType, Fields]:
    """A TSessionHandle, or the identifier part of a TOperationHandle, from an identifier that HiveServer2 returned."""
    return TType.STRUCT, {1: (TType.STRUCT, {1: (TType.STRING, identifier[1]), 2: (TType.STRING, identifier[2])})}


def _run(stream: _SaslStream, session: tuple[TType, Any], statement: str) -> int:
    """Run a statement to its end; returns its number of rows, a hundred at most."""
    started = _hive_call(stream, "ExecuteStatement", {1: session, 2: (TType.STRING, statement), 4: (TType.BOOL, False)})
    returned = started[2]
    operation: tuple[TType, Fields] = (
        TType.STRUCT,
        {**_handle(returned[1])[1], 2: (TType.I32, returned[2]), 3: (TType.BOOL, returned[3])},
    )
    rows = 0
    if returned[3]:
        fetched = _hive_call(stream, "FetchResults", {1: operation, 2: (TType.I32, 0), 3: (TType.I64, 100)})
        # TRowSet.columns: a union with one list of values for each column.
        columns = fetched.get(3, {}).get(3, [])
        rows = max((len(next(iter(column.values())).get(1, [])) for column in columns), default=0)
    _hive_call(stream, "CloseOperation", {1: operation})
    return rows


def _hive_call(stream: _SaslStream, method: str, request: Fields) -> dict[int, Any]:
    """Call a method of TCLIService and return its response, whose first field is the status. Raises NoAnswer."""
    response: dict[int, Any] = call(stream, method, {1: (TType.STRUCT, request)}).get(0, {})
    status = response.get(1, {})
    if status.get(1) not in _SUCCESS:
        raise NoAnswer(f"{method}: {status.get(5, b'no message').decode(errors='replace')}")
    return response
