"""What the parts of a mirror share, and the question that all of them ask the NameNode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.consistency.mirror.tree import ROOT, Found, Known
from hopshive.database.locked import Locked
from hopshive.hdfs.paths import FileSystem, has_twin, path_hash, prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hopshive.config import Config
    from hopshive.daemon.metrics import Metrics
    from hopshive.database import Database
    from hopshive.hdfs.namenode import NameNode


@dataclass
class Pass:
    """How far the return of many objects has come that takes several turns; the next leader begins it again.

    `effects`: those of the mirror but of this return. `below`: entries of the journal with smaller ids come next.
    `problem`: why the first one that could not come back could not.
    """

    effects: int
    below: int | None = None
    problem: str = ""
    # Entries without an inode that belong to what came back; None before they were looked for.
    alike: set[int] | None = None


@dataclass
class Context:
    """One mirror's surroundings. `known`, `missing`, `targets` and `returns` are the paths that an event may be about.

    `targets`: where something was moved to whose check is not decided yet.
    """

    config: Config
    database: Database
    namenode: NameNode
    metrics: Metrics
    known: Known = field(default_factory=Known)
    missing: Known = field(default_factory=Known)
    targets: Known = field(default_factory=Known)
    returns: Returns = field(default_factory=lambda: Returns())
    # Whether something was bound where a directory was moved: the metastore may have renamed what lay there.
    renamed: bool = False
    # Names of what is back and could not be restored, by their hashes: perhaps another object has the name.
    refused: set[int] = field(default_factory=set)
    # Storage descriptors and databases that another session has locked, where the server cannot skip them.
    locked: Locked[int] = field(default_factory=Locked)
    locked_databases: Locked[int] = field(default_factory=Locked)
    # By the id of the check.
    passes: dict[int, Pass] = field(default_factory=dict)
    # The last transaction of the NameNode whose events are looked at.
    txid: int = 0
    # Transactions of the NameNode that the last answer with events did not contain yet.
    lag: int = 0
    # By the id of the check: a transaction of the NameNode after which its directory was seen to be absent.
    absences: dict[int, int] = field(default_factory=dict)
    # Objects that were removed, and restored, so far.
    removed: int = 0
    restored: int = 0

    @property
    def effects(self) -> int:
        """Objects that were removed or restored so far."""
        return self.removed + self.restored

    @property
    def file_system(self) -> FileSystem:
        """For locations."""
        return self.config.file_system


class Returns:
    """Where something may come back that was removed: a directory that is moved to one of these paths is looked at.

    Of partitions only the directory that they lay in is kept, so that memory does not grow with their number.
    """

    def __init__(self) -> None:
        self._paths: set[int] = set()
        self._partitioned: set[int] = set()

    def add(self, path: str) -> None:
        """Add the path of something removed; it comes back with any directory above it too."""
        parent, _, name = path.rpartition("/")
        if "=" in name:
            self._partitioned.add(hash(parent))
            path = parent
        self._paths.update(hash(prefix) for prefix in prefixes(path))

    def __contains__(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        return hash(path) in self._paths or ("=" in name and hash(parent) in self._partitioned)


def look(namenode: NameNode, paths: Iterable[str], *, sure: bool = False) -> Found:
    """Ask for the inodes of some paths and of all above them, in one round trip. Raises NameNodeError.

    With `sure` an absence is believed only of the NameNode that may write (`NameNode.sure_entries`): for removals.
    """
    wanted = sorted({prefix for path in paths for prefix in prefixes(path)})
    found = Found({"/": ROOT})
    entries = namenode.sure_entries(wanted) if sure else namenode.entries(wanted)
    for path, entry in zip(wanted, entries, strict=True):
        if entry is not None:
            # An inode is followed by one path: in a snapshot it has another one, whose directory goes with the snapshot.
            found.ids[path] = -abs(path_hash(path)) if has_twin(path) else entry.file_id
    return found
