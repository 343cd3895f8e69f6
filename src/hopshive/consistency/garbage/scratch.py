"""Scratch directories that sessions and jobs left behind when they were killed.

A configured directory holds items: whatever lies directly in it. `*` stands for any one directory, so `/tmp/hive/*` has the
layout of Hive, one directory of sessions for each user, whose directories stay. An item goes when

- nothing in it, at any depth, was modified for as long as `scratch_age`, and
- no file in it is open for writing: a session with `hive.scratchdir.lock` keeps `inuse.lck` open while it lives, and if it dies
  the NameNode closes the file (SessionState, ClearDanglingScratchDir of Hive 4.0.1); a long query keeps its output open, and
- the metastore refers to nothing at it or below it, bound or not.

Everything else stays: names that do not match, what a symbolic link leads to (the link itself is an item like a file), and
the configured directories themselves. Sessions that only wait are ended by HiveServer2 after
`hive.server2.idle.session.timeout` (four hours), so `scratch_age` should be far longer than that and than the longest query.
The NameNode's clock says when something was modified, ours how late it is.

Not for /app-logs: YARN deletes aggregated logs itself (yarn.log-aggregation.retain-seconds). Not for the directory of
`hive.query.results.cache.directory` while a HiveServer2 runs that uses it: it may hold on to it without touching it.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from hopshive.config import ANY
from hopshive.metastore.locations import is_referred_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hopshive.database import Database
    from hopshive.hdfs.namenode import Entry, NameNode
    from hopshive.hdfs.paths import FileSystem


class Scratch:
    """Scratch directories of one file system."""

    def __init__(
        self, patterns: Sequence[str], file_system: FileSystem, namenode: NameNode, database: Database
    ) -> None:
        self._patterns = patterns
        self._file_system = file_system
        self._namenode = namenode
        self._database = database

    def clean(self, before: float, deleting: Callable[[str], None] | None = None) -> Iterator[bool]:
        """Delete the items that did not change since `before` (seconds since 1970); for each item, whether it was deleted.

        `deleting` is called before each deletion; what it raises ends the work. Raises NameNodeError, DatabaseError.
        """
        for pattern in self._patterns:
            for directory in list(self._directories(pattern)):
                for entry in self._listing(directory):
                    path = posixpath.join(directory, entry.name)
                    if self._is_left(path, entry, before * 1000):
                        if deleting:
                            deleting(path)
                        yield self._namenode.delete(path, recursive=True)
                    else:
                        yield False

    def _directories(self, pattern: str) -> Iterator[str]:
        """The directories that a pattern stands for."""
        head, any_, rest = pattern.partition("/" + ANY)
        if not any_:
            entry = self._namenode.entry(pattern)
            if entry is not None and entry.is_dir:
                yield pattern
            return
        for entry in self._listing(head):
            if entry.is_dir:
                yield from self._directories(posixpath.join(head, entry.name) + rest)

    def _listing(self, path: str) -> Iterator[Entry]:
        """What is in a directory; nothing if it is gone."""
        try:
            yield from self._namenode.listing(path)
        except FileNotFoundError:
            return

    def _is_left(self, path: str, item: Entry, before: float) -> bool:
        """Whether an item may be deleted. The cheap questions first."""
        if not self._is_old(path, item, before) or is_referred_to(
            self._database, self._file_system, path, item.file_id
        ):
            return False
        # All that took a while: it must be as it was.
        return self._namenode.entry(path) == item

    def _is_old(self, path: str, item: Entry, before: float) -> bool:
        """Whether nothing in it was modified since, and nothing is being written."""
        stack = [(path, item)]
        while stack:
            at, entry = stack.pop()
            if entry.modified >= before:
                return False
            if entry.is_dir:
                stack += [(posixpath.join(at, below.name), below) for below in self._listing(at)]
            elif self._namenode.is_open(at):
                return False
        return True
