"""The metastore's MariaDB as its root, over the server's own socket: no password, and no grant that a site would not have."""

from __future__ import annotations

import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pymysql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.warehouse.hosts import Host

# Joins stdin and stdout to the socket.
_RELAY = """
import os, socket, sys, threading
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def up():
    while data := os.read(0, 65536):
        server.sendall(data)
    os._exit(0)
threading.Thread(target=up, daemon=True).start()
while data := server.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""
SOCKET = "/run/mysqld/mysqld.sock"

Row = tuple[Any, ...]


class MetastoreDatabase:
    """One connection with autocommit, made when it is needed and again after it was lost. Not for several threads."""

    def __init__(self, host: Host, schema: str = "metastore") -> None:
        self._host = host
        self.schema = schema
        self._connection: pymysql.connections.Connection[Any] | None = None
        self._relay: subprocess.Popen[bytes] | None = None

    def execute(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        """Run a statement; its rows. Raises pymysql.MySQLError: tried once more if a connection from before was lost."""
        kept = self._connection is not None
        try:
            return self._execute(sql, arguments)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
            self.close()
            if not kept:
                raise
        return self._execute(sql, arguments)

    def _execute(self, sql: str, arguments: Sequence[object]) -> list[Row]:
        connection = self._connection or self._connect()
        with connection.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return list(cursor.fetchall())

    def snapshot(self, statements: Sequence[str]) -> list[list[Row]]:
        """The rows of some queries, all of one moment."""
        self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        try:
            return [self.execute(statement) for statement in statements]
        finally:
            self.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection._force_close()  # type: ignore[attr-defined]
        if self._relay:
            self._relay.kill()
            self._relay.wait()
        self._connection, self._relay = None, None

    def _connect(self) -> pymysql.connections.Connection[Any]:
        ours, theirs = socket.socketpair()
        with theirs:
            argv = self._host.argv("python3", "-c", _RELAY, SOCKET)
            self._relay = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
            )
        connection = pymysql.connect(
            user="root", database=self.schema, charset="utf8mb4", autocommit=True, defer_connect=True
        )
        try:
            connection.connect(ours)
        except BaseException:
            ours.close()
            self._relay.kill()
            self._relay.wait()
            self._relay = None
            raise
        self._connection = connection
        return connection
