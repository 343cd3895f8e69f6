"""Pending checks: the directories that the NameNode must be asked about again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopshive.hdfs.paths import MOST_BYTES, is_too_long

if TYPE_CHECKING:
    from datetime import datetime

log = logging.getLogger(__name__)
CheckKind = Literal["unlink", "trash", "rename", "replace", "missing", "restore"]
CheckState = Literal["waiting", "held", "approved", "reported", "comparing"]
# The target of a directory that was deleted for good.
NOWHERE = "/"
# Seconds between two looks at a directory that waits for a human: it may have come back.
HELD_AGAIN = 30.0


@dataclass(frozen=True, slots=True)
class PendingCheck:
    """A directory that went, moved, was overwritten, was never there, or came back. Times are UTC.

    `target` of a directory that was moved is empty if its present place is unknown, and `NOWHERE` if it was deleted for good
    there.
    """

    kind: CheckKind
    path: str
    target: str = ""
    inode: int | None = None
    sd_id: int | None = None
    txid: int = 0
    event_at: datetime | None = None
    state: CheckState = "waiting"
    id: int = 0
    removal: int | None = None

    @property
    def is_allowed(self) -> bool:
        """Whether a human has approved the removal, or the removal has begun: neither policy nor fuse has a say any more."""
        return self.state == "approved" or self.removal is not None


@dataclass(frozen=True, slots=True)
class MovedDirectory:
    """A directory that was moved elsewhere, and whose metadata goes in `left` seconds unless it is back by then."""

    path: str
    target: str
    left: int

    def __str__(self) -> str:
        where = "elsewhere" if self.target in ("", NOWHERE) else f"to {self.target}"
        return f"{self.path} was moved {where}: its metadata goes in {self.left} s, unless it is back (cleaner_rename_grace)"


def fitting(target: str) -> str:
    """The place that a directory was moved to; empty, which means unknown, if the table has no room for the path."""
    if not is_too_long(target):
        return target
    log.warning(
        "A directory was moved to a path of more than %d bytes, which is not noted. What was bound comes back with it, and"
        " what was not by 'hopshive restore'. The path begins with %.200s",
        MOST_BYTES,
        target,
    )
    return ""
