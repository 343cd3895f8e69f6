"""One connection that changes the schema: each statement with its checks, patient but never for long in the way."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import ER

from hopshive.consistency.schema.errors import SchemaError
from hopshive.database import Names, Server, Transaction
from hopshive.database import connect as opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopshive.consistency.schema.wanted import Statement

# Seconds that an ALTER TABLE waits for the table. While it waits, everybody who comes later waits behind it.
LOCK_WAIT = 1
# Seconds between two tries, in which the others get on.
PAUSE = 2.0
# Seconds until it gives up.
PATIENCE = 120.0

# Characters that the name of a lock may have.
_LOCK_NAME = 64
_BUSY = frozenset({ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK})
# Binary logging is on, and the user may not make triggers (ER_BINLOG_CREATE_ROUTINE_NEED_SUPER).
_TRIGGER_REFUSED = 1419


class Session:
    """A connection to the metastore's database."""

    def __init__(self, server: Server, connection: pymysql.connections.Connection[Any], names: Names) -> None:
        self._server = server
        self._connection = connection
        self._names = names

    @contextmanager
    def look(self) -> Iterator[Transaction]:
        """Read."""
        with said(self._server), self._connection.cursor() as cursor:
            yield Transaction(cursor, self._names)

    def run(self, statement: Statement) -> None:
        """Run one. Raises SchemaError, also if others did not let go of the table within PATIENCE seconds."""
        with said(self._server, statement.sql):
            self.execute("SET SESSION foreign_key_checks = %s", (int(statement.checks),))
            self.execute(statement.sql)

    def execute(self, sql: str, arguments: Sequence[object] = ()) -> None:
        """While others hold what it needs it steps back and tries again. Raises SchemaError, and what the database said else."""
        deadline = time.monotonic() + PATIENCE
        with self._connection.cursor() as cursor:
            while True:
                try:
                    cursor.execute(sql, arguments or None)
                except pymysql.MySQLError as error:
                    if error.args[0] not in _BUSY:
                        raise
                    if time.monotonic() >= deadline:
                        raise SchemaError(self._busy(sql, cursor)) from None
                else:
                    return
                time.sleep(PAUSE)

    def _busy(self, sql: str, cursor: pymysql.cursors.Cursor) -> str:
        """Sessions that may be in the way; only a user with the privilege PROCESS sees them."""
        try:
            cursor.execute(
                "SELECT p.ID, p.USER, p.HOST, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) FROM information_schema.INNODB_TRX t"
                " JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE p.ID <> CONNECTION_ID()"
                " ORDER BY t.trx_started LIMIT 1"
            )
            row = cursor.fetchone()
        except pymysql.MySQLError:
            row = None
        oldest = ""
        if row:
            oldest = (
                f" The oldest transaction has run for {row[3]} s, by {row[1]} from {row[2]} (KILL {row[0]} ends it)."
            )
        return (
            f"For {PATIENCE:.0f} s another session held what '{_short(sql)}' needs, in {self._server.place}."
            f"{oldest} What was done before stays; run this again when it is quieter."
        )


@contextmanager
def said(server: Server, sql: str = "") -> Iterator[None]:
    """Errors of the database as sentences, with the statement if it is told."""
    try:
        yield
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args else 0
        text = str(error.args[1] if len(error.args) > 1 else error)
        what = f" for '{_short(sql)}'" if sql else ""
        hint = ""
        if number == _TRIGGER_REFUSED:
            hint = " Set log_bin_trust_function_creators on the server, or use a user with the privilege SUPER."
        elif number == ER.NO_REFERENCED_ROW_2:
            hint = (
                " The key was missing, and rows of its table name what is no longer there: delete these rows, and run this"
                " again."
            )
        raise SchemaError(
            f"{server.place[0].upper()}{server.place[1:]} could not be used{what}: {text} ({number}).{hint}"
        ) from None


@contextmanager
def suppress_unknown_database() -> Iterator[None]:
    """Pass over error 1049."""
    try:
        yield
    except pymysql.MySQLError as error:
        if error.args[0] != ER.BAD_DB_ERROR:
            raise


@contextmanager
def connect(server: Server, names: Names) -> Iterator[Session]:
    """Open a connection. A statement may take as long as it needs: an index over all storage descriptors is made in it."""
    with said(server):
        connection = opened(server, database=None, charset="utf8mb4", autocommit=True)
    try:
        with said(server), connection.cursor() as cursor:
            # One that is not there has no table: said where a table is missed.
            with suppress_unknown_database():
                cursor.execute(f"USE `{server.database}`")
            # The mode is kept with each trigger.
            cursor.execute(
                "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait_timeout = %s,"
                " innodb_lock_wait_timeout = %s",
                (LOCK_WAIT, LOCK_WAIT),
            )
            _require_alone(server, cursor)
        yield Session(server, connection, names)
    finally:
        connection.close()


def _require_alone(server: Server, cursor: pymysql.cursors.Cursor) -> None:
    """Wait for the end of other changes of this schema: a statement continues after the end of the process that asked for it.

    The lock ends with its connection. Raises SchemaError.
    """
    cursor.execute("SELECT GET_LOCK(%s, %s)", (f"hopshive {server.database}"[:_LOCK_NAME], PATIENCE))
    if cursor.fetchone() != (1,):
        raise SchemaError(
            f"For {PATIENCE:.0f} s another run has been changing the schema of {server.database} in {server.place}. Nothing"
            " was changed. Wait for the end of that run."
        )


def _short(sql: str) -> str:
    line = " ".join(sql.split())
    return line if len(line) <= 80 else f"{line[:77]}..."
