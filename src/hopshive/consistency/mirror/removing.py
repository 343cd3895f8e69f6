"""A removal: the objects whose directories are absent go, in bounded transactions, with a copy in the journal.

A removal may be cut off after any transaction. The pending check keeps the number of its removal, so the next attempt continues
that removal: what has been removed is not found again, and a directory that came back keeps what is left.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from posixpath import commonpath
from typing import TYPE_CHECKING

from hopshive.consistency import journal
from hopshive.consistency.journal import Cause
from hopshive.consistency.mirror import binding, identity, queue
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.pages import bind_pages
from hopshive.consistency.mirror.pending_check import NOWHERE
from hopshive.consistency.mirror.survey import Anywhere, Leaves, Subtree, without_spared
from hopshive.consistency.mirror.tree import lock, requeue
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.consistency.journal import Removed
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck
    from hopshive.consistency.mirror.survey import Survey
    from hopshive.consistency.mirror.tree import Bound, Key

log = logging.getLogger(__name__)
# Seconds of one removal until other checks have their turn.
LONGEST_REMOVAL = 1.0


class TurnOver(Exception):
    """There was no time for all of it: what is left follows when other checks have had their turn."""


def with_known_events(context: Context, checks: Sequence[PendingCheck]) -> list[PendingCheck]:
    """Those of some checks for which all events are read that happened before their directories were seen to be absent.

    One of these directories may have been replaced since events were read, and its replacement moved away. The other checks are
    decided when those events are read; until then the NameNode is asked nothing about them (`deciding.Deciding`).
    """
    fresh = [one.id for one in checks if one.removal is None and one.id not in context.absences]
    if fresh:
        context.absences |= dict.fromkeys(fresh, context.namenode.current_txid())
    known = [one for one in checks if one.removal is not None or context.absences[one.id] <= context.txid]
    for one in known:
        context.absences.pop(one.id, None)
    return known


def remove_absent(context: Context, survey: Survey, checks: Sequence[PendingCheck]) -> bool:
    """Remove what some checks of a survey found absent; False if rows were locked, so that some may be left. Raises TurnOver."""
    until = time.monotonic() + LONGEST_REMOVAL
    removal = _begin(context, survey, checks)
    if isinstance(survey.place, Subtree):
        return _remove_subtree(context, removal, checks[0], survey.place.key, until)
    absent = sorted((bound for one in checks for bound in survey.absent[one.id]), key=lambda bound: bound.sd_id)
    remove(context, removal, survey.kind, absent, until)
    return True


def _begin(context: Context, survey: Survey, checks: Sequence[PendingCheck]) -> int:
    """The number of the removal: the one that the checks have begun, or a new one. It lasts as long as one of the checks."""
    begun = {one.removal for one in checks}
    (removal,) = begun if len(begun) == 1 else (None,)
    if removal is not None:
        return removal
    with context.database.transaction() as tx:
        return queue.begin(tx, [one.id for one in checks], cause_of(survey, checks))


def cause_of(survey: Survey, checks: Sequence[PendingCheck]) -> Cause:
    """What the journal says of a removal: the last event, and the highest directory that all of it lay in."""
    match survey.place:
        case Anywhere(paths):
            return Cause("missing", commonpath([paths[one.sd_id] for one in checks if one.sd_id is not None]))
        case Leaves(path) if len(checks) > 1:
            last = replace(checks[-1], path=path or "/")
        case _:
            last = checks[-1]
    kind = last.kind if last.kind in ("trash", "rename") else "unlink"
    return Cause(kind, last.path, "" if last.target == NOWHERE else last.target, last.txid, last.event_at)


def _remove_subtree(context: Context, removal: int, check: PendingCheck, key: Key | None, until: float) -> bool:
    """Remove what is absent at a row and below it, page by page; False if rows were locked."""
    whole = True
    for page, free in bind_pages(context, key, check.inode):
        whole = whole and free
        remove(context, removal, check.kind, page.absent, until)
        if page.absent and time.monotonic() > until:
            raise TurnOver
    return whole


def remove(context: Context, removal: int, cause: str, absent: Sequence[Bound], until: float) -> None:
    """Remove the objects that own some descriptors, in bounded transactions. Raises TurnOver after `until`, of `time.monotonic`.

    Before each further transaction the NameNode is asked again: a directory that came back keeps what is left.
    """
    left = list(absent)
    paths = {one.sd_id: path for one in left if (path := context.file_system.path_of(one.location))}
    inodes = identity.find(context, paths, paths.values()) if paths else {}
    while left:
        sd_ids = [one.sd_id for one in left]
        try:
            with context.database.transaction() as tx:
                limit = context.config.mirror.batch
                progress = journal.remove_next(tx, removal, sd_ids, context.file_system, limit, inodes)
                if any(hash(one.name) in context.refused for one in progress.removed):
                    queue.look_for_returns(tx)
        except journal.Unknown as unknown:
            gone = [paths[one.sd_id] for one in left if one.sd_id in paths]
            inodes |= identity.find(context, unknown.paths, gone)
            continue
        _note(context, removal, cause, progress.removed)
        if progress.done:
            break
        if time.monotonic() > until:
            raise TurnOver
        left = _still_absent(context, left)


def _note(context: Context, removal: int, cause: str, removed: Sequence[Removed]) -> None:
    """Count removed objects, remember where they may come back, and log the last one."""
    for one in removed:
        if one.path:
            context.returns.add(one.path)
        context.metrics.removed.labels(one.kind, cause).inc()
    context.removed += len(removed)
    if removed:
        count, last = counted(len(removed), "object"), removed[-1]
        log.info("Removal %d: %s went with the directory, the last was %s %s.", removal, count, last.kind, last.name)


def _still_absent(context: Context, some: Sequence[Bound]) -> list[Bound]:
    """Those whose directory has not come back; the others are queued to be bound."""
    paths = {one.sd_id: context.file_system.path_of(one.location) or "" for one in some}
    found = look(context.namenode, paths.values(), sure=True)
    absent, spared = without_spared(context, [one for one in some if paths[one.sd_id] not in found.ids])
    binding.spare(context, spared)
    back = {one.sd_id: one.location for one in some if paths[one.sd_id] in found.ids}
    if back:
        with context.database.transaction() as tx:
            requeue(tx, lock(tx, back))
    return absent
