"""Carrying decisions out: all that pending checks write, but for the removals themselves (`removing`).

Each transaction here may be the last one of its leader. A check is deleted in the last transaction of what follows from it, so
the next leader decides on it again from the beginning: what is bound is bound to the same again, a check that is held is
held again, what was removed is not found any more, and a row that was pruned is not there.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import binding, fuse, queue
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.decision import LOCKED_AGAIN, Follow, Hold, Nothing, Postpone, Remove, Report
from hopshive.consistency.mirror.pages import bind_pages
from hopshive.consistency.mirror.relocate import relocate
from hopshive.consistency.mirror.removing import remove_absent, with_known_events
from hopshive.consistency.mirror.survey import PAGE_ROWS, Leaves, Subtree
from hopshive.consistency.mirror.tree import lock, prune, prune_rows, prune_upwards, requeue, rows_of
from hopshive.hdfs.paths import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.decision import Decision
    from hopshive.consistency.mirror.pending_check import CheckState, PendingCheck
    from hopshive.consistency.mirror.survey import Missing, Survey
    from hopshive.consistency.mirror.tree import Bound
    from hopshive.database import Transaction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of some checks. `over` and `held`: how many. `again`: there is more to do at once, although no check is over.

    `left`: those that are decided alone.
    """

    over: int = 0
    held: int = 0
    again: bool = False
    left: Sequence[PendingCheck] = field(default_factory=list)

    @property
    def worked(self) -> bool:
        """Whether the next turn may follow at once."""
        return bool(self.over) or self.again


def in_all(outcomes: Sequence[Outcome]) -> Outcome:
    """The sum of some outcomes, without what they left."""
    return Outcome(
        sum(one.over for one in outcomes), sum(one.held for one in outcomes), any(one.again for one in outcomes)
    )


def carry_out(context: Context, survey: Survey, decided: Decision) -> Outcome:
    """Do what was decided on the checks of a survey. Raises TurnOver, NameNodeError and DatabaseError."""
    match decided:
        case Nothing():
            _end_departures(context, survey.checks)
            return _finish(context, survey, survey.checks)
        case Postpone():
            return _postpone(context, survey.checks)
        case Hold():
            return _hold(context, survey, decided)
        case Report():
            return _report(context, survey, decided)
        case Follow(otherwise):
            pages = _absent_pages(context, survey)
            followed = relocate(context, survey.checks[0], pages)
            return Outcome() if followed else _report(context, survey, otherwise)
        case Remove():
            return _remove(context, survey)


def _postpone(context: Context, checks: Sequence[PendingCheck]) -> Outcome:
    with context.database.transaction() as tx:
        queue.postpone(tx, [one.id for one in checks], checks[0].state, "", wait=LOCKED_AGAIN)
    return Outcome()


def _hold(context: Context, survey: Survey, hold: Hold) -> Outcome:
    with context.database.transaction() as tx:
        blown = hold.blows and fuse.blow(context, tx, hold.sentence)
        queue.postpone(tx, [one.id for one in survey.checks], "held", hold.sentence, wait=hold.wait)
        fuse.show(context, tx)
    # Of missing descriptors there may be a million, which are held in many groups.
    if blown or (survey.state != "held" and survey.kind != "missing"):
        what = "The fuse holds all removals:" if hold.blows else "The fuse holds this removal:"
        log.error("%s %s", what, hold.sentence)
    return Outcome(held=len(survey.checks))


def _report(context: Context, survey: Survey, report: Report) -> Outcome:
    with context.database.transaction() as tx:
        queue.postpone(tx, [one.id for one in survey.checks], "reported", report.sentence)
    if survey.state != "reported":
        log.warning("%s Nothing is removed: the policy is %s.", report.sentence, report.policy)
    return Outcome(held=len(survey.checks))


def _absent_pages(context: Context, survey: Survey) -> Iterator[list[Bound]]:
    """What is absent at and below a directory, a page at a time; what is there is bound again."""
    key = survey.place.key if isinstance(survey.place, Subtree) else None
    for page, _ in bind_pages(context, key, survey.checks[0].inode):
        yield page.absent


def _remove(context: Context, survey: Survey) -> Outcome:
    going = [one for one in survey.checks if isinstance(survey.place, Subtree) or one.id in survey.absent]
    known = with_known_events(context, going)
    if known and not remove_absent(context, survey, known):
        return _postpone(context, known)
    waiting = {one.id for one in going} - {one.id for one in known}
    stayed = {one.id for one in survey.checks} - {one.id for one in going}
    _end_departures(context, [one for one in survey.checks if one.id in stayed])
    over = [one for one in survey.checks if one.id not in waiting]
    return _finish(context, survey, over, again=bool(waiting))


# --- the end of checks ------------------------------------------------------------------------------------------------


def _finish(context: Context, survey: Survey, checks: Sequence[PendingCheck], *, again: bool = False) -> Outcome:
    """End checks below which nothing is absent any more, and delete the rows that nothing needs."""
    if not checks:
        return Outcome(again=again)
    if isinstance(survey.place, Subtree):
        finish_directory(context, checks[0])
        return Outcome(len(checks))
    with context.database.transaction() as tx:
        if isinstance(survey.place, Leaves) and survey.place.parent is not None:
            names = [encoded(one.path.rpartition("/")[2]) for one in checks]
            if prune_rows(tx, survey.place.parent, names):
                prune_upwards(tx, survey.place.path)
        finish_checks(context, tx, [one.id for one in checks], survey.state)
    return Outcome(len(checks), again=again)


def finish_directory(context: Context, check: PendingCheck) -> None:
    """End the check of a directory below which nothing is absent any more."""
    if check.kind in ("trash", "rename"):
        _forget_name(context, check)
    prune(context.database, check.path, check.inode, PAGE_ROWS)
    with context.database.transaction() as tx:
        finish_checks(context, tx, [check.id], check.state)


def finish_checks(context: Context, tx: Transaction, ids: Sequence[int], state: CheckState) -> None:
    """Delete checks of one state. The fuse mends if it holds nothing any more."""
    queue.finish(tx, ids)
    if state == "approved":
        fuse.begin_anew(tx)
    if state in ("held", "approved"):
        fuse.mend(context, tx)


def _forget_name(context: Context, check: PendingCheck) -> None:
    """Delete the row of a directory that was moved and has another row, unless the directory was moved back."""
    if look(context.namenode, [check.path]).ids.get(check.path) != check.inode:
        with context.database.transaction() as tx:
            key, inode = rows_of(tx, [check.path]).get(check.path, (None, None))
            # A directory that was moved here since has its own check.
            if key is not None and inode == check.inode:
                prune_rows(tx, key.parent, [key.name], moved=True)


def _end_departures(context: Context, checks: Iterable[PendingCheck]) -> None:
    """End the grace of directories that came back to their place.

    `checks`: those without anything absent. Of the kind `replace`, the directory that came may be the one that went from there.
    A departure that is held or reported is looked at soon anyway.
    """
    came = [one for one in checks if one.kind == "replace" and one.inode is not None]
    if not came:
        return
    found = look(context.namenode, [one.path for one in came])
    back = {one.path: one for one in came if found.ids.get(one.path) == one.inode}
    with context.database.transaction() as tx:
        over = [
            went.id
            for went in queue.departures(tx, back)
            if went.inode == back[went.path].inode and went.txid < back[went.path].txid
            if went.state == "waiting" and went.removal is None
        ]
        queue.finish(tx, over)


# --- descriptors that were missing ------------------------------------------------------------------------------------


def bind_missing(context: Context, missing: Missing) -> Outcome:
    """Bind missing descriptors whose directory exists already, and end their checks and those of dropped descriptors."""
    with context.database.transaction() as tx:
        free = lock(tx, {sd_id: missing.locations[sd_id] for sd_id in [*missing.there, *missing.elsewhere]})
        binding.bind_locked(
            context, tx, {id_: missing.there[id_] for id_ in free if id_ in missing.there}, missing.found
        )
        requeue(tx, [sd_id for sd_id in free if sd_id in missing.elsewhere])
        busy = missing.queued.union(missing.there, missing.elsewhere).difference(free)
        queue.postpone(tx, [missing.checks[sd_id].id for sd_id in busy], missing.state, "", wait=LOCKED_AGAIN)
        over = [missing.checks[sd_id].id for sd_id in [*free, *missing.dropped]]
        if over:
            finish_checks(context, tx, over, missing.state)
    spared = [missing.checks[home.sd_id].id for home in missing.spared.homes]
    binding.spare(context, missing.spared)
    if spared:
        with context.database.transaction() as tx:
            finish_checks(context, tx, spared, missing.state)
    return Outcome(len(over) + len(spared))
