"""What becomes of a directory that went: the NameNode is asked again, and what is still absent is removed.

Everything here can be cut off at any point and done again from its beginning: what is there is bound once more, what was
removed is not found any more, and the recheck stands in the database until its last batch is done.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from posixpath import commonpath
from typing import TYPE_CHECKING

from hopshive.consistency import journal
from hopshive.consistency.drops import owned
from hopshive.consistency.journal import Cause
from hopshive.consistency.mirror import fuse, identity, queue
from hopshive.consistency.mirror.binding import read_homes, settle, settle_database
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.relocate import relocate
from hopshive.consistency.mirror.tree import (
    NOT_OURS,
    ROOT,
    Bound,
    Key,
    bind,
    bound_at,
    lock,
    prune,
    prune_rows,
    prune_upwards,
    read_rows,
    requeue,
    rows_of,
    subtree,
    with_children,
    write_chains,
)
from hopshive.database import marks
from hopshive.hdfs.paths import encoded, in_trash
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.queue import Recheck
    from hopshive.database import Transaction

log = logging.getLogger(__name__)
# Rows of one page of a walk.
PAGE = 1000
# Seconds until a recheck is tried again that found rows locked, and one that the database refused.
BUSY = 1.0
REFUSED_AGAIN = 60.0
# Seconds between two looks at missing directories that the fuse holds: there may be a million.
MANY_AGAIN = 300.0
# Seconds of one removal, or of one return, until others have their turn.
TURN = 1.0


class Later(Exception):
    """There was no time for all of it; what is left is done when others had their turn."""


class Unheard(Later):
    """Events are to be read first; so long it keeps its place among what is due."""


@dataclass(slots=True)
class Survey:
    """What a page of descriptors turned out to be: `absent` their directory is gone; `busy` some were locked."""

    absent: list[Bound] = field(default_factory=list)
    busy: bool = False


def process(context: Context, recheck: Recheck) -> bool:
    """Decide on one recheck of the kinds unlink, trash, rename and replace; whether it is over.

    Raises NameNodeError, DatabaseError and Later; then it stays as it is.
    """
    inode = recheck.inode
    with context.database.reading() as tx:
        row = rows_of(tx, [recheck.path]).get(recheck.path)
    key = row[0] if row else None
    count, busy = 0, False
    # What has begun was allowed, and goes on.
    if recheck.removal is None:
        count, busy = _count(context, key, inode)
        if count and not busy:
            if recheck.kind == "rename" and not _policy_removes(context, recheck, count, key):
                return False
            if recheck.state != "approved" and not _fuse_allows(context, [recheck], recheck.path, count):
                return False
    if recheck.removal is not None or (count and not busy):
        busy = not _remove(context, recheck, key)
    if busy:
        with context.database.transaction() as tx:
            queue.settle(tx, [recheck.id], recheck.state, "", wait=BUSY)
        return False
    if not count and recheck.removal is None:
        _finish_departures(context, [recheck])
    _finish(context, recheck)
    return True


def _finish(context: Context, recheck: Recheck) -> None:
    """Nothing beneath is absent any more."""
    if recheck.kind in ("trash", "rename"):
        _forget_name(context, recheck)
    prune(context.database, recheck.path, recheck.inode, PAGE)
    with context.database.transaction() as tx:
        queue.finish(tx, [recheck.id])
        _settle_fuse(context, tx, recheck.state)


def finish_renames(context: Context) -> bool:
    """End the grace of directories that the metastore has renamed; whether there were some. Call it when the queue is empty.

    The metastore renames a directory on HDFS first, and in its tables thereafter. So the directory counts as moved elsewhere,
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
        # A row is there for what something is bound to, or to what lies beneath.
        if one.target in rows and rows[one.target][1] == one.inode:
            key = rows[one.path][0] if one.path in rows else None
            if _count(context, key, one.inode) == (0, False):
                _finish(context, one)
                done = True
    return done


def _finish_departures(context: Context, some: Iterable[Recheck]) -> None:
    """What came to a place may be the directory that went from there: then nothing waits for the end of its grace.

    For rechecks beneath which nothing is absent. One that is held or reported is looked at soon anyway.
    """
    came = [one for one in some if one.kind == "replace" and one.inode is not None]
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


def _forget_name(context: Context, recheck: Recheck) -> None:
    """Delete the row of a directory that was moved and has another one, unless it was moved back."""
    if look(context.namenode, [recheck.path]).ids.get(recheck.path) != recheck.inode:
        with context.database.transaction() as tx:
            key, inode = rows_of(tx, [recheck.path]).get(recheck.path, (None, None))
            # What was moved here since has its own story.
            if key is not None and inode == recheck.inode:
                prune_rows(tx, key.parent, [key.name], moved=True)


def siblings(due: Sequence[Recheck]) -> tuple[list[list[Recheck]], list[Recheck]]:
    """Groups that may be decided together, and the others: directories of one parent that went, none of them begun."""
    groups: dict[tuple[str, str], list[Recheck]] = {}
    others = []
    for one in due:
        if (
            one.kind in ("unlink", "trash", "replace")
            and one.state == "waiting"
            and one.removal is None
            and one.path != "/"
        ):
            groups.setdefault((one.kind, one.path.rpartition("/")[0]), []).append(one)
        else:
            others.append(one)
    return list(groups.values()), others


def process_siblings(context: Context, group: Sequence[Recheck]) -> list[Recheck]:
    """Decide at once on directories of one parent that hold no other mirrored directory; returns those that do."""
    parent = group[0].path.rpartition("/")[0]
    names = {encoded(one.path.rpartition("/")[2]): one for one in group}
    with context.database.reading() as tx:
        above = rows_of(tx, [parent]).get(parent)
        inode = above[1] if above else ROOT if not parent else None
        rows = read_rows(tx, [Key(inode, name) for name in names]) if inode is not None else {}
        deep = set(with_children(tx, [one.inode for one in group if one.inode is not None]))
        bound = bound_at(tx, inode, [key.name for key in rows]) if inode is not None and rows else []
        homes = fuse.read_protected(context, tx)
    # One above whole databases is held alone.
    simple = {
        name: one for name, one in names.items() if one.inode not in deep and not fuse.is_protected(one.path, homes)
    }
    known = {one.id for one in simple.values()}
    left = [one for one in group if one.id not in known]
    mine = list(simple.values())
    if not mine:
        return left
    survey = examine(context, [one for one in bound if one.key.name in simple])
    if survey.busy:
        with context.database.transaction() as tx:
            queue.settle(tx, [one.id for one in mine], "waiting", "", wait=BUSY)
        return left
    if survey.absent:
        count = max(len(survey.absent), _beneath(context, [one.sd_id for one in survey.absent]))
        if not _fuse_allows(context, mine, mine[0].path, count):
            return left
        absent = {one.key.name for one in survey.absent}
        heard = _heard(context, [simple[name] for name in absent])
        simple = {name: one for name, one in simple.items() if name not in absent or one.id in heard}
        going = [one for one in mine if one.id in heard]
        if going:
            where = going[0].path if len(going) == 1 else parent or "/"
            removal = _begin(context, going, _cause(replace(going[-1], path=where)))
            gone = [one for one in survey.absent if one.key.name in simple]
            remove(context, removal, going[0].kind, gone, time.monotonic() + TURN)
    away = {one.key.name for one in survey.absent}
    _finish_departures(context, [one for name, one in simple.items() if name not in away])
    with context.database.transaction() as tx:
        if inode is not None and simple and prune_rows(tx, inode, list(simple)):
            prune_upwards(tx, parent)
        queue.finish(tx, [one.id for one in simple.values()])
    return left


def _count(context: Context, key: Key | None, inode: int | None) -> tuple[int, bool]:
    """How many descriptors beneath are absent, as far as the fuse must know, and whether some were locked."""
    absent, beneath = 0, 0
    busy = False
    for page in subtree(context.database, key, inode, PAGE):
        survey = examine(context, page)
        absent += len(survey.absent)
        beneath += _beneath(context, [one.sd_id for one in survey.absent])
        busy = busy or survey.busy
        if max(absent, beneath) > context.config.mirror.max_removals:
            break
    return max(absent, beneath), busy


def _beneath(context: Context, sd_ids: Sequence[int]) -> int:
    """How many objects belong to the databases and tables that own some descriptors, wherever they lie."""
    if not sd_ids:
        return 0
    of_tables = (
        f"SELECT COUNT(*) FROM TBLS t JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID WHERE t.SD_ID IN ({marks(sd_ids)})"
    )
    db_ids = [-sd_id for sd_id in sd_ids if sd_id < 0]
    of_databases = (
        "SELECT COUNT(DISTINCT t.TBL_ID) + COUNT(p.PART_ID) FROM TBLS t LEFT JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID"
        f" WHERE t.DB_ID IN ({marks(db_ids)})"
    )
    with context.database.reading() as tx:
        found = int(tx.value(of_tables, sd_ids))
        return max(found, int(tx.value(of_databases, db_ids))) if db_ids else found


def examine(context: Context, page: Sequence[Bound]) -> Survey:
    """Ask the NameNode for bound descriptors; those whose directory is there are bound to what it is now."""
    paths = {one.sd_id: path for one in page if (path := context.file_system.path_of(one.location))}
    found = look(context.namenode, paths.values(), sure=True)
    survey = Survey([one for one in page if one.sd_id in paths and paths[one.sd_id] not in found.ids])
    keys = {one.sd_id: new for one in page if one.sd_id in paths and (new := found.key(paths[one.sd_id]))}
    moved = {one.sd_id: one.location for one in page if one.sd_id in keys and keys[one.sd_id] != one.key}
    if keys:
        with context.database.transaction() as tx:
            free = lock(tx, moved)
            replaced = write_chains(tx, found, {paths[sd_id] for sd_id in keys})
            grace = context.config.mirror.grace
            queue.add(tx, [(queue.Recheck("unlink", one.path, inode=one.inode), grace) for one in replaced])
            bind(tx, {sd_id: keys[sd_id] for sd_id in free})
            owned.note(tx, {sd_id: (paths[sd_id], found.ids[paths[sd_id]]) for sd_id in keys})
        survey.busy = len(free) < len(moved)
    _spare_databases(context, survey)
    return survey


def _spare_databases(context: Context, survey: Survey) -> None:
    """A database that has lost one of its directories is bound to the other, if that is there or on another file system."""
    gone = [-one.sd_id for one in survey.absent if one.sd_id < 0]
    if not gone:
        return
    with context.database.reading() as tx:
        homes = read_homes(context, tx, f"DB_ID IN ({marks(gone)})", gone)
    found = look(context.namenode, [path for home in homes for _, path in home.locations])
    spared = {
        home.sd_id: home for home in homes if home.elsewhere or any(path in found.ids for _, path in home.locations)
    }
    if spared:
        with context.database.transaction() as tx:
            for home in spared.values():
                settle_database(context, tx, home, found)
        survey.absent = [one for one in survey.absent if one.sd_id not in spared]


# --- may it be removed? -----------------------------------------------------------------------------------------------


def _policy_removes(context: Context, recheck: Recheck, count: int, key: Key | None) -> bool:
    """What the policy says of a directory that was moved elsewhere: True if what it held is to be removed."""
    if recheck.state == "approved":
        return True
    with context.database.reading() as tx:
        protected = fuse.is_protected(recheck.path, fuse.read_protected(context, tx))
    policy = "report" if protected else context.config.mirror.rename_policy
    # Who moved it on into the trash has deleted it.
    elsewhere = recheck.target != queue.NOWHERE and not in_trash(recheck.target)
    unknown = recheck.target == ""
    there = elsewhere and not unknown and recheck.target in look(context.namenode, [recheck.target]).ids
    if policy == "follow" and there:
        pages = subtree(context.database, key, recheck.inode, PAGE)
        if relocate(context, recheck, (examine(context, page).absent for page in pages)):
            return False
    elif policy == "delete" or not (there or unknown):
        return True
    where = f"to {recheck.target}" if recheck.target else "elsewhere, and where it lies is unknown"
    sentence = f"{recheck.path} was moved {where}; {count} objects still refer to the old place."
    with context.database.transaction() as tx:
        queue.settle(tx, [recheck.id], "reported", sentence)
    if recheck.state != "reported":
        log.warning("%s Nothing is removed: the policy is %s.", sentence, policy)
    return False


def _fuse_allows(context: Context, some: Sequence[Recheck], path: str, count: int) -> bool:
    """Whether so many objects at or beside a path may go; if not, the rechecks are held."""
    with context.database.transaction() as tx:
        allowed = fuse.allowance(context, tx)
        homes = fuse.read_protected(context, tx)
        torn = next((one.path for one in some if fuse.is_protected(one.path, homes)), None)
        if count <= allowed and torn is None:
            return True
        if torn:
            sentence = f"{torn}, which holds whole databases, is gone with {count} objects or more."
        else:
            sentence = f"{path} is gone: {count} objects or more would be removed, {allowed} are allowed now."
            fuse.blow(context, tx, sentence)
        queue.settle(tx, [one.id for one in some], "held", sentence)
        fuse.show(context, tx)
    if some[0].state != "held":
        log.error("%s %s", "The fuse holds this removal:" if torn else "The fuse holds all removals:", sentence)
    return False


def _settle_fuse(context: Context, tx: Transaction, state: queue.State) -> None:
    """Some rechecks are over that were in a state."""
    if state == "approved":
        fuse.begin_anew(tx)
    if state in ("held", "approved"):
        fuse.mend(context, tx)


# --- removing ---------------------------------------------------------------------------------------------------------


def _begin(context: Context, some: Iterable[Recheck], cause: Cause) -> int:
    """A removal for what rechecks found; it lasts as long as one of them."""
    with context.database.transaction() as tx:
        return queue.begin(tx, [one.id for one in some], cause)


def _heard(context: Context, some: Sequence[Recheck]) -> set[int]:
    """Those of some rechecks for which the events are read that happened before their directories were seen to be absent.

    One of these may have been replaced, and its replacement moved away, since events were read. The others' turn comes when
    those are read; nothing is asked of them before (`loop.Mirror`).
    """
    fresh = [one.id for one in some if one.removal is None and one.id not in context.absences]
    if fresh:
        context.absences |= dict.fromkeys(fresh, context.namenode.current_txid())
    heard = {one.id for one in some if one.removal is not None or context.absences[one.id] <= context.txid}
    for number in heard:
        context.absences.pop(number, None)
    return heard


def _remove(context: Context, recheck: Recheck, key: Key | None) -> bool:
    """Remove what is absent, batch by batch; False if some of it was locked. Raises Later."""
    if recheck.id not in _heard(context, [recheck]):
        raise Unheard
    removal = recheck.removal or _begin(context, [recheck], _cause(recheck))
    whole = True
    until = time.monotonic() + TURN
    for page in subtree(context.database, key, recheck.inode, PAGE):
        survey = examine(context, page)
        whole = whole and not survey.busy
        remove(context, removal, recheck.kind, survey.absent, until)
        if survey.absent and time.monotonic() > until:
            raise Later
    return whole


def _cause(recheck: Recheck) -> Cause:
    kind = recheck.kind if recheck.kind in ("trash", "rename") else "unlink"
    target = "" if recheck.target == queue.NOWHERE else recheck.target
    return Cause(kind, recheck.path, target, recheck.txid, recheck.event_at)


def remove(context: Context, removal: int, cause: str, absent: Sequence[Bound], until: float) -> None:
    """Remove the objects that own some descriptors, in bounded transactions. Raises Later after a moment, by `time.monotonic`.

    Before each further transaction the NameNode is asked again: a directory that came back meanwhile keeps what is left.
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
        for one in progress.removed:
            if one.path:
                context.returns.add(one.path)
            context.metrics.removed.labels(one.kind, cause).inc()
            context.effects += 1
        if progress.removed:
            count, last = counted(len(progress.removed), "object"), progress.removed[-1]
            log.info(
                "Removal %d: %s went with the directory, the last was %s %s.", removal, count, last.kind, last.name
            )
        if progress.done:
            break
        if time.monotonic() > until:
            raise Later
        left = _still_absent(context, left)


def _still_absent(context: Context, some: Sequence[Bound]) -> list[Bound]:
    """Those whose directory has not come back; the others are put into the queue."""
    paths = {one.sd_id: context.file_system.path_of(one.location) or "" for one in some}
    found = look(context.namenode, paths.values(), sure=True)
    survey = Survey([one for one in some if paths[one.sd_id] not in found.ids])
    _spare_databases(context, survey)
    back = {one.sd_id: one.location for one in some if paths[one.sd_id] in found.ids}
    if back:
        with context.database.transaction() as tx:
            requeue(tx, lock(tx, back))
    return survey.absent


# --- what was never seen ----------------------------------------------------------------------------------------------


def process_missing(context: Context, due: Sequence[Recheck]) -> int:
    """Decide on rechecks of the kind missing, all of one state; how many are over."""
    wanted = {one.sd_id: one for one in due if one.sd_id is not None}
    with context.database.reading() as tx:
        rows, queued = _read(tx, wanted)
    over = [one.id for sd_id, one in wanted.items() if sd_id not in rows and sd_id not in queued]
    paths = {sd_id: path for sd_id, location in rows.items() if (path := context.file_system.path_of(location))}
    found = look(context.namenode, paths.values(), sure=True)
    there = {sd_id: path for sd_id, path in paths.items() if found.key(path)}
    # By another configuration than the one that missed them.
    elsewhere = rows.keys() - paths.keys()
    with context.database.transaction() as tx:
        free = lock(tx, {sd_id: rows[sd_id] for sd_id in [*there, *elsewhere]})
        settle(context, tx, {sd_id: there[sd_id] for sd_id in free if sd_id in there}, found)
        requeue(tx, [sd_id for sd_id in free if sd_id in elsewhere])
        over += [wanted[sd_id].id for sd_id in free]
        busy = [wanted[sd_id].id for sd_id in queued.union(there, elsewhere).difference(free)]
        queue.settle(tx, busy, due[0].state, "", wait=BUSY)
    survey = Survey([Bound(sd_id, rows[sd_id], Key(0, b"")) for sd_id, path in paths.items() if path not in found.ids])
    lost = {one.sd_id for one in survey.absent}
    _spare_databases(context, survey)
    absent = {one.sd_id: one for one in survey.absent}
    over += [wanted[sd_id].id for sd_id in lost.difference(absent)]
    if absent:
        over += _remove_missing(context, absent, {sd_id: wanted[sd_id] for sd_id in absent}, paths)
    if over:
        with context.database.transaction() as tx:
            queue.finish(tx, over)
            _settle_fuse(context, tx, due[0].state)
    return len(over)


def _read(tx: Transaction, sd_ids: Iterable[int]) -> tuple[dict[int, str], set[int]]:
    """Locations of those descriptors that are bound or marked as missing, and which are in the queue.

    Those that the metastore has dropped, or moved to another file system, are neither.
    """
    wanted = sorted(sd_ids)
    if not wanted:
        return {}, set()
    rows = tx.rows(f"SELECT SD_ID, LOCATION, NAME FROM SDS WHERE SD_ID IN ({marks(wanted)})", wanted)
    looked_at = {int(sd_id): location for sd_id, location, name in rows if name is not None and bytes(name) != NOT_OURS}
    return looked_at, {int(sd_id) for sd_id, _, name in rows if name is None}


def _remove_missing(
    context: Context, absent: Mapping[int, Bound], wanted: dict[int, Recheck], paths: dict[int, str]
) -> list[int]:
    """Remove what is missing, unless the fuse holds it; the rechecks that are over."""
    over: list[int] = []
    until = time.monotonic() + TURN
    allowed = {sd_id: one for sd_id, one in wanted.items() if one.state == "approved" or one.removal is not None}
    asked = {sd_id: one for sd_id, one in wanted.items() if sd_id not in allowed}
    for group in filter(None, (allowed, _allowed(context, asked, paths) if asked else {})):
        heard = _heard(context, list(group.values()))
        group = {sd_id: one for sd_id, one in group.items() if one.id in heard}
        if not group:
            continue
        cause = Cause("missing", commonpath([paths[sd_id] for sd_id in group]))
        removal = _begin(context, group.values(), cause)
        remove(context, removal, "missing", [absent[sd_id] for sd_id in sorted(group)], until)
        over += [one.id for one in group.values()]
    return over


def _allowed(context: Context, wanted: dict[int, Recheck], paths: dict[int, str]) -> dict[int, Recheck]:
    """Those that may be removed now; the others are held."""
    with context.database.reading() as tx:
        homes = fuse.read_protected(context, tx)
    above = {sd_id: _protected_above(paths[sd_id], homes) for sd_id in wanted}
    found = look(context.namenode, {path for some in above.values() for path in some})
    torn = {
        sd_id: gone[0] for sd_id, some in above.items() if (gone := [path for path in some if path not in found.ids])
    }
    rest = {sd_id: one for sd_id, one in wanted.items() if sd_id not in torn}
    count = max(len(rest), _beneath(context, list(rest)))
    with context.database.transaction() as tx:
        allowed = fuse.allowance(context, tx)
        if torn:
            sentence = f"{next(iter(torn.values()))}, which holds whole databases, is gone."
            queue.settle(tx, [wanted[sd_id].id for sd_id in torn], "held", sentence, wait=MANY_AGAIN)
        if count > allowed:
            sentence = f"{count} objects without a directory would be removed, {allowed} are allowed now."
            fuse.blow(context, tx, sentence)
            queue.settle(tx, [one.id for one in rest.values()], "held", sentence, wait=MANY_AGAIN)
            rest = {}
        fuse.show(context, tx)
    return rest


def _protected_above(path: str, homes: Sequence[str]) -> list[str]:
    """The directories above a path that hold whole databases, the highest first."""
    parts = path.strip("/").split("/")
    above = ["/" + "/".join(parts[:depth]) for depth in range(1, len(parts))]
    return [prefix for prefix in above if fuse.is_protected(prefix, homes)]
