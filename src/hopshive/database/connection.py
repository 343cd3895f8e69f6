"""The database of the metastore, and hopshive's tables beside it: connections, transactions, and the leader's fence.

One server has three schemas: the metastore's, the one with the inode table, and hopshive's state. SQL has the placeholders
`{state}` (a schema) and `{inodes}` (a table) for the latter two; names of metastore tables stand alone. The isolation level
is READ COMMITTED, on MariaDB as on NDB, which has no other.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pymysql
from pymysql.constants import CR, ER

from hopshive.access import denial
from hopshive.database import tls

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

Row = tuple[Any, ...]
Item = TypeVar("Item")

# The most values of one IN list.
CHUNK = 1000
# Seconds that a statement waits for a row that another session has locked.
LOCK_WAIT = 5
# Seconds that a statement may take, or the server be silent.
SILENCE = 120.0
# Another session held a row too long, or two transactions waited for each other: another attempt may succeed. So it may after
# an error that NDB calls temporary: a data node ended, or a buffer was full.
_CONTENTION = frozenset({ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK, ER.CHECKREAD, ER.GET_TEMPORARY_ERRMSG})
_GONE = frozenset({CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR})
# Shutdown in progress; the connection was killed; too many connections; the server does not take connections yet.
_GONE_ALSO = frozenset({1053, 1927, 1040, 3169, 4031, 1317, 0})
_NO_WAY = frozenset({CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR})
# A wrong user or password; 1698 if the server wants another authentication plugin.
_NO_LOGIN = frozenset({ER.ACCESS_DENIED_ERROR, 1698})
_NO_RIGHT = frozenset({ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR})


class DatabaseError(Exception):
    """The database refused; the message is a sentence for the operator and names the database."""

    @property
    def number(self) -> int:
        """The server's number of the error, 0 if it has none."""
        cause = self.__cause__
        known = isinstance(cause, pymysql.MySQLError) and cause.args and isinstance(cause.args[0], int)
        return int(cause.args[0]) if known and cause else 0


class DatabaseUnavailable(DatabaseError):
    """The database did not answer, or the connection was cut: another attempt may succeed later."""


class Contention(DatabaseError):
    """A lock was held too long, or a deadlock was broken: the whole transaction may succeed at another attempt."""


class LostLease(Exception):
    """This process no longer leads: its transaction was rolled back, and all later ones will be."""


@dataclass(frozen=True)
class Server:
    """The address and login of a database. With `unix_socket`, host and port do not count.

    `others`: host and port of other servers of the same database, such as SQL nodes, tried if this one does not answer.
    `connect_timeout`: seconds within which the server must accept the connection.
    `ca_cert`: a file of certificates; with it the connection needs TLS and a certificate that one of them vouches for.
    `client_cert`, `client_key`: files for a server that asks for a certificate. On a socket there is no TLS.
    `check_hostname`: whether the server's certificate must be for `host`, which is so with `ca_cert` unless this is False.
    """

    database: str
    host: str = "localhost"
    port: int = 3306
    user: str = ""
    password: str = field(default="", repr=False)
    unix_socket: str = ""
    others: tuple[tuple[str, int], ...] = ()
    connect_timeout: int = 10
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""
    check_hostname: bool | None = None

    @property
    def all(self) -> list[Server]:
        """This server, and each of the others as a server without others."""
        alone = replace(self, others=())
        return [alone, *(replace(alone, host=host, port=port) for host, port in self.others)]

    @property
    def place(self) -> str:
        """The database and its address, for messages."""
        return f"the database {self.database} at {self.unix_socket or f'{self.host}:{self.port}'}"


def login(server: Server) -> dict[str, Any]:
    """Arguments of pymysql.connect. Raises pymysql.OperationalError if a setting of the server cannot be used."""
    if server.connect_timeout < 1:
        raise pymysql.OperationalError(CR.CR_UNKNOWN_ERROR, "connect_timeout must be 1 second or more")
    where: dict[str, Any] = {"host": server.host, "port": server.port}
    if not server.unix_socket and (context := tls.context(server)):
        where["ssl"] = context
    if server.unix_socket:
        # On a socket, TLS would take longer than most transactions.
        where = {"unix_socket": server.unix_socket, "ssl_disabled": True}
    return {
        **where,
        "user": server.user or None,
        "password": server.password,
        "database": server.database,
        "connect_timeout": server.connect_timeout,
        "autocommit": False,
        # A server's default may be to shorten values that do not fit.
        "init_command": "SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_TRANS_TABLES')",
    }


def connect(server: Server, **arguments: Any) -> pymysql.connections.Connection[Any]:
    """A connection to this server, not to `others`; `arguments` override those of `login`.

    Raises pymysql.MySQLError. If TLS failed, its text names the option to change.
    """
    known = login(server)
    try:
        return pymysql.connect(**{**known, **arguments})
    except pymysql.OperationalError as error:
        told = tls.explained(error, server)
        if told is error:
            raise
        raise told from error


@dataclass(frozen=True)
class Names:
    """Names of hopshive's own: `state` is a schema, `inodes` a table with its schema. hopshive.config checks them."""

    state: str = "hopshive"
    inodes: str = "hops.hdfs_inodes"


class Fence(Protocol):
    """Checks in a transaction that is about to commit whether this process still leads."""

    def check(self, tx: Transaction) -> None:
        """Raises LostLease. Holds a shared lock on the lease until the transaction's end."""


@lru_cache(maxsize=1024)
def render(sql: str, names: Names) -> str:
    """SQL with the names of hopshive's schemas filled in."""
    return sql.replace("{state}", names.state).replace("{inodes}", names.inodes)


class Transaction:
    """Runs the statements of one transaction."""

    def __init__(self, cursor: pymysql.cursors.Cursor, names: Names) -> None:
        self._cursor = cursor
        self.names = names

    def execute(self, sql: str, arguments: Sequence[object] = ()) -> int:
        """Run a statement with bound parameters (`%s`); returns the number of rows that it changed or found."""
        return self._cursor.execute(render(sql, self.names), arguments or None)

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        """Run a statement once for each row of parameters; an INSERT ... VALUES is sent as one."""
        return int(self._cursor.executemany(render(sql, self.names), rows) or 0) if rows else 0

    def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""
        self.execute(sql, arguments)
        return list(self._cursor.fetchall())

    def row(self, sql: str, arguments: Sequence[object] = ()) -> Row | None:
        """The first row of a query, or None."""
        self.execute(sql, arguments)
        found: Row | None = self._cursor.fetchone()
        return found

    def value(self, sql: str, arguments: Sequence[object] = ()) -> Any:
        """The first column of the first row, or None."""
        found = self.row(sql, arguments)
        return found[0] if found else None

    def is_ndb(self) -> bool:
        """Whether the tables are in NDB Cluster."""
        return str(self.value("SELECT @@default_storage_engine")).lower() == "ndbcluster"

    @property
    def last_id(self) -> int:
        """The AUTO_INCREMENT value of the last INSERT."""
        return int(self._cursor.lastrowid)


def marks(values: Sequence[object]) -> str:
    """Placeholders for `IN (...)`: `%s, %s, %s`."""
    return ", ".join(["%s"] * len(values))


# Ids as a derived table that is joined first, one index lookup each. With IN (...) the optimizer may scan a small table even
# against a hint, and a locking read would then wait for every locked row that it passes. JSON_TABLE is in a query of its own,
# since MySQL cannot lock it (error 3569).
GIVEN = "(SELECT id FROM JSON_TABLE(%s, '$[*]' COLUMNS (id BIGINT PATH '$')) j) v"


def given(ids: Iterable[object]) -> str:
    """The argument of GIVEN."""
    return json.dumps(list(ids))


def chunks(values: Collection[Item]) -> Iterator[list[Item]]:
    """The distinct values in lists of CHUNK at most, for IN lists."""
    ordered = list(dict.fromkeys(values))
    for start in range(0, len(ordered), CHUNK):
        yield ordered[start : start + CHUNK]


def quoted(columns: Sequence[str]) -> str:
    """A list of columns in backquotes: some have names such as DESC and ORDER."""
    return ", ".join(f"`{column}`" for column in columns)


class Database:
    """One connection, opened when it is needed, and again after it was lost. For one thread.

    With a `fence`, each writing transaction ends with its check: the work of a process that no longer leads is rolled back.
    `silence`: seconds for which a statement may take, or the server be silent.
    """

    def __init__(
        self, server: Server, names: Names | None = None, fence: Fence | None = None, *, silence: float = SILENCE
    ) -> None:
        self._silence = silence
        self.server = server
        self.names = names or Names()
        self.fence = fence
        self._connection: pymysql.connections.Connection[Any] | None = None
        self._skips_locked: bool | None = None

    @contextmanager
    def transaction(self, *, fenced: bool = True) -> Iterator[Transaction]:
        """Commit at the block's end, roll back on an exception.

        Raises DatabaseUnavailable, Contention, DatabaseError, and LostLease if there is a fence and the lease is lost.
        """
        try:
            connection = self._connected()
            with connection.cursor() as cursor:
                tx = Transaction(cursor, self.names)
                yield tx
                if fenced and self.fence is not None:
                    self.fence.check(tx)
            connection.commit()
        except pymysql.MySQLError as error:
            self._roll_back()
            raise self._sentence(error) from error
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that only reads, without the fence."""
        with self.transaction(fenced=False) as tx:
            yield tx

    @contextmanager
    def stream(self, sql: str, arguments: Sequence[object] = ()) -> Iterator[Iterator[Row]]:
        """Rows of a long query, fetched while they are read, on a connection of its own; memory does not grow."""
        try:
            connection = self._open()
            try:
                with connection.cursor(pymysql.cursors.SSCursor) as cursor:
                    cursor.execute(render(sql, self.names), arguments or None)
                    yield iter(cursor)
            finally:
                # Closing an SSCursor early would read the remaining rows.
                _drop(connection)
        except pymysql.MySQLError as error:
            raise self._sentence(error) from error

    @property
    def skips_locked(self) -> bool:
        """Whether SKIP LOCKED works. NDB ignores it, waits for each locked row, and then rolls the transaction back.

        Raises DatabaseUnavailable.
        """
        if self._skips_locked is None:
            with self.reading() as tx:
                self._skips_locked = not tx.is_ndb()
        return self._skips_locked

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        if self._connection is not None:
            _drop(self._connection)
            self._connection = None

    def _connected(self) -> pymysql.connections.Connection[Any]:
        if self._connection is None or not self._connection.open:
            self._connection = self._open()
        return self._connection

    def _open(self) -> pymysql.connections.Connection[Any]:
        connection = self._connect(read_timeout=self._silence, write_timeout=self._silence)
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute("SET SESSION innodb_lock_wait_timeout = %s, time_zone = '+00:00'", (LOCK_WAIT,))
        return connection

    def _connect(self, **arguments: Any) -> pymysql.connections.Connection[Any]:
        """To the server, or if it does not answer to the next; raises what the first one said."""
        errors: list[pymysql.MySQLError] = []
        for server in self.server.all:
            try:
                return connect(server, **{"charset": "utf8mb4", **arguments})
            except pymysql.MySQLError as error:
                if not error.args or error.args[0] not in _GONE | _GONE_ALSO:
                    raise
                errors.append(error)
        raise errors[0]

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except (pymysql.MySQLError, OSError):
            self.close()

    def _sentence(self, error: pymysql.MySQLError) -> DatabaseError:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[1] if len(error.args) > 1 else error)
        said = f"{self.server.place[0].upper()}{self.server.place[1:]}: {text} ({number}).{self._remedy(number, error)}"
        if number in _CONTENTION:
            return Contention(said)
        if number in _GONE or number in _GONE_ALSO or isinstance(error, pymysql.err.InterfaceError):
            self.close()
            return DatabaseUnavailable(said)
        return DatabaseError(said)

    def _remedy(self, number: int, error: pymysql.MySQLError) -> str:
        """A sentence with what to do about a refused login or an unreachable server; empty for other errors."""
        if number in _NO_LOGIN:
            return " The user is database.user, and database.password_file has the password: site.yml writes both."
        if number in _NO_RIGHT:
            return f" The user {self.server.user} lacks privileges: site.yml grants them."
        if number not in _NO_WAY:
            return ""
        if self.server.unix_socket and isinstance(getattr(error, "original_exception", None), PermissionError):
            return f" {denial(Path(self.server.unix_socket), os.W_OK)}."
        return " Is the server up, and can this host reach it?"


def _drop(connection: pymysql.connections.Connection[Any]) -> None:
    """Close a connection without a message to the server, which may hang."""
    with suppress(pymysql.MySQLError, OSError):
        connection._force_close()  # type: ignore[attr-defined]
