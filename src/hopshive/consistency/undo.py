"""Undoing a removal: which directories are to be moved, from wherever they lie now, and whether they may be.

A place in the trash does not last: a second deletion of the same name gets another one, and each hour HDFS renames the trash.
The journal knows the inode of what was bound, and a NameNode finds a directory by that.

A directory that was moved as a whole takes along what has no metadata. Where its place exists again, all that lies in it is
moved, piece by piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.hdfs.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hopshive.consistency.journal import Entry, Removal
    from hopshive.hdfs.namenode import NameNode


class CannotUndo(Exception):
    """Nothing was moved; the message is a sentence for who asked."""


@dataclass(frozen=True, slots=True)
class Move:
    """A directory with its inode: where it lies now, and where it was. They are the same if it is back already."""

    inode: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Stay:
    """What lay in a directory that was moved and is not moved back: where it lies, and why."""

    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an undo does."""

    moves: list[Move]
    stays: list[Stay]


def tops(entries: Sequence[Entry]) -> list[Entry]:
    """Those that have a directory of which none lies beneath another one's."""
    found: list[Entry] = []
    for entry in sorted((one for one in entries if one.path), key=lambda one: one.path.split("/")):
        if not found or not is_below(entry.path, found[-1].path):
            found.append(entry)
    return found


def is_directory_itself(removal: Removal) -> bool:
    """Whether the path of a removal is that of the directory that was moved, rather than the one that several lay in."""
    if removal.kind == "rename":
        return True
    # The trash adds a time to a name that it has already.
    return removal.kind == "trash" and bool(re.search(re.escape(removal.path) + r"\d*$", removal.target))


def plan(
    namenode: NameNode,
    removal: Removal,
    entries: Sequence[Entry],
    beneath: str | None = None,
    others: Collection[int] = (),
) -> Plan:
    """What to move. Raises CannotUndo and NameNodeError.

    `beneath`: only what lay at or beneath a path. `others`: directories that went in other removals, by inode: they are not moved
    along where they lie in the same directory of the trash.
    """
    moves: dict[str, Move] = {}
    found = Plan([], [])
    root = _root(removal, beneath)
    wanted = {entry.path: entry for entry in tops(entries)}
    seen: set[str] = set()
    for entry in wanted.values():
        if any(is_below(entry.path, target) for target in moves):
            continue
        if entry.inode is None:
            raise CannotUndo(
                f"The journal does not know which directory {entry.path} was. Move it back by hand, then:"
                f" hopshive restore --path {entry.path}"
            )
        inode, source = lies_now(namenode, entry)
        if source is None:
            raise CannotUndo(
                f"The directory of {entry.kind} {entry.name} is nowhere on HDFS any more: its trash was emptied, or it was"
                f" deleted past the trash. Copy {entry.path} from a snapshot, then: hopshive restore --path {entry.path}"
            )
        suffix = entry.path[len(root) :] if root is not None and is_below(entry.path, root) else ""
        above = source[: -len(suffix)] if suffix and source != entry.path and source.endswith(suffix) else ""
        whole = namenode.entry(above) if above else None
        if root is not None and whole is not None and namenode.entry(root) is None:
            moves[root] = Move(whole.file_id, above, root)
            continue
        if root is not None and whole is not None and above not in seen:
            seen.add(above)
            part = _parts(namenode, above, root, wanted, others)
            moves |= {move.target: move for move in part.moves}
            found.stays.extend(part.stays)
        if not any(is_below(entry.path, target) for target in moves):
            moves[entry.path] = Move(inode, source, entry.path)
    for move in moves.values():
        _check(namenode, move)
    found.moves.extend(moves.values())
    return found


def _root(removal: Removal, beneath: str | None) -> str | None:
    """The highest directory that an undo may move whole; None if nothing but the directories of objects."""
    if not is_directory_itself(removal):
        return None
    if beneath is None or is_below(removal.path, beneath):
        return removal.path
    return beneath if is_below(beneath, removal.path) else None


def _parts(namenode: NameNode, source: str, target: str, wanted: Mapping[str, Entry], others: Collection[int]) -> Plan:
    """What to move, beside what is wanted, of all that lies in a directory, into its place, which exists again."""
    found = Plan([], [])
    for one in namenode.listing(source):
        lies, place = f"{source}/{one.name}", f"{target}/{one.name}"
        if place in wanted and one.file_id in (wanted[place].inode, wanted[place].replacement):
            continue
        if one.file_id in others:
            found.stays.append(Stay(lies, "it went in another removal"))
        elif place not in wanted and namenode.entry(place) is None:
            found.moves.append(Move(one.file_id, lies, place))
        elif one.is_dir and any(is_below(path, place) for path in wanted):
            deeper = _parts(namenode, lies, place, wanted, others)
            found.moves.extend(deeper.moves)
            found.stays.extend(deeper.stays)
        else:
            found.stays.append(Stay(lies, f"its place {place} is another one's"))
    return found


def lies_now(namenode: NameNode, entry: Entry) -> tuple[int, str | None]:
    """The directory of an entry that has one, and where it lies now: the one that is back, or else the last that is on HDFS."""
    inode = entry.inode or 0
    source = namenode.path_of(inode)
    if entry.replacement is not None and source != entry.path:
        last = namenode.path_of(entry.replacement)
        if last is not None:
            return entry.replacement, last
    return inode, source


def _check(namenode: NameNode, move: Move) -> None:
    if move.source == move.target:
        return
    if namenode.entry(move.target) is not None:
        raise CannotUndo(
            f"Something else stands at {move.target}. Its own is {move.source}. Move what stands there away, and undo again."
        )
    above = move.target.rpartition("/")[0] or "/"
    if namenode.entry(above) is None:
        raise CannotUndo(f"{above}, in which {move.target} lay, is not there. Bring that back first: hopshive journal")


def carry_out(namenode: NameNode, move: Move) -> None:
    """Move it, by its inode: the trash may be renamed at this moment. Raises NameNodeError."""
    if move.source != move.target:
        namenode.move(f"/.reserved/.inodes/{move.inode}", move.target)
