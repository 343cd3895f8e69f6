"""Directories by the thousand, in the NameNode's own RPC with many calls under way: some thousand a second."""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode.rpc import Call, Connection, RemoteError
from hopshive.hdfs.namenode.wire import encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.servers import Hdfs

# Calls that are handed to the connection at once; it keeps fewer of them under way.
BATCH = 5000

Request = dict[int, int | bytes | str]


class Directories:
    """One connection to a NameNode, as its superuser. Not for several threads."""

    def __init__(self, hdfs: Hdfs) -> None:
        self._connection = Connection(("127.0.0.1", hdfs.rpc_port), hdfs.user, uuid.uuid4(), timeout=60)
        self._numbers = itertools.count()

    def close(self) -> None:
        """End it."""
        self._connection.close()

    def make(self, paths: Iterable[str]) -> None:
        """Make directories, with those above them."""
        mode = encode({1: 0o755})
        self._each("mkdirs", ({1: path, 2: mode, 3: 1} for path in paths))

    def delete(self, paths: Iterable[str]) -> None:
        """Delete with all that is below, past the trash."""
        self._each("delete", ({1: path, 2: 1} for path in paths))

    def move(self, source: str, target: str) -> None:
        """Rename; what is above the target must be there."""
        self._each("rename2", [{1: source, 2: target, 3: 0}])

    def _each(self, method: str, requests: Iterable[Request]) -> None:
        rest = iter(requests)
        while batch := [Call(next(self._numbers), method, encode(one)) for one in itertools.islice(rest, BATCH)]:
            for answer in self._connection.answers(batch):
                if isinstance(answer, RemoteError):
                    raise answer
