"""The mirror's loop: bind what is new, read the NameNode's events, decide on what is due, compare when that is wanted.

Why it is right: a directory's existence is asked of the NameNode after everything that the loop has read before, and what
happens later has a later transaction id, and the loop reads it later. Each turn reads events first, then binds all metadata that
is there, and only then looks at the events: so what was made before a deletion is known when the deletion is looked at.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hopshive.consistency import journal, origin, schema
from hopshive.consistency.mirror import binding, deciding, follow, fuse, identity, queue, queue_reports
from hopshive.consistency.mirror.comparison import Comparison
from hopshive.consistency.mirror.context import Context
from hopshive.consistency.mirror.pace import Every, Pace
from hopshive.consistency.mirror.tree import MISSING
from hopshive.consistency.mirror.turn import Turn
from hopshive.database import DatabaseError, DatabaseUnavailable
from hopshive.hdfs.namenode import MissingEdits
from hopshive.hdfs.paths import decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database, Transaction
    from hopshive.hdfs.namenode import EventBatches, NameNode

log = logging.getLogger(__name__)
# Batches of the queue that are bound in one turn before events are looked at.
BIND_TURNS = 20
# Seconds between two writes of the position when no event concerned us.
SAVE_INTERVAL = 1.0
# Seconds between two counts for metrics, or as many times what one took: it reads an index of all storage descriptors.
COUNT_INTERVAL = 15.0
COUNT_REST = 200.0
# Seconds between two looks for journal entries that are too old.
EXPIRE_INTERVAL = 60.0


class Mirror:
    """For one leader's term: start, then step after step. Not for several threads."""

    def __init__(self, config: Config, database: Database, namenode: NameNode, metrics: Metrics) -> None:
        self.context = Context(config, database, namenode, metrics)
        self.pace = Pace()
        self.deciding = deciding.Deciding(self.context)
        self._saved = 0.0
        self._saved_txid = 0
        self._counts = Every(COUNT_INTERVAL)
        self._expiries = Every(EXPIRE_INTERVAL)
        self._compared = 0.0
        self._comparison: Comparison | None = None
        self._batch: EventBatches | None = None

    # --- the beginning --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Check that database and file system are the ones that belong together, and load what is in memory.

        Raises Refused if a human must act, NameNodeUnavailable and DatabaseUnavailable if it may be tried again.
        """
        context = self.context
        schema.check(context.database, context.config.source)
        identity = context.namenode.identity()
        with context.database.transaction() as tx:
            origin.check(tx, context.config, context.database.server.place, identity)
            origin.record(tx, identity)
            position = follow.read_position(tx)
        if position is None:
            self._restart()
        else:
            self.context.txid = self._saved_txid = position.txid
            if position.compared is None:
                self._compare()
            else:
                self._compared = time.monotonic() - position.compared
        self._load()

    def _load(self) -> None:
        context = self.context
        with context.database.stream(
            "SELECT LOCATION, PARTITION_ID IS NULL FROM SDS WHERE PARTITION_ID IS NOT NULL OR NAME = %s", (MISSING,)
        ) as rows:
            for location, missing in rows:
                path = context.file_system.path_of(location)
                if path:
                    context.known.add(path)
                if path and missing:
                    context.missing.add(path)
        with context.database.reading() as tx:
            fuse.show(context, tx)
            for target in queue.targets(tx):
                context.targets.add(target)
        with context.database.stream("SELECT path FROM {state}.journal WHERE state = 'removed' AND path <> ''") as rows:
            for (path,) in rows:
                context.returns.add(decoded(path))
        # Which names they wait for is in no table: the first attempt tells.
        with context.database.transaction() as tx:
            queue.look_for_returns(tx)

    def _restart(self) -> None:
        """Follow from now on, and compare: what happened before is unknown."""
        txid = self.context.namenode.current_txid()
        identity.doubt(self.context)
        with self.context.database.transaction() as tx:
            follow.start_at(tx, txid)
        # Not before it is written: who was interrupted finds the same gap again.
        self.context.txid = self._saved_txid = txid
        self.context.lag = 0
        self.context.absences.clear()
        self._compare()

    def _compare(self) -> Comparison:
        if self._comparison is None:
            self._comparison = Comparison(self.context)
        else:
            self._comparison.restart()
        return self._comparison

    @property
    def txid(self) -> int:
        """The last transaction of the NameNode that was looked at."""
        return self.context.txid

    # --- one turn -------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One turn; True if something was done and the next may follow at once.

        Raises NameNodeError, DatabaseError and LostLease: nothing is half done, the next turn continues.
        """
        context = self.context
        before, removed, restored = context.txid, context.removed, context.restored
        batch = self._batch or self._events()
        self._batch = None
        began = time.monotonic()
        turn = Turn(asked=batch is not None)
        problem = self._try_to_bind(turn)
        worked = turn.bound > 0
        if batch is not None:
            turn.events, turn.more = len(batch.events), self._goes_on(batch, before)
            worked = self._follow(batch) or turn.more or worked
        if context.renamed and not worked:
            worked = self._finish_renames()
        decided = self.deciding.turn()
        turn.decided, turn.held, turn.advanced = decided.over, decided.held, context.txid > before
        turn.removed, turn.restored = context.removed - removed, context.restored - restored
        turn.unread = any(txid > context.txid for txid in context.absences.values())
        at_once = self.pace.ended(turn, began, worked=decided.worked)
        worked = decided.worked or at_once or worked
        worked = self._compare_some(turn) or worked
        if did := str(turn):
            log.debug("One turn: %s.", did)
        self._expire()
        self._count()
        if problem is not None:
            raise problem
        return worked

    def _try_to_bind(self, turn: Turn) -> DatabaseError | None:
        """Bind what is new. What the database refuses is returned, since it holds up nothing else: it stays in the queue."""
        try:
            turn.bound = self._bind()
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            return error
        return None

    def stirred(self) -> bool:
        """Whether there are events to look at; the next step does. Raises as that."""
        if self._batch is None:
            batch = self._events()
            self._batch = batch if batch is not None and batch.last_txid > self.context.txid else None
        return self._batch is not None

    def _events(self) -> EventBatches | None:
        """The next events; None before it is time to ask again."""
        if self.pace.pauses:
            return None
        began = time.monotonic()
        try:
            batch = self.context.namenode.events(self.context.txid)
        except MissingEdits as error:
            log.warning("%s A full comparison follows.", error)
            self._restart()
            return None
        self.pace.answered(began, more=self._goes_on(batch, self.context.txid))
        return batch

    def _bind(self) -> int:
        """Bind some batches of the queue; how many descriptors left it."""
        bound = 0
        for _ in range(BIND_TURNS):
            count = binding.bind_some(self.context)
            bound += count
            if count < self.context.config.mirror.batch:
                break
        return bound

    def _finish_renames(self) -> bool:
        """What the database refuses here waits for the end of its grace, as all that was moved."""
        self.context.renamed = False
        try:
            return deciding.finish_renames(self.context)
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            log.info("Directories that were renamed wait for the end of their grace: %s", error)
            return False

    def _follow(self, batch: EventBatches) -> bool:
        """Note what some events ask for, and move the position; whether they ask for anything."""
        context = self.context
        concern = follow.concerning(context, batch.events)
        last = batch.events[-1].time_ms if batch.events else 0
        moved = batch.last_txid > self._saved_txid
        if concern or (moved and time.monotonic() - self._saved > SAVE_INTERVAL):
            at = datetime.fromtimestamp(last / 1000, UTC).replace(tzinfo=None) if last else None
            follow.welcome(context, concern)
            with context.database.transaction() as tx:
                follow.save(context, tx, concern, batch.last_txid, at)
            self._saved = time.monotonic()
            self._saved_txid = batch.last_txid
        context.txid = batch.last_txid
        context.lag = batch.lag
        context.metrics.lag_events.set(batch.lag)
        context.metrics.lag_seconds.set(max(0.0, time.time() - last / 1000) if batch.lag and last else 0.0)
        return bool(concern)

    @staticmethod
    def _goes_on(batch: EventBatches, before: int) -> bool:
        """Whether the next answer brings more at once: edits that are durable and cannot be read yet do not come sooner."""
        return batch.lag > 0 and batch.last_txid > before

    def _compare_some(self, turn: Turn) -> bool:
        """Compare a page, if a comparison is under way or due; whether it is."""
        interval = self.context.config.mirror.compare_interval
        if self._comparison is None and (not interval or time.monotonic() - self._compared < interval):
            return False
        comparison = self._comparison or self._compare()
        seen = comparison.seen
        over = comparison.step()
        turn.compared = comparison.seen - seen
        if over:
            self._comparison = None
            self._compared = time.monotonic()
        return True

    # --- what is not urgent ---------------------------------------------------------------------------------------

    def _expire(self) -> None:
        if not self._expiries.comes():
            return
        context = self.context
        with context.database.transaction() as tx:
            before = tx.value("SELECT UTC_TIMESTAMP(3) - INTERVAL %s SECOND", (context.config.journal.expiry,))
            journal.expire(tx, before, 10 * context.config.mirror.batch)

    def _count(self) -> None:
        if not self._counts.comes():
            return
        began = time.monotonic()
        metrics = self.context.metrics
        with self.context.database.reading() as tx:
            bound, unbound = counts(tx)
            states = queue_reports.counts(tx)
        metrics.bound.set(bound)
        metrics.unbound.set(unbound)
        for state in ("waiting", "held", "approved", "reported", "comparing"):
            metrics.pending_checks.labels(state).set(states.get(state, 0))
        self._counts.wait(max(COUNT_INTERVAL, COUNT_REST * (time.monotonic() - began)))

    # --- what humans ask for --------------------------------------------------------------------------------------

    def compare(self) -> Comparison:
        """Begin a full comparison; the steps that follow do it."""
        return self._comparison or self._compare()

    def approve(self, paths: Sequence[str] = (), until: str | None = None) -> int:
        """Approve what the fuse holds or the policy reports; how many pending checks.

        `paths`: only what lies at or below one of them. `until`: not what is held since later.
        """
        with self.context.database.transaction() as tx:
            count = queue.approve(tx, paths, until)
            if count:
                fuse.begin_anew(tx)
            fuse.mend(self.context, tx)
        return count


def counts(tx: Transaction) -> tuple[int, int]:
    """How many storage descriptors are bound, and how many wait for it or for their directory."""
    ((bound, unbound),) = tx.rows(
        "SELECT COUNT(PARTITION_ID), COALESCE(SUM(PARTITION_ID IS NULL AND (NAME IS NULL OR NAME = %s)), 0) FROM SDS",
        (MISSING,),
    )
    return int(bound), int(unbound)
