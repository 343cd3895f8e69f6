"""Who leads: one row in the database, and a fence that lets nobody else write.

A daemon that takes the lease leads for a term, which has a number (the epoch) and ends with the lease's expiry by the
database's clock unless it is renewed. Whatever happens to a leader (it is frozen and goes on an hour later, it is cut off,
its clock jumps), this holds: **what it commits, it commits before the next term begins.** Why:

- The last statement of each writing transaction looks at the row, asks for its own epoch and takes a shared lock on it
  (`Term.check`). The take-over is an UPDATE of the row, which waits for shared locks. So a transaction either ends before
  the take-over, or sees another epoch and is rolled back.
- A leader that is frozen between that look and its COMMIT would hold up the take-over, and one that is frozen earlier the
  writes of its successor. So each connection that writes is recorded in the row before its first statement, and the
  take-over kills those first; their transactions are rolled back by the server. A connection cannot be recorded once the
  lease has expired, so that none is missed.
- Where a connection cannot be killed, MariaDB ends it by itself when it was idle in a transaction for two leases
  (idle_transaction_timeout); an SQL node of NDB that is cut off is given up by the data nodes, with its transactions.
- Statements about the lease are transactions of their own: nobody who is frozen in between holds the row.

A leader's own clock only makes it stop early: when it could not renew for as long as the lease lasts.
"""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import ER

from hopshive.database import Database, DatabaseError, DatabaseUnavailable, LostLease, marks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hopshive.database import Names, Server, Transaction

log = logging.getLogger(__name__)

# Seconds that a statement about the lease waits for the row, and that its answer may take at least.
ROW_WAIT = 2
LEAST_TIMEOUT = 4.0
# A lease is renewed that many times before it would expire.
RENEWALS = 3
# Which server a connection is to, short, since all of them stand in one column: numbers of connections are its own.
NODE = "CRC32(CONCAT(@@hostname, ':', @@port))"
# A connection that is idle in a transaction for that many leases is ended by the server.
IDLE_LEASES = 2


def monotonic() -> float:
    """Seconds, also those in which the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class Standing:
    """What the row says. `left`: seconds until it expires by the database's clock, negative afterwards."""

    holder: str
    epoch: int
    left: float

    @property
    def led(self) -> bool:
        """Whether somebody leads."""
        return self.left > 0


def read_standing(tx: Transaction) -> Standing | None:
    """Who leads, or led last; None if nobody ever did."""
    row = tx.row(
        "SELECT holder, epoch, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) FROM {state}.lease WHERE id = 1"
    )
    return Standing(str(row[0]), int(row[1]), int(row[2]) / 1e6) if row else None


class Lease:
    """Asks for the lease in the name of `holder`, for `seconds` at a time. For one thread, with a connection of its own."""

    def __init__(self, server: Server, names: Names, holder: str, seconds: float) -> None:
        self.server = server
        self.names = names
        self.holder = holder[:255]
        self.seconds = seconds
        self._session = _Session(server, names, seconds)

    def try_acquire(self) -> Term | None:
        """A new term, or None while another daemon leads.

        If it expired, the connections of who led are killed: what they did not commit is rolled back. Raises DatabaseError;
        the same may then be tried again.
        """
        with self._session.transaction() as tx:
            row = tx.row(
                "SELECT epoch, expires, connections, expires > UTC_TIMESTAMP(6) FROM {state}.lease WHERE id = 1"
            )
            if row is None:
                tx.execute(
                    "INSERT IGNORE INTO {state}.lease (id, holder, epoch, expires, connections)"
                    " VALUES (1, '', 0, UTC_TIMESTAMP(6), '')"
                )
                return None
        epoch, expires, connections, valid = row
        if valid:
            return None
        self._kill(connections)
        began = monotonic()
        with self._session.transaction() as tx:
            taken = tx.execute(
                "UPDATE {state}.lease SET holder = %s, epoch = epoch + 1, connections = '',"
                " expires = UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND"
                # Exactly the row whose connections were killed; nothing can be added to an expired one.
                " WHERE id = 1 AND epoch = %s AND expires = %s AND expires <= UTC_TIMESTAMP(6)",
                (self.holder, _microseconds(self.seconds), epoch, expires),
            )
        return Term(self, int(epoch) + 1, began) if taken else None

    def standing(self) -> Standing | None:
        """Who leads. Raises DatabaseError."""
        with self._session.transaction() as tx:
            return read_standing(tx)

    def close(self) -> None:
        """End the connection."""
        self._session.close()

    def _kill(self, connections: str) -> None:
        """End connections of who led, as far as they are still there, each at the server that it was made to.

        A user may kill what is its own. Numbers begin again when a server restarts, so that one may belong to somebody else
        by then: a user of another name is left alone, one of ours tries again.
        """
        left: dict[str, list[int]] = {}
        for connection in filter(None, connections.split(",")):
            number, _, node = connection.partition("@")
            left.setdefault(node, []).append(int(number))
        if left:
            self._kill_at(self._session, left)
        for server in self.server.all if left else ():
            session = _Session(server, self.names, self.seconds)
            try:
                self._kill_at(session, left)
            except DatabaseUnavailable as error:
                # Its connections have ended with it.
                log.info("Nothing of the daemon that led before is killed at one server: %s", error)
            finally:
                session.close()
            if not left:
                break

    def _kill_at(self, session: _Session, left: dict[str, list[int]]) -> None:
        """End those of the session's own server, and forget them."""
        with session.transaction() as tx:
            numbers = left.pop(str(tx.value(f"SELECT {NODE}")), [])
            found = (
                tx.rows(
                    f"SELECT ID FROM information_schema.PROCESSLIST WHERE ID IN ({marks(numbers)})"
                    " AND ID <> CONNECTION_ID() AND USER = SUBSTRING_INDEX(USER(), '@', 1)",
                    numbers,
                )
                if numbers
                else []
            )
        for (number,) in found:
            try:
                with session.transaction() as tx:
                    tx.execute("KILL CONNECTION %s", (int(number),))
                log.info("Killed the connection %d of the daemon that led before.", number)
            except DatabaseError as error:
                if error.number not in (ER.NO_SUCH_THREAD, ER.KILL_DENIED_ERROR):
                    raise
                if error.number == ER.KILL_DENIED_ERROR:
                    log.warning("The connection %d of the daemon that led before cannot be killed: %s", number, error)


class Term:
    """The time in which this process leads, once. It ends for good when it was lost or released. For all threads.

    As a database's fence it makes sure that nothing is committed after its end.
    """

    def __init__(self, lease: Lease, epoch: int, began: float) -> None:
        self.epoch = epoch
        self.seconds = lease.seconds
        self._server = lease.server
        self._names = lease.names
        self._session = _Session(lease.server, lease.names, lease.seconds)
        self._lock = threading.Lock()
        self._until = began + lease.seconds
        self._connections: Mapping[object, str] = {}
        self._end = ""

    @property
    def held(self) -> bool:
        """Whether it goes on, as far as this process knows."""
        return not self._end and monotonic() < self._until

    @property
    def left(self) -> float:
        """Seconds until it ends by this process' own clock unless it is renewed."""
        return self._until - monotonic()

    @property
    def renewed(self) -> float:
        """When it was last taken or renewed, by `monotonic`."""
        return self._until - self.seconds

    def database(self) -> Fenced:
        """A connection for one thread of the leader."""
        return Fenced(self._server, self._names, self)

    def check(self, tx: Transaction) -> None:
        """As `hopshive.database.Fence`: the last statement of a transaction that writes. Raises LostLease."""
        self._require()
        found = tx.value(
            "SELECT epoch FROM {state}.lease WHERE id = 1 AND epoch = %s AND expires > UTC_TIMESTAMP(6) LOCK IN SHARE MODE",
            (self.epoch,),
        )
        if found is None:
            self._lose("it expired, or another daemon leads")

    def renew(self) -> None:
        """Lead for `seconds` from now on. Raises LostLease, and DatabaseError if it may be tried again."""
        with self._lock:
            self._renew(self._connections)

    def record(self, owner: object, connection: str) -> None:
        """Note a connection, `number@server` (NODE), before it writes, in place of the owner's last one. Raises as `renew`."""
        with self._lock:
            connections = {**self._connections, owner: connection}
            self._renew(connections)
            self._connections = connections

    def release(self) -> None:
        """Let another daemon lead at once. Whoever writes has ended or gets LostLease. Raises DatabaseError: then it expires."""
        with self._lock:
            self._end = self._end or "it was released"
            try:
                with self._session.transaction() as tx:
                    tx.execute(
                        "UPDATE {state}.lease SET expires = UTC_TIMESTAMP(6) WHERE id = 1 AND epoch = %s"
                        " AND expires > UTC_TIMESTAMP(6)",
                        (self.epoch,),
                    )
            finally:
                self._session.close()

    def end(self, why: str) -> None:
        """Stop every writer of this process; the lease expires by itself."""
        self._end = self._end or why

    def _renew(self, connections: Mapping[object, str]) -> None:
        self._require()
        began = monotonic()
        with self._session.transaction() as tx:
            renewed = tx.execute(
                "UPDATE {state}.lease SET expires = UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND, connections = %s"
                " WHERE id = 1 AND epoch = %s AND expires > UTC_TIMESTAMP(6)",
                (_microseconds(self.seconds), ",".join(connections.values()), self.epoch),
            )
        if not renewed:
            self._lose("it expired, or another daemon leads")
        self._until = began + self.seconds

    def _require(self) -> None:
        if not self.held:
            self._lose(f"it could not be renewed for {self.seconds:g} s")

    def _lose(self, why: str) -> None:
        self._end = self._end or why
        raise LostLease(f"This daemon does not lead any more (epoch {self.epoch}): {self._end}.")


class Fenced(Database):
    """A connection of the leader: recorded in the lease before it can write, so that a successor ends it."""

    def __init__(self, server: Server, names: Names, term: Term) -> None:
        super().__init__(server, names, fence=term)
        self._term = term
        # When it was last used, by `monotonic`: a sign of life of its thread.
        self.used = monotonic()

    def cut(self) -> None:
        """End a statement that waits for an answer; the thread that waits gets DatabaseUnavailable. For other threads."""
        stream: Any = getattr(self._connection, "_sock", None)
        if stream is not None:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def _connected(self) -> pymysql.connections.Connection[Any]:
        self.used = monotonic()
        before = self._connection
        connection = super()._connected()
        if connection is not before:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT CONCAT(CONNECTION_ID(), '@', {NODE})")
                    self._term.record(self, str(cursor.fetchall()[0][0]))
                connection.rollback()
                _bound_idleness(connection, math.ceil(self._term.seconds * IDLE_LEASES))
            except BaseException:
                self.close()
                raise
        return connection


class Renewal:
    """Renews a term in a thread until `stop`, or calls `on_lost` once and ends."""

    def __init__(self, term: Term, on_lost: Callable[[LostLease], None]) -> None:
        self._term = term
        self._on_lost = on_lost
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Return when no renewal is under way."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._term.seconds / RENEWALS
        failed = 0
        while not self._stopping.wait(pause):
            try:
                self._term.renew()
            except LostLease as error:
                self._on_lost(error)
                return
            except DatabaseError as error:
                # One line until the lease is renewed or lost, not one for each attempt.
                level = logging.DEBUG if failed else logging.WARNING
                log.log(level, "The lease could not be renewed, %.1f s are left: %s", max(0.0, self._term.left), error)
                failed += 1
                pause = min(1.0, self._term.seconds / RENEWALS / 3)
            else:
                if failed:
                    log.info("The lease is renewed again, after %d attempts that failed.", failed)
                failed = 0
                pause = self._term.seconds / RENEWALS


class _Session(Database):
    """For statements about the lease: each is committed by itself, and none waits for long."""

    def __init__(self, server: Server, names: Names, seconds: float) -> None:
        super().__init__(server, names)
        self._timeout = max(LEAST_TIMEOUT, seconds / 2)

    def _open(self) -> pymysql.connections.Connection[Any]:
        connection = self._connect(
            connect_timeout=self._timeout, read_timeout=self._timeout, write_timeout=self._timeout, autocommit=True
        )
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute("SET SESSION innodb_lock_wait_timeout = %s, time_zone = '+00:00'", (ROW_WAIT,))
        return connection


def _bound_idleness(connection: pymysql.connections.Connection[Any], seconds: int) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION idle_transaction_timeout = %s", (seconds,))
    except pymysql.MySQLError as error:
        if error.args[:1] != (ER.UNKNOWN_SYSTEM_VARIABLE,):
            raise


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
