"""Which directory an object had that is removed, so that it comes back with that one and with no other.

A bound descriptor has its directory's inode. That directory may have been replaced by another one, which went too before the
mirror looked. One that is not bound is new, or its directory went before the mirror looked. At its removal it is found which
directory lay there last, from where that lies by then:

- at its own path: a partition outside of its table's directory, whose table went. What is made below a directory that was
  seen to be absent is made too late for that;
- at the place to which the events took it. A check of the kind `missing` keeps that place (`queue.follow_missing`) through
  moves, moves within the trash and returns. What has none lay in a directory that went: the check of that has a target.

An entry of the journal so has one of three:

- an inode: it comes back when its path has that inode again, or the one of the replacement;
- `GONE`: the directory was deleted for good, and nothing comes back by itself;
- nothing: no event reported the move, since the edits had a gap, or the metastore committed after the deletion. Then names
  and times must tell. The directory comes from the trash, from a place whose names are those of its path, and was not changed
  after the removal: one that was made later was.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hopshive.consistency.mirror import queue
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.pending_check import NOWHERE
from hopshive.database import chunks
from hopshive.hdfs.paths import is_below, prefixes, was_trashed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hopshive.consistency.journal import Entry
    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck

# No directory has this inode.
GONE = 0


def find(context: Context, paths: Mapping[int, str], absent: Collection[str]) -> dict[int, int | None]:
    """The directories that lay last where descriptors point, sd_id to path: an inode, `GONE` or None. Raises NameNodeError.

    `absent`: directories that were seen to be absent. What lies at or below them now was made since, or came back.
    """
    with context.database.reading() as tx:
        own = queue.missing_places(tx, list(paths))
        moves = {
            one.path: one
            for one in queue.departures(tx, {above for path in paths.values() for above in prefixes(path)})
        }
    places = {sd_id: [own[sd_id]] if own.get(sd_id) else _places(path, moves) for sd_id, path in paths.items()}
    found = look(context.namenode, [*paths.values(), *(one for some in places.values() for one in some)], sure=True)
    there = {**found.ids, NOWHERE: GONE}
    gone = set(absent)
    last: dict[int, int | None] = {}
    for sd_id, path in paths.items():
        here = found.ids.get(path)
        moved = next((there[place] for place in places[sd_id] if place in there), None)
        if any(prefix in gone for prefix in prefixes(path)):
            last[sd_id] = here if moved is None else moved
        else:
            last[sd_id] = moved if here is None else here
    return last


def _places(path: str, moves: Mapping[str, PendingCheck]) -> list[str]:
    """Where the directory may lie that lay last at a path, the place to look at first comes first.

    The last move at or above the path took it along, unless an earlier move of a directory further down had taken it already:
    then the last move found nothing at the path. NOWHERE, if it was deleted: what lies at that place now is another one.
    """
    found: list[str] = []
    depth = 0
    above = [moves[prefix] for prefix in prefixes(path) if prefix in moves]
    for one in sorted(above, key=lambda one: one.txid, reverse=True):
        if len(one.path) < depth:
            continue
        depth = len(one.path)
        if one.kind == "unlink" or one.target == NOWHERE:
            return [*found, NOWHERE]
        if one.target:
            found.append(one.target + path[len(one.path) :])
    return found


def doubt(context: Context) -> None:
    """Events are missing: believe no move from before, unless its directory is where it took it. Raises NameNodeError.

    What was deleted for good is so still. Whether a directory is the one that was moved is known of those that were bound.
    """
    with context.database.reading() as tx:
        moves = queue.believed_moves(tx)
    for some in chunks(moves):
        found = look(context.namenode, [one.target for one in some], sure=True)
        doubtful = [one.id for one in some if one.inode is None or found.ids.get(one.target) != one.inode]
        with context.database.transaction() as tx:
            queue.forget_targets(tx, doubtful)
    more = True
    while more:
        with context.database.transaction() as tx:
            more = queue.forget_missing(tx)


def alike(context: Context, check: PendingCheck, entries: Sequence[Entry]) -> set[int]:
    """Ids of those entries without an inode that belong to what came back, as far as names and times tell."""
    newest: dict[tuple[str, str], Entry] = {}
    for one in entries:
        if one.inode is None and one.path and is_below(one.path, check.path):
            place = check.target + one.path[len(check.path) :]
            if was_trashed(place, one.path):
                newest.setdefault((one.path, one.name), one)
    there = _there(context, {path for path, _ in newest})
    known = {
        (one.path, one.name)
        for one in entries
        if one.path in there and there[one.path][0] in (one.inode, one.replacement)
    }
    return {
        one.id
        for key, one in newest.items()
        if key not in known and one.path in there and there[one.path][1] <= one.removed
    }


def _there(context: Context, paths: Iterable[str]) -> dict[str, tuple[int, datetime]]:
    """Inode and time of modification (UTC) of those that are there."""
    found = {}
    for some in chunks(sorted(paths)):
        for path, entry in zip(some, context.namenode.sure_entries(some), strict=True):
            if entry is not None:
                changed = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=entry.modified)
                found[path] = entry.file_id, changed.replace(tzinfo=None)
    return found
