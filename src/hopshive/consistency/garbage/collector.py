"""The collector: when garbage is looked for, how fast the work goes, and what the log and the metrics say of it.

Candidates of a removal stand in {state}.candidate and are collected at once: the removal knows that what they belonged to is
gone. Everything else is found by a sweep over whole tables, a page at a time, and is collected only if it is garbage still
after a while (GUARD). That is for writers that need several transactions: a rename of a transactional table changes its
name in the transactional state first and in TBLS afterwards, and keeps its transaction open meanwhile for as long as
`mirror.rename_grace` says. What waits is kept in memory: the next leader sweeps again.

Two kinds do not wait for the sweep, since only hopshive writes them, and each in one transaction with what needs it: a
short look each second finds descriptors of databases that were dropped, and a page of unused inodes.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopshive.consistency import origin
from hopshive.consistency.garbage.inodes import Inodes
from hopshive.consistency.garbage.named import Names
from hopshive.consistency.garbage.orphans import read_orphans
from hopshive.consistency.garbage.references import read_kinds
from hopshive.consistency.garbage.rows import Rows
from hopshive.consistency.garbage.scratch import Scratch
from hopshive.consistency.garbage.subject import Collected
from hopshive.database import GIVEN, Contention, given
from hopshive.database.locked import LONGEST_PAUSE as LOCKED_AGAIN
from hopshive.database.locked import Locked
from hopshive.hdfs.namenode import NameNodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hopshive.config import Config
    from hopshive.consistency.garbage.subject import Subject
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database, Transaction
    from hopshive.hdfs.namenode import NameNode

log = logging.getLogger(__name__)

# A row of {state}.candidate: kind and id.
_Candidate = tuple[str, int]

# Seconds between the two looks of a sweep.
GUARD = 60.0
# Seconds of a term before its first sweep, at most: who takes over catches up first, and a sweep reads whole tables.
FIRST = 60.0
# Rows that a sweep looks at in one statement, without a lock.
ROWS_PER_PAGE = 5000
# Rows that one transaction locks and deletes, without their parts: some tens of milliseconds.
BATCH = 500
# Keys that wait for their second look: some megabytes. The sweep waits while there are more.
MOST_WAITING = 100_000
# Seconds until what another session had locked is tried again.
RETRY_SECONDS = 1.0
# Seconds between two looks for candidates when there were none.
POLL_SECONDS = 0.5
# Seconds between two short looks, and rows of one: some milliseconds.
SHORT_LOOK = 1.0
SHORT_PAGE = 1000


def subjects(tx: Transaction, source: str) -> list[Subject]:
    """All kinds of garbage, in the order in which they set others free. Raises ReferencesError."""
    found: list[Subject] = [read_orphans(tx, source)] if tx.is_ndb() else []
    found += [Rows(kind) for kind in read_kinds(tx)]
    found.append(Names())
    if source == "hdfs":
        found.append(Inodes())
    return found


def counts(tx: Transaction, source: str = "hdfs") -> dict[str, int]:
    """Garbage now, by table, without what it would set free.

    Looks into an index for each reference of each row, without a lock: 2 to 3 seconds for 200,000 partitions, of which a third
    each is for SDS, SERDES and inodes (measured). So not for each scrape: a sweep counts what it finds. Raises ReferencesError.
    """
    found: Counter[str] = Counter()
    for subject in subjects(tx, source):
        found.update(subject.count(tx))
    return found


@dataclass
class _Waiting:
    """Keys that were garbage once. `due`: when they are looked at again."""

    due: float
    subject: Subject
    keys: list[Any]


class Collector:
    """Collects garbage, a little with each `step`. For the thread that has the database and the NameNode.

    Raises ConfigError for scratch directories that cannot be meant. With a rate of 0 it does nothing.
    """

    def __init__(
        self,
        config: Config,
        database: Database,
        namenode: NameNode | None,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._whole = config
        self._config = config.garbage
        self._source = config.source
        self._guard = {False: GUARD, True: max(GUARD, config.mirror.rename_grace)}
        self._database = database
        self._namenode = namenode
        self._metrics = metrics
        self._clock = clock
        self._scratch = None
        if config.garbage.scratch and namenode is not None:
            self._scratch = Scratch(config.garbage.scratch, config.file_system, namenode, database)
        self._subjects: list[Subject] = []
        self._budget = float(config.garbage.rate)
        self._filled = clock()
        self._paused = self._look = self._next_short = self._next_scratch = clock()
        self._next_sweep = clock() + min(FIRST, config.garbage.sweep_interval)
        self._inodes = Inodes() if config.source == "hdfs" else None
        self._inodes_after: Any = None
        self._asked = False
        self._plan: deque[Subject] = deque()
        self._after: Any = None
        self._found: dict[str, int] = {}
        self._waiting: list[_Waiting] = []
        # Candidates, by kind and id, and keys of what waits, by subject.
        self._locked: Locked[tuple[str, Any]] = Locked(clock)
        self._items: Iterator[bool] | None = None

    @property
    def sweeping(self) -> bool:
        """Whether a sweep is to begin or under way, or what it found waits for its second look."""
        return bool(self._asked or self._plan or self._waiting)

    def begin_sweep(self) -> None:
        """Begin a sweep as soon as the one that is under way is over, and look at scratch directories."""
        self._asked = True
        self._next_scratch = self._clock()

    def step(self) -> bool:
        """Do a little, one transaction or one scratch directory; False if there is nothing to do now.

        Locks that others hold are waited for later, not here. Raises LostLease, DatabaseError (not Contention), ReferencesError.
        """
        now = self._clock()
        if now < self._paused or not self._may_delete(now):
            return False
        try:
            return (
                self._collect_candidates(now)
                or self._collect_waiting(now)
                or self._look_shortly(now)
                or self._sweep(now)
                or self._clean(now)
            )
        except Contention as error:
            log.info("Garbage has to wait: %s", error)
            self._paused = now + RETRY_SECONDS
            if self._metrics:
                self._metrics.errors.labels(what="garbage").inc()
            return False

    # --- what is collected --------------------------------------------------------------------------------------------

    @property
    def _keys_waiting(self) -> int:
        return sum(len(waiting.keys) for waiting in self._waiting)

    def _may_delete(self, now: float) -> bool:
        """Whether the rate allows for more. A batch may overdraw it: then the next one waits longer."""
        rate = self._config.rate
        self._budget = min(float(max(rate, 1)), self._budget + (now - self._filled) * rate)
        self._filled = now
        return self._budget > 0

    def _all_subjects(self) -> list[Subject]:
        """Read again with each sweep: the schema may have changed."""
        if not self._subjects:
            with self._database.reading() as tx:
                self._subjects = subjects(tx, self._source)
        return self._subjects

    def _collect_candidates(self, now: float) -> bool:
        """What removals, and deleted descriptors, left. A candidate that is in use after all is forgotten."""
        if now < self._look:
            return False
        self._look = now + POLL_SECONDS
        kinds = {subject.name: subject for subject in self._all_subjects() if isinstance(subject, Rows)}
        # A removal that writes the same candidate now has it locked: its transaction is not over.
        sql = "SELECT kind, id FROM {state}.candidate LIMIT %s"
        if self._database.skips_locked:
            with self._database.transaction() as tx:
                candidates = self._chosen(tx.rows(f"{sql} FOR UPDATE SKIP LOCKED", (BATCH,)), kinds)
                outcomes = [self._collect_some(tx, candidates, kinds)] if candidates else []
        else:
            with self._database.reading() as tx:
                candidates = self._chosen(tx.rows(sql, (BATCH + len(self._locked),)), kinds)
            outcomes = self._locked.spare(
                self._database, candidates, lambda tx, some: self._collect_some(tx, some, kinds, lock=True)
            )
        if not candidates:
            return False
        for done, _ in outcomes:
            self._account(done)
        if not any(forgotten for _, forgotten in outcomes):
            self._look = now + RETRY_SECONDS
            return False
        self._look = now
        return True

    def _chosen(self, rows: Sequence[Sequence[Any]], kinds: Mapping[str, Rows]) -> list[_Candidate]:
        """Those of one kind, in the order of the kinds: what a descriptor sets free is collected after it."""
        free = self._locked.free((str(kind), int(id_)) for kind, id_ in rows)
        there = {kind for kind, _ in free}
        chosen = next((name for name in kinds if name in there), min(there, default=""))
        return sorted(one for one in free if one[0] == chosen)

    def _collect_some(
        self, tx: Transaction, candidates: Sequence[_Candidate], kinds: Mapping[str, Rows], *, lock: bool = False
    ) -> tuple[Collected, int]:
        """Collect candidates of one kind; what was deleted, and how many candidates are forgotten."""
        kind, ids = candidates[0][0], [id_ for _, id_ in candidates]
        among = f"{GIVEN} STRAIGHT_JOIN {{state}}.candidate c FORCE INDEX (PRIMARY) ON c.kind = %s AND c.id = v.id"
        if lock:
            tx.rows(f"SELECT c.id FROM {among} FOR UPDATE", (given(ids), kind))
        if kind in kinds:
            done = kinds[kind].collect(tx, ids)
        else:
            log.warning("No collector knows the kind %s: %s candidates are forgotten.", kind, len(ids))
            done = Collected()
        left = set(done.left)
        gone = [id_ for id_ in ids if id_ not in left]
        if gone:
            tx.execute(f"DELETE c FROM {among}", (given(gone), kind))
        return done, len(gone)

    def _collect_waiting(self, now: float) -> bool:
        """A batch of what was garbage once and may be still."""
        waiting = next((waiting for waiting in self._waiting if waiting.due <= now), None)
        if waiting is None:
            return False
        subject, name = waiting.subject, waiting.subject.name
        # One after the other, as `Names` collects them: the others would be tried for nothing when one is locked.
        size = BATCH if self._database.skips_locked or not isinstance(subject, Names) else 1
        batch, rest = waiting.keys[:size], waiting.keys[size:]
        done = Collected()
        tried: set[Any] = set()

        def work(tx: Transaction, some: Sequence[tuple[str, Any]]) -> tuple[Sequence[Any], Collected]:
            keys = [key for _, key in some]
            return keys, subject.collect(tx, keys)

        for keys, found in self._locked.spare(self._database, [(name, key) for key in batch], work):
            tried.update(keys)
            done.left += found.left
            for table, rows in found.rows.items():
                done.add(table, rows)
        locked = [key for key in batch if key not in tried]
        self._waiting.remove(waiting)
        if rest:
            self._waiting.insert(0, _Waiting(waiting.due, subject, rest))
        if done.left:
            # What was too much for one transaction follows at once; what is locked follows later.
            self._waiting.append(_Waiting(now if done.total else now + RETRY_SECONDS, subject, done.left))
        if locked:
            self._waiting.append(_Waiting(now + LOCKED_AGAIN, subject, locked))
        self._account(done)
        if self._metrics:
            self._found[name] = max(0, self._found.get(name, 0) - (len(batch) - len(done.left) - len(locked)))
            self._metrics.garbage.labels(table=name).set(self._found[name])
        return True

    def _look_shortly(self, now: float) -> bool:
        """Unused rows that hopshive itself has made; they are collected at once."""
        if now < self._next_short:
            return False
        self._next_short = now + SHORT_LOOK
        with self._database.reading() as tx:
            # Numbers that the metastore's sequence cannot reach are those of databases.
            dropped = tx.rows(
                "SELECT s.SD_ID FROM SDS s LEFT JOIN DBS d ON d.SD_ID = s.SD_ID WHERE s.SD_ID < 0 AND d.DB_ID IS NULL"
                " LIMIT %s",
                (SHORT_PAGE,),
            )
            page = self._inodes.page(tx, self._inodes_after, SHORT_PAGE) if self._inodes else None
        if self._inodes and page:
            self._inodes_after = page.after
            if page.garbage:
                self._waiting.append(_Waiting(now, self._inodes, list(page.garbage)))
        if dropped:
            with self._database.transaction() as tx:
                tx.many("INSERT IGNORE INTO {state}.candidate (kind, id) VALUES ('SDS', %s)", dropped)
            self._look = now
        return bool(dropped or (page and page.garbage))

    def _sweep(self, now: float) -> bool:
        """Look at a page."""
        if not self._plan:
            if self._waiting or not (self._asked or now >= self._next_sweep):
                return False
            self._asked = False
            self._next_sweep = now + self._config.sweep_interval
            self._subjects = []
            self._plan.extend(self._all_subjects())
            self._after = None
            self._found = {}
        if self._keys_waiting > MOST_WAITING:
            return False
        subject = self._plan[0]
        with self._database.reading() as tx:
            page = subject.page(tx, self._after, ROWS_PER_PAGE)
        self._after = page.after
        self._found[subject.name] = self._found.get(subject.name, 0) + len(page.garbage)
        if page.garbage:
            self._waiting.append(_Waiting(now + self._guard[subject.by_name], subject, list(page.garbage)))
        if page.after is None:
            self._plan.popleft()
            if self._metrics:
                self._metrics.garbage.labels(table=subject.name).set(self._found[subject.name])
        return True

    def _clean(self, now: float) -> bool:
        """Look at a scratch directory."""
        if self._scratch is None:
            return False
        if self._items is None:
            if now < self._next_scratch:
                return False
            self._next_scratch = now + self._config.sweep_interval
            self._items = self._old_scratch(self._scratch)
        try:
            deleted = next(self._items, None)
        except NameNodeError as error:
            # Garbage of the metastore does not wait for the NameNode.
            log.warning("Scratch directories have to wait: %s", error)
            self._items = None
            if self._metrics:
                self._metrics.errors.labels(what="scratch").inc()
            return False
        except BaseException:
            self._items = None
            raise
        if deleted is None:
            self._items = None
        elif deleted:
            self._account_rows({"scratch": 1})
        return True

    def _old_scratch(self, scratch: Scratch) -> Iterator[bool]:
        """Nothing is deleted on another file system than the metastore's. Raises Refused."""
        if self._namenode is not None:
            identity = self._namenode.identity()
            with self._database.reading() as tx:
                origin.check(tx, self._whole, self._database.server.place, identity)
        yield from scratch.clean(time.time() - self._config.scratch_age, self._deleting)

    def _deleting(self, path: str) -> None:
        """Ask the fence just before a deletion: a process that no longer leads must not delete."""
        with self._database.transaction():
            pass
        log.info("Deleting %s: it was not changed for %s seconds.", path, round(self._config.scratch_age))

    # --- what is told -------------------------------------------------------------------------------------------------

    def _account(self, done: Collected) -> None:
        self._account_rows(done.rows)

    def _account_rows(self, rows: Mapping[str, int]) -> None:
        self._budget -= sum(rows.values())
        for table, number in rows.items():
            if self._metrics:
                self._metrics.garbage_collected.labels(table=table).inc(number)
