"""Finishes DROP TABLE for a metastore that ended too early.

A metastore commits the deletion of a table's rows, and then deletes the directory. If the metastore dies in between, the
directory stays. The client tries again at another metastore, which has no such table, and takes that for success. A new table
of that name then fails, or has old rows.

A directory may also stay on purpose: a client may ask to keep it, as Trino does for external tables. The difference is that a
metastore ended around that time. So, if {state}.owned has a table that the metastore lacks, and its directory exists:

- A metastore began since the table was last seen, or answered then and has been silent for a minute: the directory is moved
  to the trash.
- No metastore has ended since: the directory was meant to stay, or could not be deleted. It stays, and `hopshive check`
  reports it.

Directories are only moved to the trash, since the evidence is not proof. Without a trash (fs.trash.interval 0) they stay.
A metastore whose database was restored to an earlier state lacks tables too: then all directories stay.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.drops import owned
from hopshive.database import marks
from hopshive.database.state import read_setting, write_setting
from hopshive.hdfs.namenode import NameNodeError, NameNodeUnavailable
from hopshive.hdfs.paths import TRASH, decoded
from hopshive.metastore.locations import is_referred_to
from hopshive.services import health
from hopshive.tls import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database, Transaction
    from hopshive.hdfs.namenode import Entry, NameNode

log = logging.getLogger(__name__)

# Tables that one step reads.
TABLES_PER_PAGE = 1000
# Seconds for which a directory without its table is left to the metastore that is about to delete it.
SETTLE_SECONDS = 10.0
# Seconds of silence after which a metastore counts as ended; any other would have deleted the directory by then.
PATIENCE_SECONDS = 60.0
# By how much a metastore's clock and the database's may differ, in seconds.
CLOCK_SKEW_SECONDS = 30.0
# Seconds to wait for one metastore.
TIMEOUT = 2.0
# Seconds between two writes of SEEN.
WRITE = 10.0
# More directories than this at once are not calls that were cut off: a human must decide.
MAX_DIRECTORIES = 100
# Where it stands in {state}.setting, as JSON: `complete` and, of each metastore, `heard`, in seconds since 1970 by the database's
# clock, and the number that the next table has.
SEEN = "drops_seen"
# The metastore's name for the numbers of tables.
TABLES = "org.apache.hadoop.hive.metastore.model.MTable"


@dataclass(frozen=True)
class Directory:
    """A directory that a table owned, from {state}.owned. `name`: catalog.db.table."""

    tbl_id: int
    name: str
    path: str
    inode: int


@dataclass
class _Left:
    """A directory without its table.

    `noticed`: when, by the clock of `Drops`. `since`: then the table was there, in seconds since 1970 by the database's clock.
    """

    directory: Directory
    noticed: float
    since: float


def began(address: str) -> float | None:
    """The start of the metastore at a place (hopshive.tls), in seconds since 1970; None without an answer."""
    try:
        return health.metastore_start(parse(address), TIMEOUT)
    except health.NoAnswer:
        return None


def _known_as(address: str) -> str:
    """A metastore's host:port: what was heard of it counts when it gets TLS."""
    place = parse(address)
    return f"{place.host}:{place.port}"


class Drops:
    """Finishes DROP TABLE in steps. For the thread that has the database and the NameNode."""

    def __init__(
        self,
        config: Config,
        database: Database,
        namenode: NameNode,
        metrics: Metrics,
        ask: Callable[[str], float | None] = began,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._database = database
        self._namenode = namenode
        self._metrics = metrics
        self._ask = ask
        self._clock = clock
        self._left: dict[int, _Left] = {}
        # The round over all tables that is under way: where it is, when it began; and when the last one that was complete began.
        self._after = 0
        self._round = 0.0
        self._complete: float | None = None
        self._next_table = 0
        # When each metastore answered last: by the database's clock, and by this one's.
        self._heard: dict[str, float] = {}
        self._answered: dict[str, float] = {}
        self._written = -WRITE

    def step(self) -> None:
        """Read a page of tables, and decide on due directories. Raises NameNodeError, DatabaseError and LostLease."""
        page, gone, put_back = self._read()
        if put_back:
            self._forget_all()
            return
        for one in gone:
            if one.tbl_id not in self._left:
                since = self._round if self._complete is None else self._complete
                self._left[one.tbl_id] = _Left(one, self._clock(), since)
        self._after = page[-1] if len(page) == TABLES_PER_PAGE else 0
        if not self._after:
            self._complete = self._round
            self._write()
        if self._left:
            self._decide()

    # --- missing tables -----------------------------------------------------------------------------------------------

    def _read(self) -> tuple[list[int], list[Directory], bool]:
        """Ids of a page, directories of it without a table, and whether the database was restored to an earlier state."""
        with self._database.reading() as tx:
            if self._complete is None and (written := read_setting(tx, SEEN)):
                seen = json.loads(written)
                self._complete, self._next_table, self._heard = seen["complete"], seen["next_table"], seen["heard"]
            next_table = int(tx.value("SELECT NEXT_VAL FROM SEQUENCE_TABLE WHERE SEQUENCE_NAME = %s", (TABLES,)) or 0)
            put_back, self._next_table = next_table < self._next_table, next_table
            if not self._after:
                self._round = float(tx.value("SELECT UNIX_TIMESTAMP(NOW(3))"))
            rows = tx.rows(
                "SELECT tbl_id, name, path, inode FROM {state}.owned WHERE tbl_id > %s ORDER BY tbl_id LIMIT %s",
                (self._after, TABLES_PER_PAGE),
            )
            page = [int(row[0]) for row in rows]
            # Read after the page: a table exists before its note does.
            there = set(tx.rows(f"SELECT TBL_ID FROM TBLS WHERE TBL_ID IN ({marks(page)})", page)) if page else set()
        gone = [
            Directory(int(tbl_id), decoded(bytes(name)), decoded(bytes(path)), int(inode))
            for tbl_id, name, path, inode in rows
            if (tbl_id,) not in there
        ]
        return page, gone, put_back

    def _write(self) -> None:
        """Write SEEN for the next leader."""
        if self._clock() - self._written < WRITE:
            return
        self._written = self._clock()
        self._ask_all()
        with self._database.transaction() as tx:
            self._write_seen(tx)

    def _write_seen(self, tx: Transaction) -> None:
        seen = {"complete": self._complete, "next_table": self._next_table, "heard": self._heard}
        write_setting(tx, SEEN, json.dumps(seen))

    def _ask_all(self) -> dict[str, float | None]:
        """The start of each metastore; None without an answer."""
        started = {_known_as(address): self._ask(address) for address in self._config.metastores}
        for address, start in started.items():
            if start is not None:
                self._heard[address] = self._round
                self._answered[address] = self._clock()
        return started

    def _forget_all(self) -> None:
        """Forget all directories without a table: these tables were not dropped."""
        self._left.clear()
        with self._database.transaction() as tx:
            count = tx.execute(
                "DELETE o FROM {state}.owned o LEFT JOIN TBLS t ON t.TBL_ID = o.tbl_id WHERE t.TBL_ID IS NULL"
            )
            self._complete = self._round
            self._write_seen(tx)
        log.warning(
            "The metastore's tables were put back to an earlier state. The directories of missing tables stay: %d.",
            count,
        )

    # --- their directories --------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        now = self._clock()
        left = list(self._left.values())
        entries = self._namenode.entries([one.directory.path for one in left])
        there = {one.directory.tbl_id for one, entry in zip(left, entries, strict=True) if _is(entry, one.directory)}
        due = [one for one in left if now - one.noticed >= SETTLE_SECONDS]
        # An absence counts only when due: a NameNode that is cut off from the others does not have new directories.
        self._forget([one for one in due if one.directory.tbl_id not in there])
        due = [one for one in due if one.directory.tbl_id in there]
        if len(due) > MAX_DIRECTORIES:
            log.error(
                "%d tables were dropped and their directories are there, as %s: they stay.",
                len(due),
                due[0].directory.path,
            )
            self._forget(due)
        elif due:
            started = self._ask_all()
            for one in due:
                self._decide_on(one, started)

    def _decide_on(self, one: _Left, started: Mapping[str, float | None]) -> None:
        now = self._clock()
        begun = [
            address
            for address, start in started.items()
            if start is not None and start > one.since - CLOCK_SKEW_SECONDS
        ]
        # A metastore that was silent before that time has not dropped the table.
        silent = [
            address
            for address, start in started.items()
            if start is None and self._heard.get(address, 0.0) > one.since - CLOCK_SKEW_SECONDS
        ]
        ended = begun or [
            address
            for address in silent
            if now - max(one.noticed, self._answered.get(address, 0.0)) >= PATIENCE_SECONDS
        ]
        late = now - one.noticed >= PATIENCE_SECONDS
        if ended:
            self._finish(one, ended[0], late=late)
        elif late and not silent:
            self._let_be(one, "no metastore has ended since")

    def _finish(self, one: _Left, metastore: str, *, late: bool) -> None:
        """Move the directory to the trash, as the metastore would have."""
        path = one.directory.path
        if is_referred_to(self._database, self._config.file_system, path, one.directory.inode):
            # The mirror's own rows are deleted a moment after the table.
            if late:
                self._let_be(one, "the metastore refers to it, or to something in it")
            return
        if not self._namenode.trash_interval():
            self._let_be(one, "HDFS has no trash (fs.trash.interval)")
            return
        if self._namenode.safe_mode():
            return
        # Nothing is moved by a daemon that no longer leads, and no directory that the mirror has handled meanwhile.
        with self._database.transaction() as tx:
            sql = "SELECT 1 FROM {state}.owned WHERE tbl_id = %s AND inode = %s"
            still = tx.value(sql, (one.directory.tbl_id, one.directory.inode))
            if not still or tx.value("SELECT 1 FROM TBLS WHERE TBL_ID = %s", (one.directory.tbl_id,)):
                del self._left[one.directory.tbl_id]
                return
            # Reading all locations takes a while. A table that was created there meanwhile is already bound.
            if tx.value("SELECT 1 FROM {inodes} WHERE id = %s LIMIT 1", (one.directory.inode,)):
                return
        target = f"/user/{self._config.hdfs.user}/{TRASH}/Current{path}"
        try:
            self._namenode.make_directory(target.rpartition("/")[0])
            if self._namenode.entry(target) is not None:
                # As Hadoop's own trash does (TrashPolicyDefault).
                target += str(time.time_ns() // 1_000_000)
            if not _is(self._namenode.entry(path), one.directory):
                return
            self._namenode.move(path, target)
        except NameNodeUnavailable:
            raise
        except NameNodeError as error:
            self._let_be(one, f"it cannot be moved to the trash: {error}")
            return
        log.warning(
            "The table %s was dropped, but its directory %s stayed, since the metastore %s ended. It was moved to %s.",
            one.directory.name,
            path,
            metastore,
            target,
        )
        self._metrics.drops_finished.inc()
        self._forget([one])

    def _let_be(self, one: _Left, why: str) -> None:
        log.warning(
            "The table %s was dropped, but its directory %s stays: %s.", one.directory.name, one.directory.path, why
        )
        self._forget([one])

    def _forget(self, some: Sequence[_Left]) -> None:
        if some:
            with self._database.transaction() as tx:
                owned.forget(tx, [one.directory.tbl_id for one in some])
            for one in some:
                del self._left[one.directory.tbl_id]


def _is(entry: Entry | None, directory: Directory) -> bool:
    """Whether an entry is still the directory that the table owned."""
    return entry is not None and entry.is_dir and entry.file_id == directory.inode
