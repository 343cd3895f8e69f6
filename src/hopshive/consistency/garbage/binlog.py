"""The binary log of an SQL node of NDB Cluster as a source of candidates: rows that referred to something, and went.

NDB's cascades stand in it, and any process may have deleted the row that they began with: a metastore, the NameNodes of
HopsFS, another SQL node. (InnoDB's are in no binary log, so on MariaDB there is nothing to follow.) A deleted row tells what
it referred to by its foreign keys, so the node must log whole rows (ndb_log_updated_only=OFF), and names of columns
(binlog_row_metadata=FULL).

What was read becomes candidates in the transaction that moves the position, so that nothing is missed whenever a daemon ends.
What a candidate says is only that it may be garbage: garbage.rows looks. So events that are read twice do no harm, and
the position is only moved where a transaction of the log ended.

Where there is no way on from the position, a sweep is asked for in the transaction that begins a new one at the log's end: at
the first start, when the log was purged, when the SQL node cannot be reached any more and another one is followed (each has a
log of its own), and when a node says in its log that it missed something (an incident: it was started, or was cut off from the
cluster).
"""

from __future__ import annotations

import logging
import random
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import CR, ER
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import HeartbeatLogEvent, NotImplementedEvent, QueryEvent, RotateEvent, XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent

from hopshive.consistency.garbage.references import read_kinds
from hopshive.daemon import request
from hopshive.database import DatabaseUnavailable, login
from hopshive.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hopshive.consistency.garbage.references import GarbageKind
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database, Server, Transaction

log = logging.getLogger(__name__)
# The library logs each lost connection, and so does this module.
logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)

# Seconds of silence after which the server says that there is nothing new.
HEARTBEAT_SECONDS = 0.5
# Seconds for an answer: within ten of silence the server has said twenty times that it is there.
TIMEOUTS = {"read_timeout": 10, "write_timeout": 10}
# Seconds that one step reads for, and candidates that one transaction writes.
STEP_SECONDS = 0.5
MAX_CANDIDATES = 2000
# Seconds between two notes of a position to which nothing of our concern led.
POSITION_SECONDS = 10.0
# INCIDENT_EVENT, and the server's word that a file or a position of the log is not there.
INCIDENT = 26
NOT_THERE = 1236
NOT_ALLOWED = ER.SPECIFIC_ACCESS_DENIED_ERROR
# What must be set on the SQL node.
SETTINGS = {
    "log_bin": "1",
    "ndb_log_bin": "1",
    "ndb_log_updated_only": "0",
    "binlog_format": "ROW",
    "binlog_row_metadata": "FULL",
}

# A kind of garbage and a key of it.
Candidate = tuple[str, int]


@dataclass(frozen=True)
class Position:
    """Up to where the log of one SQL node was read. `place`: host:port or socket; `uuid`: of the server."""

    place: str
    uuid: str
    file: str
    offset: int


@dataclass(frozen=True)
class Source:
    """What a deleted row of one table leaves: the kind of garbage for each of some columns."""

    columns: Mapping[str, str]
    # Whether the metadata of a materialized view of this name belonged to it.
    named: bool = False


def sources(kinds: Iterable[GarbageKind]) -> dict[str, Source]:
    """By table: what refers to a kind of garbage, by a foreign key or without one."""
    columns: dict[str, dict[str, str]] = {}
    for kind in kinds:
        loose = [*kind.root.loose]
        keys = [(key.table, key.column) for key in kind.references if len(key.columns) == 1]
        for table, column in (*keys, *loose):
            columns.setdefault(table, {})[column] = kind.root.table
        for onward in kind.onward:
            columns.setdefault(onward.table, {})[onward.column] = onward.kind
    named = any(kind.root.owner for kind in kinds)
    found = {table: Source(of, named and table == "TBLS") for table, of in columns.items()}
    if named and "TBLS" not in found:
        found["TBLS"] = Source({}, named=True)
    return found


def read_position(tx: Transaction) -> Position | None:
    """Where the log was read up to, or None."""
    row = tx.row("SELECT place, uuid, file, `offset` FROM {state}.binary_log WHERE id = 1")
    return Position(str(row[0]), str(row[1]), str(row[2]), int(row[3])) if row else None


def write_position(tx: Transaction, position: Position, read_to: datetime) -> None:
    """`read_to`: UTC; all that happened before it was read."""
    tx.execute(
        "REPLACE INTO {state}.binary_log (id, place, uuid, file, `offset`, read_to) VALUES (1, %s, %s, %s, %s, %s)",
        (position.place, position.uuid, position.file, position.offset, read_to),
    )


class Follower:
    """Reads a binary log, a little with each `step`. For one thread. Raises Refused if no SQL node writes such a log."""

    def __init__(self, database: Database, metrics: Metrics | None = None) -> None:
        self._database = database
        self._metrics = metrics
        self._sources: Mapping[str, Source] = {}
        self._stream: BinLogStreamReader | None = None
        self._position: Position | None = None
        self._noted = 0.0
        # What the server said when the position was not in its log.
        self._purged = ""
        self._candidates: set[Candidate] = set()
        self._views: set[str] = set()

    def step(self) -> bool:
        """Read for half a second at most; False if there was nothing. Raises LostLease, DatabaseError, Refused."""
        try:
            if self._stream is None:
                self._begin()
            return self._read()
        except pymysql.MySQLError as error:
            self.close()
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            if number == NOT_THERE:
                self._purged = str(error.args[1])
                return True
            if number == NOT_ALLOWED:
                raise Refused(
                    f"The user {self._database.server.user or 'of the operating system'} may not follow the binary log: grant"
                    f" REPLICATION SLAVE and REPLICATION CLIENT on *.*. ({error.args[1]})"
                ) from error
            place = self._position.place if self._position else self._database.server.place
            said = error.args[1] if len(error.args) > 1 else "the connection was lost"
            raise DatabaseUnavailable(f"The binary log of {place}: {said} ({number or CR.CR_SERVER_LOST}).") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Forget what was read and not yet written, and end the connection."""
        self._candidates, self._views = set(), set()
        if self._stream is not None:
            stream, self._stream = self._stream, None
            # One that was cut off is closed already.
            with suppress(pymysql.MySQLError, OSError):
                stream.close()

    # --- where to begin -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Continue where a position says, or begin at the end of a node's log, with a sweep for what was before."""
        with self._database.reading() as tx:
            kinds = read_kinds(tx)
            found = read_position(tx)
        self._sources = sources(kinds)
        self._position = found
        servers = self._database.server.all
        if found is not None:
            # The one that was followed first.
            servers.sort(key=lambda server: _place(server) != found.place)
        node, server = self._reachable(servers)
        if found is None:
            self._start_at(node, "it is read for the first time")
        elif found.uuid != node.uuid:
            self._start_at(node, f"it is another one than that of {found.place}")
        elif self._purged:
            self._start_at(node, self._purged)
        self._purged = ""
        assert self._position is not None  # noqa: S101 - just set, or found
        self._stream = _open(server, self._position, self._database.server.database, self._sources)
        self._noted = time.monotonic()

    def _reachable(self, servers: Iterable[Server]) -> tuple[Position, Server]:
        """The first SQL node that answers, and the end of its log. Raises pymysql.MySQLError of the first if none does."""
        first: pymysql.MySQLError | None = None
        for server in servers:
            try:
                return _end(server), server
            except pymysql.OperationalError as error:
                first = first or error
        assert first is not None  # noqa: S101 - there is one server at least
        raise first

    def _start_at(self, node: Position, why: str) -> None:
        with self._database.transaction() as tx:
            write_position(tx, node, _now())
            asked = tx.value("SELECT id FROM {state}.request WHERE kind = 'collect' AND state = 'waiting' LIMIT 1")
            if asked is None:
                request.ask(tx, "collect", {}, "the follower of the binary log")
        log.warning("The binary log of %s is followed from %s on: %s. A sweep looks for what was before.",
                    node.place, f"{node.file}:{node.offset}", why)  # fmt: skip
        if self._metrics:
            self._metrics.binary_log_gaps.inc()
        self._position = node

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read(self) -> bool:
        """Events until there are none, for half a second at most or as many as one transaction writes."""
        stream = self._stream
        assert stream is not None  # noqa: S101 - `step` begins
        until = time.monotonic() + STEP_SECONDS
        read_to: datetime | None = None
        worked = False
        while True:
            event = stream.fetchone()
            if event is None:
                raise pymysql.OperationalError(CR.CR_SERVER_LOST, "the server ended it")
            if isinstance(event, HeartbeatLogEvent):
                read_to = _now()
                self._write(stream, read_to)
                break
            if isinstance(event, NotImplementedEvent):
                if event.event_type == INCIDENT:
                    # What was read before it counts too.
                    self._write(stream, None)
                    self._after_incident(stream)
                    worked = True
                continue
            if isinstance(event, DeleteRowsEvent):
                worked = True
                self._take(event)
                if len(self._candidates) + len(self._views) >= MAX_CANDIDATES:
                    # Within a transaction of the log: candidates alone.
                    self._write(stream, None)
            elif isinstance(event, RotateEvent) or _ends(event):
                # The first of a stream has no time: it says where the stream begins.
                read_to = _at(event.timestamp) if event.timestamp else read_to
                late = time.monotonic() > until
                if read_to and (late or self._candidates or self._views):
                    self._write(stream, read_to)
                if late:
                    break
        return worked

    def _take(self, event: DeleteRowsEvent) -> None:
        source = self._sources.get(str(event.table))
        if source is None:
            return
        for row in event.rows:
            values = row["values"]
            for column, kind in source.columns.items():
                if values.get(column) is not None:
                    self._candidates.add((kind, int(values[column])))
            if source.named and values.get("TBL_NAME"):
                self._views.add(str(values["TBL_NAME"]))

    def _write(self, stream: BinLogStreamReader, read_to: datetime | None) -> None:
        """Candidates, and with `read_to` the position, which is where a transaction of the log ended."""
        position = self._position
        assert position is not None  # noqa: S101 - there is a stream
        candidates, views = sorted(self._candidates), sorted(self._views)
        now = time.monotonic()
        if read_to is not None:
            position = Position(position.place, position.uuid, str(stream.log_file), int(stream.log_pos))
            if self._metrics:
                self._metrics.binary_log_lag_seconds.set(max(0.0, (_now() - read_to).total_seconds()))
            if not candidates and not views and now - self._noted < POSITION_SECONDS:
                return
        elif not candidates and not views:
            return
        with self._database.transaction() as tx:
            tx.many("INSERT IGNORE INTO {state}.candidate (kind, id) VALUES (%s, %s)", candidates)
            for name in views:
                # Of all catalogs and databases: what has its owner still is forgotten when it is looked at.
                tx.execute(
                    "INSERT IGNORE INTO {state}.candidate (kind, id)"
                    " SELECT 'MV_CREATION_METADATA', MV_CREATION_METADATA_ID FROM MV_CREATION_METADATA WHERE TBL_NAME = %s",
                    (name,),
                )
            if read_to is not None:
                write_position(tx, position, read_to)
        if read_to is not None:
            self._position, self._noted = position, now
        if self._metrics:
            self._metrics.binary_log_candidates.inc(len(candidates))
        self._candidates, self._views = set(), set()

    def _after_incident(self, stream: BinLogStreamReader) -> None:
        """The node was not there for a while: what went meanwhile is in no log of its."""
        position = self._position
        assert position is not None  # noqa: S101 - there is a stream
        here = Position(position.place, position.uuid, str(stream.log_file), int(stream.log_pos))
        self._start_at(here, "the node has missed events, as it says")


# --- the server -------------------------------------------------------------------------------------------------------


def _place(server: Server) -> str:
    return server.unix_socket or f"{server.host}:{server.port}"


def _end(server: Server) -> Position:
    """The end of a node's log. Raises Refused if it writes none that can be followed, pymysql.MySQLError."""
    with (
        pymysql.connect(**{**login(server), **TIMEOUTS, "autocommit": True}) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SHOW GLOBAL VARIABLES")
        variables = {str(name).lower(): str(value) for name, value in cursor.fetchall()}
        if "ndb_log_bin" not in variables:
            raise Refused(
                f"{server.place[0].upper()}{server.place[1:]} is no SQL node of NDB Cluster, and what foreign keys delete stands"
                " in no other binary log: set garbage.binary_log to false."
            )
        said = {"ON": "1", "OFF": "0"}
        for name, wanted in SETTINGS.items():
            value = variables.get(name, "")
            if said.get(value.upper(), value.upper()) != wanted:
                wish = {"1": "ON", "0": "OFF"}.get(wanted, wanted)
                raise Refused(
                    f"The SQL node {_place(server)} has {name} = {value}; to follow its binary log it must be {wish}."
                )
        cursor.execute("SHOW BINARY LOG STATUS")
        row = cursor.fetchone()
        if row is None:
            raise Refused(f"The SQL node {_place(server)} writes no binary log.")
        return Position(_place(server), variables["server_uuid"], str(row[0]), int(row[1]))


def _open(server: Server, position: Position, schema: str, tables: Iterable[str]) -> BinLogStreamReader:
    left = 2

    def connect(**arguments: Any) -> pymysql.connections.Connection[Any]:
        """The stream's and the one beside it. A third would be the stream's again, begun in the middle of a transaction."""
        nonlocal left
        if not left:
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "the connection was lost")
        left -= 1
        return pymysql.connect(**arguments)

    return BinLogStreamReader(
        connection_settings={**login(server), **TIMEOUTS, "charset": "utf8mb4"},
        # Two readers of the same number end each other.
        server_id=random.randint(1 << 30, (1 << 31) - 1),  # noqa: S311 - no secret
        resume_stream=True,
        blocking=True,
        log_file=position.file,
        log_pos=position.offset,
        only_events=[DeleteRowsEvent, HeartbeatLogEvent, NotImplementedEvent, QueryEvent, RotateEvent, XidEvent],
        filter_non_implemented_events=False,
        only_schemas=[schema],
        only_tables=list(tables),
        slave_heartbeat=HEARTBEAT_SECONDS,
        pymysql_wrapper=connect,
        ignore_decode_errors=True,
        enable_logging=False,
    )


def _ends(event: object) -> bool:
    """Whether a transaction of the log ends with it."""
    if isinstance(event, QueryEvent):
        # What changes tables is one by itself.
        return str(event.query) != "BEGIN"
    return isinstance(event, XidEvent)


def _at(timestamp: int) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC).replace(tzinfo=None)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
