"""Restore the metastore's databases from a backup, in steps that one host each carries out.

ndb_restore makes tables and never overwrites one, so the databases are dropped before (`empty`). Then the tables are made by
one node's part (`metadata`), each node's part gives its rows (`data`), and at the end indexes and foreign keys are made
(`indexes`), which fail on a row that refers to nothing. Each SQL node learns of the tables by itself (`discover`).
After a step that failed, start over with `empty`: no step changes the backup.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pymysql

from hopshive.database import connect, marks, quoted
from hopshive.operations.ndb.tools import NdbError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopshive.database import Server
    from hopshive.operations.ndb.backup import Part
    from hopshive.operations.ndb.tools import Tools

POLL_SECONDS = 0.5


def idle(server: Server, users: Sequence[str]) -> None:
    """Check that no user of metastores, cleaners or login services is connected to an SQL node. Raises NdbError if one is."""
    with _connected(server) as cursor:
        cursor.execute(
            "SELECT USER, SUBSTRING_INDEX(HOST, ':', 1), COUNT(*) FROM information_schema.PROCESSLIST"
            f" WHERE USER IN ({marks(users)}) AND ID <> CONNECTION_ID() GROUP BY 1, 2 ORDER BY 1, 2",
            list(users),
        )
        found = [f"{user} from {host or 'this host'} ({count})" for user, host, count in cursor.fetchall()]
    if found:
        raise NdbError(
            f"The database is in use: {', '.join(found)} connected to {server.host}:{server.port}. Stop the units hive-metastore,"
            " hive-server2, hopshive-cleaner and hopshive-login on all hosts first; nothing was changed."
        )


def tables(server: Server, databases: Sequence[str]) -> dict[str, int]:
    """How many tables each of the databases has; those without any are left out."""
    with _connected(server) as cursor:
        cursor.execute(
            f"SELECT TABLE_SCHEMA, COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ({marks(databases)})"
            " GROUP BY TABLE_SCHEMA",
            list(databases),
        )
        return {str(name): int(count) for name, count in cursor.fetchall()}


def empty(server: Server, databases: Sequence[str]) -> None:
    """Drop the databases with all that is in them and make them again, on all SQL nodes."""
    with _connected(server) as cursor:
        # Tables of one database refer to tables of another.
        cursor.execute("SET SESSION foreign_key_checks = 0")
        for name in databases:
            cursor.execute(f"DROP DATABASE IF EXISTS {quoted([name])}")
        for name in databases:
            cursor.execute(f"CREATE DATABASE {quoted([name])} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")


def metadata(tools: Tools, part: Part, databases: Sequence[str]) -> None:
    """Make the tables, without indexes."""
    _restore(tools, part, databases, "--restore-meta", "--disable-indexes")


def data(tools: Tools, part: Part, databases: Sequence[str]) -> None:
    """Write the rows of a node's part."""
    _restore(tools, part, databases, "--restore-data", "--disable-indexes")


def indexes(tools: Tools, part: Part, databases: Sequence[str]) -> None:
    """Make indexes and foreign keys."""
    _restore(tools, part, databases, "--rebuild-indexes")


def discover(server: Server, databases: Sequence[str], seconds: float) -> dict[str, int]:
    """Let an SQL node discover tables that others made; how many each database has. Raises NdbError after `seconds`.

    MySQL: ndb_metadata_sync is switched off by the server when it has seen everything.
    """
    end = time.monotonic() + seconds
    with _connected(server) as cursor:
        cursor.execute("SET GLOBAL ndb_metadata_sync = 1")
        while True:
            cursor.execute("SELECT @@GLOBAL.ndb_metadata_sync")
            row = cursor.fetchone()
            if row is not None and not row[0]:
                break
            if time.monotonic() > end:
                raise NdbError(
                    f"The SQL node {server.host}:{server.port} has not found all tables within {seconds:g} s: its log says why."
                )
            time.sleep(POLL_SECONDS)
        cursor.execute(
            f"SELECT database_name, COUNT(*) FROM ndbinfo.dictionary_tables WHERE database_name IN ({marks(databases)})"
            " AND table_name NOT LIKE 'NDB$BLOB%%' GROUP BY database_name",
            list(databases),
        )
        stored = {str(name): int(count) for name, count in cursor.fetchall()}
    found = tables(server, databases)
    if found != stored:
        raise NdbError(
            f"The SQL node {server.host}:{server.port} knows the tables {found}, and the cluster has {stored}."
        )
    return found


def begin_anew(server: Server, state: str) -> None:
    """Let the cleaner compare everything when it leads next: directories may have been deleted or made since the backup."""
    with _connected(server) as cursor:
        cursor.execute(f"UPDATE {quoted([state])}.position SET compared_at = NULL")


def _restore(tools: Tools, part: Part, databases: Sequence[str], *step: str) -> None:
    tools.run(
        "ndb_restore",
        f"--nodeid={part.node}",
        f"--backupid={part.id}",
        f"--backup-path={part.path}",
        f"--include-databases={','.join(databases)}",
        # Restored rows are not changes that readers of the binary log must follow.
        "--no-binlog",
        *step,
    )


@contextmanager
def _connected(server: Server) -> Iterator[pymysql.cursors.Cursor]:
    arguments: dict[str, Any] = {"database": None, "autocommit": True, "charset": "utf8mb4"}
    try:
        with connect(server, **arguments) as connection, connection.cursor() as cursor:
            yield cursor
    except pymysql.MySQLError as error:
        said = error.args[1] if len(error.args) > 1 else error
        raise NdbError(f"The SQL node {server.unix_socket or f'{server.host}:{server.port}'}: {said}.") from error
