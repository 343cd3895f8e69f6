"""The wanted state of a path on HDFS, its present state, and the operations from one to the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


State = Literal["directory", "file", "absent"]
FileType = Literal["DIRECTORY", "FILE", "SYMLINK"]


class WebHdfsError(Exception):
    """HDFS refused or did not answer; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Wanted:
    """The desired state of one path. None leaves a property as it is. `mode` is octal text such as 1777.

    `acl` is the extended ACL of a directory, as entries of the NameNode (`group:staff:rwx`, `default:group:staff:rwx`).
    With `tree`, a directory that lacks the ACL or the mode gets the ACL in all directories below it, too.
    """

    path: str
    state: State = "directory"
    owner: str | None = None
    group: str | None = None
    mode: str | None = None
    src: str | None = None
    length: int = 0
    replication: int | None = None
    recursive: bool = False
    acl: frozenset[str] | None = None
    tree: bool = False


@dataclass(frozen=True)
class Parents:
    """The owner, group and mode of parents that are made; parents that exist stay as they are."""

    owner: str | None = None
    group: str | None = None
    mode: str | None = None


@dataclass(frozen=True)
class Status:
    """The NameNode's record of a path. `length` is in bytes, 0 of a directory; `mode` octal without leading zeros.

    `acl` is None for a path whose ACL was not asked for.
    """

    kind: FileType
    owner: str = ""
    group: str = ""
    mode: str = ""
    length: int = 0
    replication: int = 0
    acl: frozenset[str] | None = None

    def shown(self) -> dict[str, Any]:
        """The properties that can be wanted, for a diff."""
        shown: dict[str, Any] = {
            "state": self.kind.lower(),
            "owner": self.owner,
            "group": self.group,
            "mode": self.mode,
        }
        if self.acl is not None:
            shown["acl"] = sorted(self.acl)
        return shown | ({"length": self.length, "replication": self.replication} if self.kind == "FILE" else {})


@dataclass(frozen=True)
class MakeDirectory:
    """Make a directory whose parent exists."""

    path: str
    mode: str | None = None


@dataclass(frozen=True)
class Upload:
    """Put a local file in place, with its owner and mode, in one step for readers."""

    wanted: Wanted


@dataclass(frozen=True)
class Quota:
    """The most files and directories below a directory, and the most bytes of all replicas; 0: as many as there is room for."""

    names: int = 0
    space: int = 0


@dataclass(frozen=True)
class Entry:
    """What a directory has."""

    path: str
    is_directory: bool
    owner: str
    group: str


@dataclass(frozen=True)
class SetOwner:
    """Set owner and group; None leaves one as it is."""

    path: str
    owner: str | None
    group: str | None


@dataclass(frozen=True)
class SetMode:
    """Set the permissions; `mode` is octal text."""

    path: str
    mode: str


@dataclass(frozen=True)
class SetAcl:
    """Add entries to the ACL of a directory, and with `tree` to that of each directory below it."""

    path: str
    entries: frozenset[str]
    tree: bool


@dataclass(frozen=True)
class SetReplication:
    """Set the copies of each block; the NameNode makes or drops copies later."""

    path: str
    replication: int


@dataclass(frozen=True)
class Delete:
    """Delete a path; a directory with entries only if `recursive`."""

    path: str
    recursive: bool


Operation = MakeDirectory | Upload | SetOwner | SetMode | SetAcl | SetReplication | Delete


def normal_mode(mode: str) -> str:
    """`01777`, `1777` and `0o1777` are 1777, `0755` is 755. Raises ValueError for others: HDFS has no setuid."""
    number = int(mode.removeprefix("0o"), 8)
    if not 0 <= number <= 0o1777:
        raise ValueError(mode)
    return f"{number:o}"


def normal_path(path: str) -> str:
    """An absolute path without `//`, `.` and a closing slash. Raises WebHdfsError for another, and for `..`."""
    if not path.startswith("/") or ".." in path.split("/"):
        raise WebHdfsError(f"The path {path!r} is not absolute, or climbs with '..'. Give it as /a/b.")
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def ancestors(path: str) -> list[str]:
    """The directories above a path, from the top, without the root."""
    parts = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


def decide(wanted: Wanted, there: Status | None) -> list[Operation]:
    """The operations that bring a path to its wanted state, empty if it has it. Raises WebHdfsError if that would cost data.

    Two files of one path and one length are taken for the same: an upload has a digest in its name.
    """
    path = wanted.path
    if wanted.state == "absent":
        if path == "/":
            raise WebHdfsError("The root of HDFS cannot be made absent.")
        return [Delete(path, wanted.recursive)] if there else []
    kind: FileType = "DIRECTORY" if wanted.state == "directory" else "FILE"
    if there and there.kind != kind:
        raise WebHdfsError(
            f"{path} on HDFS is a {there.kind.lower()}, and a {kind.lower()} is wanted. Move it, or name another path."
        )
    if kind == "FILE" and (not there or there.length != wanted.length):
        return [Upload(wanted)]
    operations: list[Operation] = [] if there else [MakeDirectory(path, wanted.mode)]
    if there is None:
        there = Status("DIRECTORY", mode=wanted.mode or "")
    owner = wanted.owner if wanted.owner not in (None, there.owner) else None
    group = wanted.group if wanted.group not in (None, there.group) else None
    if owner or group:
        operations.append(SetOwner(path, owner, group))
    other_mode = wanted.mode is not None and wanted.mode != there.mode
    # Before the mode: an interrupted walk through a tree leaves a mode that is not the wanted one, and begins again.
    if wanted.acl and (not wanted.acl <= (there.acl or frozenset()) or (wanted.tree and other_mode)):
        operations.append(SetAcl(path, wanted.acl, wanted.tree))
    if wanted.mode and other_mode:
        operations.append(SetMode(path, wanted.mode))
    if kind == "FILE" and wanted.replication and wanted.replication != there.replication:
        operations.append(SetReplication(path, wanted.replication))
    return operations


def foresee(there: Status | None, operations: Iterable[Operation], user: str) -> Status | None:
    """What a path will be after its operations, for check mode. An empty property is the NameNode's choice."""
    for operation in operations:
        match operation:
            case Delete():
                there = None
            case MakeDirectory(mode=mode):
                there = Status("DIRECTORY", owner=user, mode=mode or "")
            case Upload(wanted=wanted):
                there = Status(
                    "FILE",
                    owner=wanted.owner or user,
                    group=wanted.group or "",
                    mode=wanted.mode or "",
                    length=wanted.length,
                    replication=wanted.replication or (there.replication if there else 0),
                )
            case SetOwner(owner=owner, group=group) if there:
                there = replace(there, owner=owner or there.owner, group=group or there.group)
            case SetMode(mode=mode) if there:
                there = replace(there, mode=mode)
            case SetAcl(entries=entries) if there:
                there = replace(there, acl=(there.acl or frozenset()) | entries)
            case SetReplication(replication=replication) if there:
                there = replace(there, replication=replication)
    return there
