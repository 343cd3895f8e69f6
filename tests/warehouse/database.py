"""The metastore's database as its root, over the server's own socket: no password, and no grant that a site would not have."""

from __future__ import annotations

import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pymysql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.warehouse.hosts import Lab

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
# By the group that runs it.
SOCKETS = {"mariadb": "/run/mysqld/mysqld.sock", "ndb_sql": "/run/ndb-sql/mysqld.sock"}
# Seconds in which two looks at what does not change by itself must say the same.
STILL = 20

Row = tuple[Any, ...]


def database_group(lab: Lab) -> str:
    """The group whose hosts answer SQL: `mariadb`, or `ndb_sql` on NDB Cluster. Raises LookupError."""
    for group in SOCKETS:
        if lab.group(group):
            return group
    raise LookupError(f"{lab.inventory} has no host in the groups {' and '.join(SOCKETS)}")


class MetastoreDatabase:
    """One connection with autocommit, made when it is needed and again after it was lost. Not for several threads.

    On NDB Cluster it asks the first SQL node.
    """

    def __init__(self, lab: Lab, schema: str = "metastore") -> None:
        self._group = database_group(lab)
        self._host = lab.one(self._group)
        self.schema = schema
        self._connection: pymysql.connections.Connection[Any] | None = None
        self._relay: subprocess.Popen[bytes] | None = None

    def execute(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        """Run a statement; its rows. Raises pymysql.MySQLError: tried again if a connection from before was lost."""
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
        """The rows of some queries, all of one moment.

        NDB reads what is committed when it reads. There all are asked again until they say the same as before. Raises
        TimeoutError if they never do.
        """
        if self._group == "ndb_sql":
            return self._still(statements)
        self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        try:
            return [self.execute(statement) for statement in statements]
        finally:
            self.execute("ROLLBACK")

    def _still(self, statements: Sequence[str]) -> list[list[Row]]:
        deadline = time.monotonic() + STILL
        before: list[list[Row]] | None = None
        while True:
            # Without an order a table's rows come as its fragments answer.
            found = [self.execute(statement) for statement in statements]
            ordered = [sorted(rows, key=repr) for rows in found]
            if ordered == before:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"the metastore's rows change all the time: {'; '.join(statements)[:500]}")
            before = ordered

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
            argv = self._host.argv("python3", "-c", _RELAY, SOCKETS[self._group])
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
