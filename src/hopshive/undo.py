"""Undoing a removal: which directories are to be moved, from wherever they lie now, and whether they may be.

A place in the trash does not last: a second deletion of the same name gets another one, and each hour HDFS renames the trash.
The journal knows the inode of what was bound, and a NameNode finds a directory by that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.journal import Entry, Removal
    from hopshive.namenode import NameNode


class CannotUndo(Exception):
    """Nothing was moved; the message is a sentence for who asked."""


@dataclass(frozen=True, slots=True)
class Move:
    """A directory with its inode: where it lies now, and where it was. They are the same if it is back already."""

    inode: int
    source: str
    target: str


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


def plan(namenode: NameNode, removal: Removal, entries: Sequence[Entry], beneath: str | None = None) -> list[Move]:
    """What to move. `beneath`: only what lay at or beneath a path. Raises CannotUndo and NameNodeError."""
    moves: dict[str, Move] = {}
    whole = is_directory_itself(removal) and (beneath is None or is_below(removal.path, beneath))
    for entry in tops(entries):
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
        move = Move(inode, source, entry.path)
        suffix = entry.path[len(removal.path) :] if whole and is_below(entry.path, removal.path) else ""
        if suffix and source != entry.path and source.endswith(suffix) and namenode.entry(removal.path) is None:
            above = namenode.entry(source[: -len(suffix)])
            if above is not None:
                move = Move(above.file_id, source[: -len(suffix)], removal.path)
        moves[move.target] = move
    for move in moves.values():
        _check(namenode, move)
    return list(moves.values())


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
