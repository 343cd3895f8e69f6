"""Deciding on the pending checks that are due: survey, decide, carry out.

What a check does can be cut off at any point and repeated from its beginning (`carry_out` and `removing` say why): the check
stands in the database until its last transaction is done.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import decision, queue, returns, survey, writers
from hopshive.consistency.mirror.carry_out import Outcome, bind_missing, carry_out, finish_directory, in_all
from hopshive.consistency.mirror.pace import Every
from hopshive.consistency.mirror.pages import bind_page, bind_pages
from hopshive.consistency.mirror.removing import TurnOver
from hopshive.consistency.mirror.survey import Subtree, Survey
from hopshive.consistency.mirror.tree import rows_of
from hopshive.database import Contention, DatabaseError, DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import CheckState, PendingCheck
    from hopshive.consistency.mirror.tree import Key

log = logging.getLogger(__name__)
# Seconds of deciding in one turn, so that events and new metadata do not wait for many checks.
DECIDE_SECONDS = 1.0
# Seconds between two turns that include the checks that are held or reported; each of those has its own time besides.
HELD_TURN = 5.0
# Seconds between two log lines that say that the NameNode is still in safe mode.
SAY_AGAIN = 60.0
# Seconds until a check is tried again that the database refused.
REFUSED_AGAIN = 60.0


# --- one check, or several of one kind --------------------------------------------------------------------------------


def decide_on_directory(context: Context, check: PendingCheck) -> Outcome:
    """Decide on one check of the kinds unlink, trash, rename and replace."""
    with context.database.reading() as tx:
        row = rows_of(tx, [check.path]).get(check.path)
    key = row[0] if row else None
    # A removal that has begun was allowed, and continues.
    objects, busy = (0, False) if check.removal is not None else bind_and_count(context, key, check.inode)
    return _conclude(context, Survey([check], Subtree(key), objects, busy))


def bind_and_count(context: Context, key: Key | None, inode: int | None) -> tuple[int, bool]:
    """Bind what is there at a row and below an inode, page by page.

    Returns how many objects are absent, as far as the fuse must know, and whether other transactions had locked rows.
    """
    absent, objects = 0, 0
    busy = False
    for page, whole in bind_pages(context, key, inode):
        busy = busy or not whole
        absent += len(page.absent)
        objects += survey.count_objects(context, page.absent)
        if max(absent, objects) > context.config.mirror.max_removals:
            break
    return max(absent, objects), busy


def decide_on_siblings(context: Context, group: Sequence[PendingCheck]) -> Outcome:
    """Decide at once on directories of one parent that hold no other mirrored directory; the outcome has the others."""
    place, leaves, bound = survey.read_leaves(context, group)
    known = {one.id for one in leaves.values()}
    left = [one for one in group if one.id not in known]
    if not leaves:
        return Outcome(left=left)
    page, whole = bind_page(context, bound)
    return replace(_conclude(context, survey.of_leaves(context, place, leaves, page, busy=not whole)), left=left)


def decide_on_missing(context: Context, checks: Sequence[PendingCheck]) -> Outcome:
    """Decide on checks of the kind missing, all of one state."""
    missing = survey.read_missing(context, checks)
    bound = bind_missing(context, missing)
    return in_all([bound, *(_conclude(context, found) for found in survey.of_missing(context, missing))])


def _conclude(context: Context, found: Survey) -> Outcome:
    """Decide on what a survey found, and carry the decision out."""
    allowed = 0
    if found.asks:
        found, allowed = survey.ask(context, found)
    return carry_out(context, found, decision.decide(found, context.config.mirror.rename_policy, allowed))


def finish_renames(context: Context) -> bool:
    """End the grace of directories that the metastore has renamed; whether there were any. Call it when the queue is empty.

    The metastore renames a directory on HDFS first, and in its tables afterwards. So the directory counts as moved elsewhere
    until what was bound to the old place is bound to the new one, and nothing refers to the old place.
    """
    with context.database.reading() as tx:
        moves = [
            one
            for one in queue.believed_moves(tx)
            if one.kind == "rename" and one.state == "waiting" and one.removal is None and one.inode is not None
        ]
        rows = rows_of(tx, {path for one in moves for path in (one.path, one.target)})
    done = False
    for one in moves:
        # A directory has a row if something is bound to it or below it.
        if one.target in rows and rows[one.target][1] == one.inode:
            key = rows[one.path][0] if one.path in rows else None
            if bind_and_count(context, key, one.inode) == (0, False):
                finish_directory(context, one)
                done = True
    return done


# --- all that is due --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Due:
    """The checks that are due. `missing`: those of the kind `missing`, a group for each state."""

    directories: list[PendingCheck]
    missing: list[list[PendingCheck]]

    @property
    def all(self) -> list[PendingCheck]:
        return [*self.directories, *(one for group in self.missing for one in group)]

    def without(self, ids: Collection[int]) -> Due:
        directories = [one for one in self.directories if one.id not in ids]
        groups = [[one for one in group if one.id not in ids] for group in self.missing]
        return Due(directories, [group for group in groups if group])


def siblings(checks: Sequence[PendingCheck]) -> tuple[list[list[PendingCheck]], list[PendingCheck]]:
    """Groups that may be decided together, and the others: directories of one parent that went, none of them begun."""
    groups: dict[tuple[str, str], list[PendingCheck]] = {}
    others = []
    for one in checks:
        together = one.kind in ("unlink", "trash", "replace") and one.state == "waiting" and one.removal is None
        if together and one.path != "/":
            groups.setdefault((one.kind, one.path.rpartition("/")[0]), []).append(one)
        else:
            others.append(one)
    return list(groups.values()), others


class Deciding:
    """Decides on what is due, a turn at a time. `clock`: seconds, monotonic."""

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self.looks_at_held = Every(HELD_TURN, clock)
        self._says_safe_mode = Every(SAY_AGAIN, clock)

    def turn(self) -> Outcome:
        """Decide on what is due, for about `DECIDE_SECONDS`. Raises NameNodeError and DatabaseUnavailable."""
        due = self._due()
        if not due.all:
            return Outcome()
        if self._context.namenode.safe_mode():
            if self._says_safe_mode.comes():
                log.info("The NameNode is in safe mode: nothing is removed.")
            return Outcome()
        deadline = self._clock() + DECIDE_SECONDS
        due = self._without_writers(due)
        groups, alone = siblings(due.directories)
        outcomes: list[Outcome] = []
        for decide, some in ((decide_on_siblings, groups), (decide_on_missing, due.missing)):
            for group in some:
                outcome = self._attempt(group, decide)
                outcomes.append(outcome)
                alone += outcome.left
        for one in alone:
            outcomes.append(self._decide_on(one))
            if self._clock() > deadline:
                outcomes.append(Outcome(again=True))
                break
        return in_all(outcomes)

    def _due(self) -> Due:
        """What is due, without what waits for events that are not read yet."""
        context = self._context
        limit = context.config.mirror.batch
        states: list[CheckState] = ["waiting", "approved"]
        # What waits for events may be held or reported.
        if context.absences or self.looks_at_held.comes():
            self.looks_at_held.wait(HELD_TURN)
            states += ["held", "reported"]
        with context.database.reading() as tx:
            directories = queue.due(tx, limit, states)
            missing = [group for state in states if (group := queue.due_missing(tx, limit, state))]
        due = Due(directories, missing)
        ids = {one.id for one in due.all}
        context.absences = {number: txid for number, txid in context.absences.items() if number in ids}
        unread = {number for number, txid in context.absences.items() if txid > context.txid}
        if context.lag:
            # What another leader began, or what took long, continues from where directories lie by then.
            unread |= {one.id for one in due.all if one.removal is not None}
        return due.without(unread)

    def _without_writers(self, due: Due) -> Due:
        """Postpone checks of directories that a job is about to make again."""
        postponed = [one.id for one in writers.waiting(self._context, due.all)]
        if not postponed:
            return due
        with self._context.database.transaction() as tx:
            queue.postpone(tx, postponed, "waiting", "a job is writing there", wait=writers.WRITER_AGAIN)
        return due.without(set(postponed))

    def _attempt(self, group: list[PendingCheck], decide: Callable[[Context, list[PendingCheck]], Outcome]) -> Outcome:
        """Decide on a group; if the database refuses, each check is left to be decided alone."""
        try:
            return decide(self._context, group)
        except TurnOver:
            return self._put_off(group)
        except DatabaseUnavailable:
            raise
        except DatabaseError:
            return Outcome(left=group)

    def _decide_on(self, check: PendingCheck) -> Outcome:
        """Decide on one check. One that is locked, or that the database refuses, must not hold up all that come after it."""
        try:
            match check.kind:
                case "restore":
                    returns.process(self._context, check)
                    return Outcome(again=True)
                case "missing":
                    return decide_on_missing(self._context, [check])
                case _:
                    return decide_on_directory(self._context, check)
        except TurnOver:
            return self._put_off([check])
        except DatabaseUnavailable:
            raise
        except DatabaseError as error:
            return self._refused(check, error)

    def _put_off(self, checks: Sequence[PendingCheck]) -> Outcome:
        """Let other checks have their turn before these."""
        with self._context.database.transaction() as tx:
            queue.postpone(tx, [one.id for one in checks], checks[0].state, "", wait=0)
        return Outcome(again=True)

    def _refused(self, check: PendingCheck, error: DatabaseError) -> Outcome:
        wait = decision.LOCKED_AGAIN
        if isinstance(error, Contention):
            log.info("%s is tried again: %s", check.path, error)
        else:
            wait = REFUSED_AGAIN
            self._context.metrics.errors.labels(what="mirror").inc()
            log.error("%s is tried again in %.0f s: %s", check.path, wait, error)
        with self._context.database.transaction() as tx:
            queue.postpone(tx, [check.id], check.state, str(error), wait=wait)
        return Outcome()
