"""Restoring: what was removed comes back with its directory, by itself if that is the one that it had, or by hand."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from hopshive.consistency import journal
from hopshive.consistency.mirror import identity, queue
from hopshive.consistency.mirror.context import Pass, look
from hopshive.consistency.mirror.removing import TurnOver
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from hopshive.consistency.journal import Entry
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck

log = logging.getLogger(__name__)
# Seconds until another attempt for what cannot come back; there is one whenever something else has come back.
RETURN_AGAIN = 300.0
# Seconds of one return until other checks have their turn.
LONGEST_RETURN = 1.0


def process(context: Context, check: PendingCheck) -> None:
    """Restore what was removed at or below a path, as far as its directories are the ones that were removed.

    What cannot come back yet waits: for a table or database that comes back later, or for a name. When the mirror removes what
    has that name, there is another attempt at once; when a user drops or renames it, within RETURN_AGAIN. Raises TurnOver.
    """
    passed = context.passes.pop(check.id, None) or Pass(context.effects)
    if context.config.journal.automatic:
        began = time.monotonic()
        with context.database.reading() as tx:
            entries = journal.restorable(tx, path=check.path)
        if passed.alike is None:
            passed.alike = identity.alike(context, check, entries)
        # Each turn reads all of it, so a turn lasts at least as long as its reading took.
        read = time.monotonic()
        until = read + max(LONGEST_RETURN, read - began)
        left = [entry for entry in entries if passed.below is None or entry.id < passed.below]
        for some in _batches(left, context.config.mirror.batch):
            done, problems = restore(context, some, same_inode=True, alike=passed.alike)
            passed.effects += done
            passed.below = some[-1].id
            passed.problem = passed.problem or next(iter(problems), "")
            if time.monotonic() > until and some[-1] is not left[-1]:
                context.passes[check.id] = passed
                raise TurnOver
    with context.database.transaction() as tx:
        if passed.problem:
            # What has come back in between may be what the first ones waited for.
            queue.postpone(
                tx,
                [check.id],
                "waiting",
                passed.problem,
                wait=RETURN_AGAIN if context.effects == passed.effects else 0,
            )
        else:
            queue.finish(tx, [check.id])


def restore(
    context: Context,
    entries: Sequence[Entry],
    *,
    same_inode: bool = False,
    alike: Collection[int] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[int, list[str]]:
    """Put objects back, in bounded transactions; how many there were, and a sentence for each that could not be.

    `same_inode` leaves those alone whose directory is another than it was, but for `alike`, the ids of entries without an
    inode. Raises NameNodeError and DatabaseError: what was restored until then stays.
    """
    done = 0
    problems: list[str] = []
    for batch in _batches(list(entries), context.config.mirror.batch):
        # A return is told once: who is asked must know all that the events told.
        found = look(context.namenode, [entry.path for entry in batch if entry.path], sure=same_inode)
        ready = []
        for entry in batch:
            inode = found.ids.get(entry.path)
            if entry.path and inode is None:
                if not same_inode:
                    problems.append(f"{entry.kind} {entry.name}: its directory {entry.path} is not there.")
            elif not same_inode or not entry.path or inode in (entry.inode, entry.replacement) or entry.id in alike:
                ready.append(entry.id)
        while ready:
            with context.database.transaction() as tx:
                step = journal.restore_next(tx, ready, context.config.mirror.batch)
            _note(context, step.restored)
            done += len(step.restored)
            problems += step.conflicts
            if same_inode:
                context.refused.update(hash(entry.name) for entry in batch if entry.id in step.refused)
            settled = {one.id for one in step.restored} | set(step.refused)
            ready = [number for number in ready if number not in settled]
            progress(done)
            if step.done:
                break
    told = {entry.message for entry in entries}
    for problem in problems if same_inode else ():
        if problem not in told:
            log.warning("Not restored: %s", problem)
    if done:
        with context.database.transaction() as tx:
            queue.look_for_returns(tx)
    return done, problems


def _note(context: Context, restored: Sequence[Entry]) -> None:
    """Count restored objects, and log the last one."""
    for one in restored:
        context.metrics.restored.labels(one.kind).inc()
    context.restored += len(restored)
    if restored:
        count, last = counted(len(restored), "object"), restored[-1]
        log.info("Removal %d: %s came back, the last was %s %s.", last.removal, count, last.kind, last.name)


def _batches(entries: list[Entry], size: int) -> Iterator[list[Entry]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
