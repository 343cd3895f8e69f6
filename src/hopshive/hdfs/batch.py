"""Bring several paths on HDFS to their wanted states, in one run."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from hopshive.hdfs.wanted import Operation, Parents, Status, Wanted, WebHdfsError, ancestors, decide, foresee
from hopshive.hdfs.webhdfs import WebHdfs


@dataclass(frozen=True)
class Outcome:
    """One path that changed, before and after; a parent that was made has its own. In check mode `after` is predicted."""

    path: str
    before: Status | None
    after: Status | None
    operations: tuple[Operation, ...]


class Batch:
    """Brings paths to their state, one after the other, so that a later one may lie in an earlier one.

    With `dry`, nothing is done, and what the earlier ones would have done is remembered instead.
    """

    def __init__(self, client: WebHdfs, parents: Parents, *, dry: bool = False) -> None:
        self._client = client
        self._parents = parents
        self._dry = dry
        self._foreseen: dict[str, Status | None] = {}
        self._directories = {"/"}

    def bring(self, wanted: Wanted) -> list[Outcome]:
        """Bring one path to its wanted state; returns what changed. Raises WebHdfsError."""
        outcomes = []
        there = self._status(wanted.path, acl=wanted.acl is not None)
        if wanted.state != "absent" and there is None:
            for parent in ancestors(wanted.path):
                if parent not in self._directories:
                    made = Wanted(parent, owner=self._parents.owner, group=self._parents.group, mode=self._parents.mode)
                    status = self._status(parent)
                    if status is None:
                        outcomes.append(self._do(made, None, decide(made, None)))
                    else:
                        decide(Wanted(parent), status)
                    self._directories.add(parent)
        operations = decide(wanted, there)
        if operations:
            outcomes.append(self._do(wanted, there, operations))
        return outcomes

    def _status(self, path: str, *, acl: bool = False) -> Status | None:
        if path in self._foreseen:
            return self._foreseen[path]
        if any(self._foreseen.get(parent, path) is None for parent in ancestors(path)):
            return None
        return self._read(path, acl=acl)

    def _read(self, path: str, *, acl: bool) -> Status | None:
        status = self._client.status(path)
        return replace(status, acl=self._client.acl(path)) if status and acl else status

    def _do(self, wanted: Wanted, before: Status | None, operations: list[Operation]) -> Outcome:
        path = wanted.path
        if wanted.state == "absent":
            self._directories = {
                known for known in self._directories if known != path and not known.startswith(f"{path}/")
            }
        if self._dry:
            if wanted.state == "absent":
                self._foreseen = {
                    known: status for known, status in self._foreseen.items() if not known.startswith(f"{path}/")
                }
            after = self._foreseen[path] = foresee(before, operations, self._client.user)
        else:
            for operation in operations:
                self._client.apply(operation)
            after = self._read(path, acl=wanted.acl is not None)
        return Outcome(path, before, after, tuple(operations))


def local_length(src: str) -> int:
    """The length of a local file in bytes. Raises WebHdfsError if it cannot be read."""
    try:
        with Path(src).open("rb") as stream:
            return os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise WebHdfsError(f"The file {src} cannot be read on this host: {error.strerror}.") from None
