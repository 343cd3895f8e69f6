"""What the parts of a mirror share, and the question that all of them ask the NameNode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.mirror.tree import ROOT, Found, Known, prefixes
from hopshive.paths import FileSystem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hopshive.config import Config
    from hopshive.database import Database
    from hopshive.metrics import Metrics
    from hopshive.namenode import NameNode


@dataclass
class Context:
    """One mirror's surroundings. `known` and `roots` are what an event may be about; see there."""

    config: Config
    database: Database
    namenode: NameNode
    metrics: Metrics
    known: Known = field(default_factory=Known)
    roots: Roots = field(default_factory=lambda: Roots())

    @property
    def file_system(self) -> FileSystem:
        """For locations."""
        return self.config.file_system


class Roots:
    """Paths of what was removed and can be restored: a directory that is moved to one of them, or above, or beneath."""

    def __init__(self) -> None:
        self._at: set[int] = set()
        self._above: set[int] = set()

    def add(self, path: str) -> None:
        """Add a path."""
        self._at.add(hash(path))
        self._above.update(hash(prefix) for prefix in prefixes(path))

    def concern(self, path: str) -> bool:
        """Whether something that comes to `path` may bring back what was removed."""
        if not self._at:
            return False
        return hash(path) in self._above or any(hash(prefix) in self._at for prefix in prefixes(path))


def look(namenode: NameNode, paths: Iterable[str]) -> Found:
    """Ask for the inodes of some paths and of all above them, in one round trip. Raises NameNodeError."""
    wanted = sorted({prefix for path in paths for prefix in prefixes(path)})
    found = Found({"/": ROOT})
    for path, entry in zip(wanted, namenode.entries(wanted), strict=True):
        if entry is not None:
            found.ids[path] = entry.file_id
    return found
