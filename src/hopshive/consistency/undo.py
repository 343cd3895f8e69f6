"""Undoing a removal: which directories to move, where they lie now, and whether they may be moved.

A path in the trash does not last: a second deletion of the same name gets another path, and HDFS renames the trash each
hour. The journal has the inode of each bound directory, and a NameNode finds a directory by its inode.

A directory that is moved back as a whole takes along files without metadata. If its path exists again, its content is
moved piece by piece.
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
    """Nothing was moved; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Move:
    """A directory with its inode: where it lies now, and where it was. Both are the same if it is back already."""

    inode: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Stay:
    """A file or directory that is not moved back: where it lies, and why."""

    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an undo does."""

    moves: list[Move]
    stays: list[Stay]


def tops(entries: Sequence[Entry]) -> list[Entry]:
    """Entries with a directory that does not lie below the directory of another entry."""
    found: list[Entry] = []
    for entry in sorted((one for one in entries if one.path), key=lambda one: one.path.split("/")):
        if not found or not is_below(entry.path, found[-1].path):
            found.append(entry)
    return found


def is_directory_itself(removal: Removal) -> bool:
    """Whether the removal's path is the moved directory itself, rather than the parent of several."""
    if removal.kind == "rename":
        return True
    # The trash appends the time to a name that it already has.
    return removal.kind == "trash" and bool(re.search(re.escape(removal.path) + r"\d*$", removal.target))


def plan(
    namenode: NameNode,
    removal: Removal,
    entries: Sequence[Entry],
    below: str | None = None,
    others: Collection[int] = (),
) -> Plan:
    """What to move. Raises CannotUndo and NameNodeError.

    `below`: only directories at or below a path. `others`: inodes of directories of other removals, which may lie in the
    same directory of the trash and stay there.
    """
    moves: dict[str, Move] = {}
    found = Plan([], [])
    root = _root(removal, below)
    wanted = {entry.path: entry for entry in tops(entries)}
    seen: set[str] = set()
    for entry in wanted.values():
        if any(is_below(entry.path, target) for target in moves):
            continue
        if entry.inode is None:
            raise CannotUndo(
                f"The journal does not know the inode of {entry.path}. Move the directory back by hand, then:"
                f" hopshive restore --path {entry.path}"
            )
        inode, source = lies_now(namenode, entry)
        if source is None:
            raise CannotUndo(
                f"The directory of {entry.kind} {entry.name} is no longer on HDFS: the trash was emptied, or it was"
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


def _root(removal: Removal, below: str | None) -> str | None:
    """The highest directory that an undo may move whole; None if it may move only directories of objects."""
    if not is_directory_itself(removal):
        return None
    if below is None or is_below(removal.path, below):
        return removal.path
    return below if is_below(below, removal.path) else None


def _parts(namenode: NameNode, source: str, target: str, wanted: Mapping[str, Entry], others: Collection[int]) -> Plan:
    """What else to move from a directory into its former path, which exists again; `wanted` is moved anyway."""
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
            found.stays.append(Stay(lies, f"another file or directory has taken its place {place}"))
    return found


def lies_now(namenode: NameNode, entry: Entry) -> tuple[int, str | None]:
    """The inode of an entry's directory, and where it lies now: at its path, or else where the newest one lies."""
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
            f"Another file or directory is at {move.target}. The removed one is at {move.source}. Move the other one away,"
            " and undo again."
        )
    above = move.target.rpartition("/")[0] or "/"
    if namenode.entry(above) is None:
        raise CannotUndo(
            f"{above}, the parent of {move.target}, does not exist. Undo its removal first. Look: hopshive journal"
        )


def carry_out(namenode: NameNode, move: Move) -> None:
    """Move a directory by its inode: HDFS may rename the trash at any moment. Raises NameNodeError."""
    if move.source != move.target:
        namenode.move(f"/.reserved/.inodes/{move.inode}", move.target)
