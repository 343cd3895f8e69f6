"""The lease: one row in the database that says which daemon leads, and a fence that keeps all others from writing.

A daemon that takes the lease leads for a term. The term has a number (the epoch) and ends when the lease expires by the
database's clock, unless the daemon renews it. A leader may be frozen and continue an hour later, it may be cut off, its
clock may jump. In each case this holds: **what a leader commits, it commits before the next term begins.** Why:

- The last statement of each writing transaction reads the row, compares the epoch with its own, and takes a shared lock on
  the row (`Term.check`). The take-over is an UPDATE of the row, which waits for shared locks. So a transaction either ends
  before the take-over, or sees another epoch and is rolled back.
- A leader that is frozen between that statement and its COMMIT would hold up the take-over. A leader that is frozen earlier
  would hold up its successor's writes. So each connection is recorded in the row before its first write, and the take-over
  kills recorded connections first; the server rolls back their transactions. No connection can be recorded after the lease
  has expired, so the take-over misses none.
- If a connection cannot be killed, MariaDB ends it when it has been idle in a transaction for two leases
  (idle_transaction_timeout). NDB's data nodes drop an SQL node that is cut off, with its transactions.
- Each statement about the lease is a transaction of its own: a process that is frozen between two of them does not hold the
  row.

A leader's own clock only makes it stop early: when it could not renew the lease for as long as the lease lasts.
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

# Seconds that a statement about the lease waits for the row, and the shortest timeout for its answer.
ROW_WAIT = 2
LEAST_TIMEOUT = 4.0
# Renewals of a lease before it would expire.
RENEWALS = 3
# The server of a connection, as a short number, since one column has all connections. Ids are unique per server only.
NODE = "CRC32(CONCAT(@@hostname, ':', @@port))"
# Leases after which the server ends a connection that is idle in a transaction.
IDLE_LEASES = 2


def monotonic() -> float:
    """A clock in seconds that also counts the time in which the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class Standing:
    """The content of the row. `left`: seconds until the lease expires by the database's clock, negative afterwards."""

    holder: str
    epoch: int
    left: float

    @property
    def led(self) -> bool:
        """Whether a daemon leads."""
        return self.left > 0


def read_standing(tx: Transaction) -> Standing | None:
    """The daemon that leads, or led last; None if none ever did."""
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

        If the lease has expired, the last leader's connections are killed, which rolls back what they did not commit.
        Raises DatabaseError; the caller may try again.
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
                # Exactly the row whose connections were killed: an expired row gets no more connections.
                " WHERE id = 1 AND epoch = %s AND expires = %s AND expires <= UTC_TIMESTAMP(6)",
                (self.holder, _microseconds(self.seconds), epoch, expires),
            )
        return Term(self, int(epoch) + 1, began) if taken else None

    def standing(self) -> Standing | None:
        """The content of the row; None without one. Raises DatabaseError."""
        with self._session.transaction() as tx:
            return read_standing(tx)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _kill(self, connections: str) -> None:
        """Kill the remaining connections of the last leader, each at its own server.

        A user may kill its own connections. After a server's restart, a number may belong to another connection. A
        connection of another user stays; one of this user's processes loses its transaction and tries again.
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
                # If the server is down, its connections have ended.
                log.info("The connections of the last leader at one server could not be killed: %s", error)
            finally:
                session.close()
            if not left:
                break

    def _kill_at(self, session: _Session, left: dict[str, list[int]]) -> None:
        """Kill the connections of the session's own server, and remove them from `left`."""
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
                log.info("Killed the connection %d of the last leader.", number)
            except DatabaseError as error:
                if error.number not in (ER.NO_SUCH_THREAD, ER.KILL_DENIED_ERROR):
                    raise
                if error.number == ER.KILL_DENIED_ERROR:
                    log.warning("The connection %d of the last leader cannot be killed: %s", number, error)


class Term:
    """A time in which this process leads. It ends for good when it is lost or released. For all threads.

    As a database's fence, it makes sure that no transaction commits after its end.
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
        """Whether the term lasts, as far as this process knows."""
        return not self._end and monotonic() < self._until

    @property
    def left(self) -> float:
        """Seconds until the term ends by this process' own clock, unless it is renewed."""
        return self._until - monotonic()

    @property
    def renewed(self) -> float:
        """When the lease was last taken or renewed, by `monotonic`."""
        return self._until - self.seconds

    def database(self) -> Fenced:
        """A connection for one thread of the leader."""
        return Fenced(self._server, self._names, self)

    def check(self, tx: Transaction) -> None:
        """Run the last statement of a writing transaction, as `hopshive.database.Fence`. Raises LostLease."""
        self._require()
        found = tx.value(
            "SELECT epoch FROM {state}.lease WHERE id = 1 AND epoch = %s AND expires > UTC_TIMESTAMP(6) LOCK IN SHARE MODE",
            (self.epoch,),
        )
        if found is None:
            self._lose("it expired, or another daemon leads")

    def renew(self) -> None:
        """Renew the lease for `seconds` from now. Raises LostLease, and DatabaseError if the caller may try again."""
        with self._lock:
            self._renew(self._connections)

    def record(self, owner: object, connection: str) -> None:
        """Record a connection, `number@server` (NODE), before it writes; replaces the owner's last one. Raises as `renew`."""
        with self._lock:
            connections = {**self._connections, owner: connection}
            self._renew(connections)
            self._connections = connections

    def release(self) -> None:
        """Let another daemon lead at once; later writes get LostLease. After a DatabaseError the lease expires by itself."""
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
        """Let all later writes of this process fail; the lease expires by itself."""
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
        raise LostLease(f"This daemon no longer leads (epoch {self.epoch}): {self._end}.")


class Fenced(Database):
    """A connection of the leader, recorded in the lease before it writes, so that the next leader can kill it."""

    def __init__(self, server: Server, names: Names, term: Term) -> None:
        super().__init__(server, names, fence=term)
        self._term = term
        # The last use, by `monotonic`: a sign of life of its thread.
        self.used = monotonic()

    def cut(self) -> None:
        """Cut off a statement; the thread that waits for it gets DatabaseUnavailable. For other threads."""
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
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and return when it has ended."""
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
                log.log(
                    level, "The lease could not be renewed; it expires in %.1f s: %s", max(0.0, self._term.left), error
                )
                failed += 1
                pause = min(1.0, self._term.seconds / RENEWALS / 3)
            else:
                if failed:
                    log.info("The lease is renewed again, after %d failed attempts.", failed)
                failed = 0
                pause = self._term.seconds / RENEWALS


class _Session(Database):
    """A connection for statements about the lease: each commits by itself, and none waits for long."""

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
