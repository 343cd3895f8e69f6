"""The model's file system: directories with an identity, and in each the rows of the files that lie in it."""

from __future__ import annotations

import itertools
from posixpath import basename, dirname
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Node:
    """A directory. `rows` are those that an engine reads from its files; `id` stays with it wherever it is moved."""

    __slots__ = ("children", "id", "rows")

    def __init__(self, number: int) -> None:
        self.id = number
        self.children: dict[str, Node] = {}
        self.rows: list[int] = []


class Files:
    """A tree of directories. Paths are absolute and normal."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.root = Node(next(self._numbers))

    def get(self, path: str) -> Node | None:
        """The directory at a path."""
        node: Node | None = self.root
        for name in path.strip("/").split("/"):
            node = node.children.get(name) if node and name else node
        return node

    def exists(self, path: str) -> bool:
        """Whether there is a directory at a path."""
        return self.get(path) is not None

    def id(self, path: str) -> int | None:
        """The identity of what is at a path."""
        node = self.get(path)
        return node.id if node else None

    def make(self, path: str) -> Node:
        """The directory at a path, made with all above it if it is not there."""
        node = self.root
        for name in path.strip("/").split("/"):
            node = node.children.setdefault(name, Node(next(self._numbers))) if name else node
        return node

    def delete(self, path: str) -> Node | None:
        """Take a directory away with all below it."""
        above = self.get(dirname(path))
        return above.children.pop(basename(path), None) if above else None

    def move(self, source: str, target: str) -> bool:
        """Rename; False, and nothing happens, if there is no source, no parent for the target, or something at it."""
        above = self.get(dirname(target))
        if above is None or self.exists(target) or not self.exists(source) or target.startswith(source + "/"):
            return False
        node = self.delete(source)
        assert node
        above.children[basename(target)] = node
        return True

    def replace(self, path: str) -> Node:
        """The directory at a path made again: empty, and another one."""
        self.delete(path)
        return self.make(path)

    def children(self, path: str) -> Iterator[str]:
        """Paths of the directories in a directory."""
        node = self.get(path)
        for name in node.children if node else ():
            yield f"{path.rstrip('/')}/{name}"
