"""The mirror's loop: bind what is new, read the NameNode's events, decide on what is due, compare when that is wanted.

Why it is right: a directory's existence is asked of the NameNode after everything that the loop has read before, and what
happens later has a later transaction id and is yet to be read. Each turn reads events first, then binds all metadata that
is there, and only then looks at the events: so what was made before a deletion is known when the deletion is looked at.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hopshive.consistency import journal, origin, schema
from hopshive.consistency.mirror import (
    binding,
    follow,
    fuse,
    held,
    identity,
    queue,
    recheck,
    restoring,
    writers,
)
from hopshive.consistency.mirror.compare import Comparison
from hopshive.consistency.mirror.context import Context
from hopshive.consistency.mirror.tree import MISSING
from hopshive.database import Contention, DatabaseError, DatabaseUnavailable
from hopshive.hdfs.namenode import MissingEdits
from hopshive.hdfs.paths import decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.config import Config
    from hopshive.consistency.mirror.queue import Recheck
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database, Transaction
    from hopshive.hdfs.namenode import EventBatches, NameNode

log = logging.getLogger(__name__)
# Batches of the queue that are bound in one turn before events are looked at.
BIND_TURNS = 20
# Seconds of deciding in one turn, so that events and new metadata do not wait for a long removal's siblings.
DECIDE_SECONDS = 1.0
# Rest after events that left nothing unread, in times of what they took: so NameNode, database and this process together use a
# twentieth of a processor while others work without a pause and nothing is to be removed: who deletes goes on deleting, so after
# a removal no rest is owed. And the seconds of it that may be owed: after a quiet time what goes in one stroke is read without.
REST = 19.0
OWED = 0.5
# Seconds of a turn that count for it, if nothing was decided: what comes after a removal must not wait for that.
TURN = 0.02
# Seconds between two looks at what is held or reported; each of those has its own time besides.
LOOK_AGAIN = 5.0
# Questions without a rest, one after the other, that brought none of the events that a removal waits for. They bring them in
# milliseconds; where they do not, the NameNode has its usual rest.
UNHEARD_QUESTIONS = 10
# Seconds between two writes of the position when no event concerned us.
SAVE_INTERVAL = 1.0
# Seconds between two counts for metrics, or as many times what one took: it reads an index of all storage descriptors.
COUNT_INTERVAL = 15.0
COUNT_REST = 200.0
# Seconds between two times that the log tells what has not changed.
SAY_AGAIN = 60.0
# Seconds between two looks for journal entries that are too old.
EXPIRE_INTERVAL = 60.0


class Mirror:
    """For one leader's term: start, then step after step. Not for several threads."""

    def __init__(self, config: Config, database: Database, namenode: NameNode, metrics: Metrics) -> None:
        self.context = Context(config, database, namenode, metrics)
        self._saved = 0.0
        self._saved_txid = 0
        self._count_again = 0.0
        self._expired = 0.0
        self._compared = 0.0
        self._ask_again = 0.0
        self._look_again = 0.0
        self._say_again = 0.0
        self._vain = 0
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

        Raises NameNodeError, DatabaseError and LostLease: nothing is half done, the next turn goes on.
        """
        before = self.context.txid
        batch = self._batch or self._events()
        self._batch = None
        began = time.monotonic()
        problem: DatabaseError | None = None
        worked = False
        try:
            worked = self._bind()
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            # What cannot be bound holds up nothing else. It stays in the queue, and whether it is there is yet to be asked.
            problem = error
        if batch is not None:
            worked = self._follow(batch) or worked
        if self.context.renamed and not worked:
            worked = self._finish_renames()
        effects = self.context.effects
        decided = self._decide()
        unheard = any(txid > self.context.txid for txid in self.context.absences.values())
        self._vain = self._vain + (batch is not None) if unheard and self.context.txid == before else 0
        unheard = unheard and self._vain < UNHEARD_QUESTIONS
        if self.context.effects > effects or unheard:
            self._ask_again = min(self._ask_again, time.monotonic())
        elif batch is not None and not self._goes_on(batch, before) and not decided:
            self._ask_again += REST * min(TURN, time.monotonic() - began)
        worked = decided or unheard or worked
        worked = self._compare_some() or worked
        self._expire()
        self._count()
        if problem is not None:
            raise problem
        return worked

    def stirred(self) -> bool:
        """Whether there are events to look at; the next step does. Raises as that."""
        if self._batch is None:
            batch = self._events()
            self._batch = batch if batch is not None and batch.last_txid > self.context.txid else None
        return self._batch is not None

    def _events(self) -> EventBatches | None:
        """The next events; None before it is time to ask again.

        For each answer the NameNode reads its open segment of edits from the beginning, so what an answer costs it may
        grow with the segment: it has `REST` times as long a rest, sooner or later.
        """
        began = time.monotonic()
        if began < self._ask_again - OWED:
            return None
        try:
            batch = self.context.namenode.events(self.context.txid)
        except MissingEdits as error:
            log.warning("%s A full comparison follows.", error)
            self._restart()
            return None
        ended = time.monotonic()
        if not self._goes_on(batch, self.context.txid):
            self._ask_again = max(self._ask_again, began) + (1 + REST) * (ended - began)
        return batch

    def _bind(self) -> bool:
        bound = 0
        for _ in range(BIND_TURNS):
            count = binding.bind_some(self.context)
            bound += count
            if count < self.context.config.mirror.batch:
                break
        return bound > 0

    def _finish_renames(self) -> bool:
        """What the database refuses here waits for the end of its grace, as all that was moved."""
        self.context.renamed = False
        try:
            return recheck.finish_renames(self.context)
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            log.info("Directories that were renamed wait for the end of their grace: %s", error)
            return False

    def _follow(self, batch: EventBatches) -> bool:
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
        more = self._goes_on(batch, context.txid)
        context.txid = batch.last_txid
        context.lag = batch.lag
        context.metrics.lag_events.set(batch.lag)
        context.metrics.lag_seconds.set(max(0.0, time.time() - last / 1000) if batch.lag and last else 0.0)
        return bool(concern) or more

    @staticmethod
    def _goes_on(batch: EventBatches, before: int) -> bool:
        """Whether the next answer brings more at once: edits that are durable and cannot be read yet do not come sooner."""
        return batch.lag > 0 and batch.last_txid > before

    def _decide(self) -> bool:
        context = self.context
        limit = context.config.mirror.batch
        waiting: list[queue.State] = ["waiting", "approved"]
        # What waits for events may be held or reported.
        if context.absences or time.monotonic() > self._look_again:
            self._look_again = time.monotonic() + LOOK_AGAIN
            waiting += ["held", "reported"]
        with context.database.reading() as tx:
            due = queue.due(tx, limit, waiting)
            missing = [group for state in waiting if (group := queue.due_missing(tx, limit, state))]
        ids = {one.id for some in (due, *missing) for one in some}
        context.absences = {number: txid for number, txid in context.absences.items() if number in ids}
        unheard = {number for number, txid in context.absences.items() if txid > context.txid}
        if context.lag:
            # What another leader began, or took long, goes on from where directories lie by now.
            unheard |= {one.id for some in (due, *missing) for one in some if one.removal is not None}
        due = [one for one in due if one.id not in unheard]
        missing = [left for group in missing if (left := [one for one in group if one.id not in unheard])]
        if not due and not missing:
            return False
        if context.namenode.safe_mode():
            if time.monotonic() > self._say_again:
                self._say_again = time.monotonic() + SAY_AGAIN
                log.info("The NameNode is in safe mode: nothing is removed.")
            return False
        deadline = time.monotonic() + DECIDE_SECONDS
        done = False
        put_off = writers.waiting(context, [*due, *(one for group in missing for one in group)])
        if put_off:
            with context.database.transaction() as tx:
                queue.settle(tx, [one.id for one in put_off], "waiting", "a job is writing there", wait=writers.AGAIN)
            ids = {one.id for one in put_off}
            due = [one for one in due if one.id not in ids]
            missing = [left for group in missing if (left := [one for one in group if one.id not in ids])]
        groups, others = recheck.siblings(due)
        for group in groups:
            others += self._decide_together(group)
            done = True
        for group in missing:
            count, left = self._decide_missing(group)
            others += left
            done = count > 0 or done
        for one in others:
            done = self._decide_on(one) or done
            if time.monotonic() > deadline:
                return True
        return done

    def _decide_together(self, group: list[Recheck]) -> list[Recheck]:
        try:
            return recheck.process_siblings(self.context, group)
        except recheck.Later:
            return self._put_off(group)
        except DatabaseUnavailable:
            raise
        except DatabaseError:
            return group

    def _decide_missing(self, group: list[Recheck]) -> tuple[int, list[Recheck]]:
        try:
            return recheck.process_missing(self.context, group), []
        except recheck.Later:
            return 1, self._put_off(group)
        except DatabaseUnavailable:
            raise
        except DatabaseError:
            return 0, group

    def _put_off(self, some: list[Recheck]) -> list[Recheck]:
        """Others have their turn before these."""
        with self.context.database.transaction() as tx:
            queue.settle(tx, [one.id for one in some], some[0].state, "", wait=0)
        return []

    def _decide_on(self, one: Recheck) -> bool:
        """Decide on one; what somebody has locked, or the database refuses, must not keep all that comes after it."""
        context = self.context
        try:
            if one.kind == "restore":
                restoring.process(context, one)
                return True
            if one.kind == "missing":
                return recheck.process_missing(context, [one]) > 0
            return recheck.process(context, one)
        except recheck.Unheard:
            return True
        except recheck.Later:
            self._put_off([one])
            return True
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            wait = recheck.BUSY
            if isinstance(error, Contention):
                log.info("%s is tried again: %s", one.path, error)
            else:
                wait = recheck.REFUSED_AGAIN
                context.metrics.errors.labels(what="mirror").inc()
                log.error("%s is tried again in %.0f s: %s", one.path, wait, error)
            with context.database.transaction() as tx:
                queue.settle(tx, [one.id], one.state, str(error), wait=wait)
            return False

    def _compare_some(self) -> bool:
        interval = self.context.config.mirror.compare_interval
        if self._comparison is None:
            if not interval or time.monotonic() - self._compared < interval:
                return False
            self._compare()
        if self._comparison is not None and self._comparison.step():
            self._comparison = None
            self._compared = time.monotonic()
        return True

    # --- what is not urgent ---------------------------------------------------------------------------------------

    def _expire(self) -> None:
        if time.monotonic() - self._expired < EXPIRE_INTERVAL:
            return
        self._expired = time.monotonic()
        context = self.context
        with context.database.transaction() as tx:
            before = tx.value("SELECT UTC_TIMESTAMP(3) - INTERVAL %s SECOND", (context.config.journal.expiry,))
            journal.expire(tx, before, 10 * context.config.mirror.batch)

    def _count(self) -> None:
        began = time.monotonic()
        if began < self._count_again:
            return
        metrics = self.context.metrics
        with self.context.database.reading() as tx:
            bound, unbound = counts(tx)
            states = queue.counts(tx)
        metrics.bound.set(bound)
        metrics.unbound.set(unbound)
        for state in ("waiting", "held", "approved", "reported", "comparing"):
            metrics.rechecks.labels(state).set(states.get(state, 0))
        ended = time.monotonic()
        self._count_again = ended + max(COUNT_INTERVAL, COUNT_REST * (ended - began))

    # --- what humans ask for --------------------------------------------------------------------------------------

    def compare(self) -> Comparison:
        """Begin a full comparison; the steps that follow do it."""
        return self._comparison or self._compare()

    def approve(self, paths: Sequence[str] = (), until: str | None = None) -> int:
        """Let go of what the fuse holds or the policy reports; how many rechecks.

        `paths`: only what lies at or beneath one of them. `until`: not what is held since later.
        """
        with self.context.database.transaction() as tx:
            count = held.approve(tx, paths, until)
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
