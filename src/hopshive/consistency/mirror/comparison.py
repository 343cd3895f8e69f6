"""The full comparison: every storage descriptor against the NameNode, after a gap in its events and now and then.

It reads a page at a time beside all other work. What it finds absent becomes a pending check that waits for its end, so
that the fuse sees all of it at once. Then it looks whether directories of removed objects are back, in case no event told.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from hopshive.consistency.drops import owned
from hopshive.consistency.mirror import fuse, queue
from hopshive.consistency.mirror.binding import note_missing
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.decision import MANY_HELD_AGAIN
from hopshive.consistency.mirror.pending_check import NOWHERE, PendingCheck
from hopshive.consistency.mirror.tree import MISSING, NOT_OURS, Key, lock, requeue, rows_of
from hopshive.hdfs.paths import decoded, is_below, prefixes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import CheckState
    from hopshive.database import Row, Transaction

log = logging.getLogger(__name__)
# Descriptors of one page.
PAGE_ROWS = 5000
_FIRST = -(2**63)


class Comparison:
    """One run over SDS, in the order of SD_ID."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.over = False
        self.restart()

    def restart(self) -> None:
        """From the beginning, at the next step."""
        self._begun = False
        self._last = _FIRST
        self._last_entry = 0
        self._metadata = True
        self._began = time.monotonic()
        self.seen = 0
        self.total = 0
        self.differences = 0

    def _begin(self) -> None:
        """Forget what an unfinished run found."""
        with self._context.database.transaction() as tx:
            queue.forget_comparison(tx)
            self.total = int(tx.value("SELECT COUNT(*) FROM SDS") or 0)
        self._begun = True

    def step(self) -> bool:
        """Compare one page; whether that was the last. Raises NameNodeError and DatabaseError: the page may be tried again."""
        if not self._begun:
            self._begin()
        if self._metadata:
            self._metadata = self._compare_page()
        if self._metadata or self._look_for_returns():
            return False
        self._end()
        return True

    def _compare_page(self) -> bool:
        """Compare some; whether there are more."""
        with self._context.database.reading() as tx:
            rows = tx.rows(
                "SELECT s.SD_ID, s.LOCATION, s.PARENT_ID, s.NAME, i.id FROM SDS s LEFT JOIN {inodes} i"
                " ON i.partition_id = s.PARTITION_ID AND i.parent_id = s.PARENT_ID AND i.name = s.NAME"
                " WHERE s.SD_ID > %s ORDER BY s.SD_ID LIMIT %s",
                (self._last, PAGE_ROWS),
            )
        if rows:
            self._compare(rows)
            self._last = int(rows[-1][0])
            self.seen += len(rows)
        return len(rows) == PAGE_ROWS

    def _look_for_returns(self) -> bool:
        """Look at some of what can come back; whether there are more."""
        context = self._context
        if not context.config.journal.automatic:
            return False
        with context.database.reading() as tx:
            rows = tx.rows(
                "SELECT id, path, inode, replacement FROM {state}.journal WHERE id > %s AND state = 'removed' AND inode > 0"
                " ORDER BY id LIMIT %s",
                (self._last_entry, PAGE_ROWS),
            )
        if rows:
            wanted: dict[str, set[int]] = {}
            for _, path, *inodes in rows:
                wanted.setdefault(decoded(path), set()).update(int(inode) for inode in inodes if inode)
            self._restore(wanted)
            self._last_entry = int(rows[-1][0])
        return len(rows) == PAGE_ROWS

    def _restore(self, wanted: Mapping[str, Collection[int]]) -> None:
        """Add a pending check for each directory below which something is back, unless there is one."""
        context = self._context
        found = look(context.namenode, wanted, sure=True)
        back = [path for path, inodes in wanted.items() if found.ids.get(path) in inodes]
        beside = Counter(path.rpartition("/")[0] for path in back)
        places = {
            above if above and beside[above] > 1 else path for path in back for above in [path.rpartition("/")[0]]
        }
        if not places:
            return
        with context.database.transaction() as tx:
            waiting = queue.restores(tx)
            fresh = [path for path in sorted(places) if not any(is_below(path, one) for one in waiting)]
            queue.add(tx, [(PendingCheck("restore", path), 0) for path in fresh])

    def _compare(self, rows: list[Row]) -> None:
        context = self._context
        paths = {int(row[0]): path for row in rows if (path := context.file_system.path_of(row[1]))}
        found = look(context.namenode, paths.values())
        again: dict[int, str] = {}
        missing: dict[int, str] = {}
        unheard: dict[int, str] = {}
        well: dict[int, tuple[str, int]] = {}
        for sd_id, location, parent, name, inode in rows:
            path = paths.get(sd_id)
            if name is None or (path in (None, "/") and bytes(name) == NOT_OURS):
                continue  # in the queue, or nowhere of ours
            if path is None or bytes(name) == NOT_OURS:
                again[sd_id] = location  # another configuration saw it otherwise
                continue
            context.known.add(path)
            if bytes(name) == MISSING:
                unheard[sd_id] = path
            elif path not in found.ids:
                missing[sd_id] = path
            elif found.key(path) != Key(int(parent), bytes(name)) or found.ids[path] != inode:
                again[sd_id] = location
            else:
                well[sd_id] = (path, found.ids[path])
        moved = self._moved(missing.values())
        missing = {sd_id: path for sd_id, path in missing.items() if path not in moved}
        with context.database.transaction() as tx:
            owned.note(tx, well)
        if not (again or missing or unheard):
            return
        self.differences += len(again) + len(missing)

        def work(tx: Transaction, some: Sequence[int]) -> None:
            requeue(tx, lock(tx, {sd_id: again[sd_id] for sd_id in some if sd_id in again}))
            absent = [sd_id for sd_id in some if sd_id in missing]
            noted = queue.by_descriptor(tx, sorted(absent))
            fresh = [(sd_id, missing[sd_id]) for sd_id in absent if sd_id not in noted]
            queue.add(tx, [(PendingCheck("missing", path, sd_id=sd_id, state="comparing"), 0) for sd_id, path in fresh])
            note_missing(context, tx, {sd_id: unheard[sd_id] for sd_id in some if sd_id in unheard})

        context.locked.spare(context.database, [*again, *missing, *unheard], work)

    def _moved(self, paths: Iterable[str]) -> set[str]:
        """Those of some paths that went with a directory that was moved: its own check decides, by grace and policy."""
        above = {path: list(prefixes(path)) for path in paths}
        with self._context.database.reading() as tx:
            departures = queue.departures(tx, {prefix for some in above.values() for prefix in some})
            moves = [one for one in departures if one.kind == "rename" and one.target != NOWHERE]
            mirrored = rows_of(tx, [one.path for one in moves])
        # It decides on what is bound below the directory that was moved, and not below another one at its place.
        mine = {one.path for one in moves if one.path in mirrored and mirrored[one.path][1] == one.inode}
        return {path for path, some in above.items() if not mine.isdisjoint(some)}

    def _end(self) -> None:
        context = self._context
        with context.database.transaction() as tx:
            count = queue.count_compared(tx)
            allowed = fuse.allowance(context, tx)
            state: CheckState = "waiting"
            message, wait = "", context.config.mirror.grace
            if count > allowed:
                state, wait = "held", MANY_HELD_AGAIN
                message = f"A comparison found {count} objects without a directory, {allowed} are allowed now."
                fuse.blow(context, tx, message)
                log.error("The fuse holds all removals: %s", message)
            queue.end_comparison(tx, state, message, wait)
            tx.execute("UPDATE {state}.position SET compared_at = UTC_TIMESTAMP(3) WHERE id = 1")
        seconds = time.monotonic() - self._began
        self.over = True
        context.metrics.comparisons.inc()
        context.metrics.comparison_seconds.set(seconds)
        log.info("Compared %d storage descriptors in %.1f s: %d differ.", self.seen, seconds, self.differences)
