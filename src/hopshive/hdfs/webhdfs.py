"""Desired state of paths on HDFS, through the NameNode's REST interface (WebHDFS): no JVM, a path costs milliseconds.

Deciding (`decide`) is apart from doing (`WebHdfs`). Simple authentication: the user is whoever we say.
"""

from __future__ import annotations

import http.client
import json
import os
import posixpath
import secrets
import socket
import string
import time
import urllib.parse
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PREFIX = "/webhdfs/v1"
# Between two questions to a NameNode that cannot answer yet, in seconds.
POLL = 0.5
# Longest silence on a connection, in seconds.
SOCKET_TIMEOUT = 60.0
CHUNK = 1024 * 1024

State = Literal["directory", "file", "absent"]
Kind = Literal["DIRECTORY", "FILE", "SYMLINK"]


class WebHdfsError(Exception):
    """HDFS refused or did not answer; the message is a sentence for the operator."""


class _NotNow(Exception):
    """No NameNode can do it at the moment: standby, starting, safe mode, no DataNode yet, nobody there."""


class _Refused(Exception):
    """The NameNode or a DataNode answered with an exception."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(message)
        self.exception = exception


# --- what is wanted, what is there, what to do ------------------------------------------------------------------------


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
    """What missing parents are made with; those that are there are left alone."""

    owner: str | None = None
    group: str | None = None
    mode: str | None = None


@dataclass(frozen=True)
class Status:
    """What the NameNode knows of a path. `length` is in bytes, 0 of a directory; `mode` octal without leading zeros.

    `acl` is None for a path whose ACL nobody asked for.
    """

    kind: Kind
    owner: str = ""
    group: str = ""
    mode: str = ""
    length: int = 0
    replication: int = 0
    acl: frozenset[str] | None = None

    def shown(self) -> dict[str, Any]:
        """For a diff: what can be asked for."""
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
    """Its parent is there."""

    path: str
    mode: str | None = None


@dataclass(frozen=True)
class Upload:
    """Put a local file in place, with its owner and mode, in one step for readers."""

    wanted: Wanted


@dataclass(frozen=True)
class SetOwner:
    """None leaves that one as it is."""

    path: str
    owner: str | None
    group: str | None


@dataclass(frozen=True)
class SetMode:
    """`mode` is octal."""

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
    """Copies of each block; the NameNode makes or drops them later."""

    path: str
    replication: int


@dataclass(frozen=True)
class Delete:
    """A directory with entries only if `recursive`."""

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
    """What makes a path as it is wanted; nothing if it is. Raises WebHdfsError where that would cost data.

    Two files of one path and one length are taken for the same: whoever uploads puts a digest into the name.
    """
    path = wanted.path
    if wanted.state == "absent":
        if path == "/":
            raise WebHdfsError("The root of HDFS cannot be made absent.")
        return [Delete(path, wanted.recursive)] if there else []
    kind: Kind = "DIRECTORY" if wanted.state == "directory" else "FILE"
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


# --- the client -------------------------------------------------------------------------------------------------------


@dataclass
class WebHdfs:
    """A client of one HDFS. `urls` are its NameNodes' (`http://namenode:9870`), tried in turn.

    Whatever can pass is waited for, up to `timeout` seconds a call: a NameNode that is down, starting, standby or in
    safe mode, and HDFS without a DataNode. Raises WebHdfsError. Not for several threads.
    """

    urls: Sequence[str]
    user: str
    timeout: float = 60.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _connections: dict[str, http.client.HTTPConnection] = field(default_factory=dict, init=False)
    _active: str = field(default="", init=False)

    def status(self, path: str) -> Status | None:
        """GETFILESTATUS; None if nothing is there."""
        try:
            found = self._call("GET", path, "GETFILESTATUS")["FileStatus"]
        except _Refused as error:
            if error.exception == "FileNotFoundException":
                return None
            raise self._sentence(path, error) from None
        return Status(
            kind=found["type"],
            owner=found["owner"],
            group=found["group"],
            mode=normal_mode(found["permission"]),
            length=found["length"],
            replication=found["replication"],
        )

    def acl(self, path: str) -> frozenset[str]:
        """GETACLSTATUS: the extended entries of a path's ACL."""
        try:
            return frozenset(self._call("GET", path, "GETACLSTATUS")["AclStatus"]["entries"])
        except _Refused as error:
            raise self._sentence(path, error) from None

    def directories(self, path: str) -> list[str]:
        """Paths of the directories in a directory; none if it is gone."""
        found: list[str] = []
        last: str | None = None
        while True:
            try:
                listing = self._call("GET", path, "LISTSTATUS_BATCH", startAfter=last)["DirectoryListing"]
            except _Refused as error:
                if error.exception == "FileNotFoundException":
                    return found
                raise self._sentence(path, error) from None
            entries = listing["partialListing"]["FileStatuses"]["FileStatus"]
            found += [posixpath.join(path, one["pathSuffix"]) for one in entries if one["type"] == "DIRECTORY"]
            if not listing["remainingEntries"]:
                return found
            last = entries[-1]["pathSuffix"]

    def apply(self, operation: Operation) -> None:
        """Do one thing."""
        path = operation.wanted.path if isinstance(operation, Upload) else operation.path
        try:
            match operation:
                case MakeDirectory(mode=mode):
                    _expect_true(self._call("PUT", path, "MKDIRS", permission=mode))
                case SetOwner(owner=owner, group=group):
                    self._call("PUT", path, "SETOWNER", owner=owner, group=group)
                case SetMode(mode=mode):
                    self._call("PUT", path, "SETPERMISSION", permission=mode)
                case SetAcl(entries=entries, tree=tree):
                    self._set_acl(path, ",".join(sorted(entries)), tree=tree)
                case SetReplication(replication=replication):
                    _expect_true(self._call("PUT", path, "SETREPLICATION", replication=replication))
                case Delete(recursive=recursive):
                    self._call("DELETE", path, "DELETE", recursive=str(recursive).lower())
                case Upload(wanted=wanted):
                    self._upload(wanted)
        except _Refused as error:
            raise self._sentence(path, error) from None

    def round_trip(self, directory: str, content: bytes | None = None) -> float:
        """Write a small file in a directory that is there, read it back, delete it; returns the seconds that took."""
        content = content or secrets.token_bytes(1024)
        path = posixpath.join(directory, f".hopshive-check-{socket.gethostname()}-{secrets.token_hex(4)}")
        there = self.status(directory)
        if not there or there.kind != "DIRECTORY":
            raise WebHdfsError(
                f"{directory} is no directory on HDFS, so nothing can be written there to see whether HDFS works."
            )
        begin = self.clock()
        try:
            self._patiently(lambda: self._write(path, lambda: content, len(content), {"overwrite": "true"}))
            back = self._patiently(lambda: self._read(path))
        except (_Refused, WebHdfsError) as error:
            with suppress(_Refused, _NotNow):
                self._once("DELETE", path, "DELETE")
            raise (self._sentence(path, error) if isinstance(error, _Refused) else error) from None
        self.apply(Delete(path, recursive=False))
        if back != content:
            raise WebHdfsError(
                f"HDFS gave back {len(back)} bytes of {path} that are not the {len(content)} bytes written to it."
            )
        return self.clock() - begin

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # --- ACLs

    def _set_acl(self, path: str, entries: str, *, tree: bool) -> None:
        """Directories that are made meanwhile inherit from the top, which is done first."""
        self._call("PUT", path, "MODIFYACLENTRIES", aclspec=entries)
        unread = self.directories(path) if tree else []
        while unread:
            below = unread.pop()
            try:
                self._call("PUT", below, "MODIFYACLENTRIES", aclspec=entries)
            except _Refused as error:
                # It went after it was listed.
                if error.exception == "FileNotFoundException":
                    continue
                raise self._sentence(below, error) from None
            unread += self.directories(below)

    # --- uploads

    def _upload(self, wanted: Wanted) -> None:
        """To a name beside that no other host uses, then renamed over the path: readers see all of it or nothing."""
        source = Path(wanted.src or "")
        parent, name = posixpath.split(wanted.path)
        partial = posixpath.join(parent, f".{name}.{socket.gethostname()}.partial")
        options = {"overwrite": "true", "permission": wanted.mode, "replication": wanted.replication}
        try:
            with source.open("rb") as stream:

                def body() -> IO[bytes]:
                    stream.seek(0)
                    return stream

                self._patiently(lambda: self._write(partial, body, wanted.length, options))
        except OSError as error:
            raise WebHdfsError(f"The file {source} cannot be read on this host: {error.strerror}.") from None
        for operation in decide(replace(wanted, path=partial), self.status(partial)):
            if isinstance(operation, Upload):
                raise WebHdfsError(
                    f"HDFS holds another length of {partial} than the {wanted.length} bytes of {source}. Try again."
                )
            self.apply(operation)
        self._call("PUT", partial, "RENAME", destination=wanted.path, renameoptions="OVERWRITE")

    def _write(self, path: str, body: Callable[[], Any], length: int, options: dict[str, Any]) -> None:
        where = self._once("PUT", path, "CREATE", noredirect="true", **options)["Location"]
        self._at_datanode(
            "PUT", where, body(), {"Content-Length": str(length), "Content-Type": "application/octet-stream"}
        )

    def _read(self, path: str) -> bytes:
        where = self._once("GET", path, "OPEN", noredirect="true")["Location"]
        return self._at_datanode("GET", where, None, {})

    def _at_datanode(self, method: str, url: str, body: Any, headers: dict[str, str]) -> bytes:
        connection = _connection(url)
        connection.blocksize = CHUNK
        parts = urllib.parse.urlsplit(url)
        try:
            # The NameNode escapes only a part of what must be.
            target = urllib.parse.quote(f"{parts.path}?{parts.query}", safe=string.punctuation)
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise _NotNow(f"the DataNode {parts.netloc}, as the NameNode names it, fails: {_reason(error)}") from None
        finally:
            connection.close()
        _raise_refusal(response.status, data)
        return data

    # --- calls of the NameNode

    def _call(self, method: str, path: str, operation: str, **options: Any) -> Any:
        return self._patiently(lambda: self._once(method, path, operation, **options))

    def _patiently(self, work: Callable[[], Any]) -> Any:
        begin = self.clock()
        while True:
            try:
                return work()
            except _NotNow as error:
                if self.clock() - begin + POLL >= self.timeout:
                    raise WebHdfsError(
                        f"HDFS at {', '.join(self.urls)} could not be used within {self.timeout:.0f} s: {error}."
                    ) from None
            self.sleep(POLL)

    def _once(self, method: str, path: str, operation: str, **options: Any) -> Any:
        """Ask each NameNode, the one that answered last first; the JSON of the first that can."""
        given = {name: value for name, value in options.items() if value is not None}
        query = urllib.parse.urlencode({"op": operation, "user.name": self.user} | given)
        target = f"{urllib.parse.quote(PREFIX + path)}?{query}"
        errors = []
        for url in sorted(self.urls, key=lambda one: one != self._active):
            try:
                answer = self._exchange(url, method, target)
            except _NotNow as error:
                errors.append(f"{url}: {error}")
                continue
            self._active = url
            return answer
        raise _NotNow("; ".join(errors))

    def _exchange(self, url: str, method: str, target: str) -> Any:
        kept = url in self._connections
        connection = self._connections.setdefault(url, _connection(url))
        try:
            connection.request(method, target)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            del self._connections[url]
            # The server closes a connection that was quiet for long: an upload went before.
            if kept and isinstance(error, (ConnectionError, http.client.BadStatusLine)):
                return self._exchange(url, method, target)
            raise _NotNow(_reason(error)) from None
        _raise_refusal(response.status, data)
        if not data:
            return {}
        try:
            return json.loads(data)
        except ValueError:
            raise WebHdfsError(
                f"{url} answered with something that is not WebHDFS. Is that the NameNode's HTTP address?"
            ) from None

    def _sentence(self, path: str, error: _Refused) -> WebHdfsError:
        first = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
        if error.exception == "AccessControlException":
            return WebHdfsError(f"HDFS does not let the user {self.user} do that at {path}: {first}")
        return WebHdfsError(f"HDFS refused {path}: {f'{error.exception}: ' if error.exception else ''}{first}")


def _expect_true(answer: Any) -> None:
    if answer.get("boolean") is not True:
        raise _Refused("", "the NameNode answered false, without a reason")


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WebHdfsError(f"{url!r} is no URL of a NameNode. Give it as http://namenode:9870.")
    factory = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return factory(parts.hostname, parts.port, timeout=SOCKET_TIMEOUT)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text[:1].lower()}{text[1:]}"


# What a NameNode says while HDFS comes up. RetriableException: starting, or safe mode under HA.
_PASSING = ("StandbyException", "SafeModeException", "RetriableException")
_NO_DATANODE = ("Failed to find datanode", "could only be written to 0 of")


def _raise_refusal(status: int, data: bytes) -> None:
    """Turn an answer that is no success into _NotNow or _Refused."""
    if 200 <= status < 300:
        return
    try:
        remote = json.loads(data)["RemoteException"]
        exception, message = str(remote["exception"]), str(remote["message"])
    except (ValueError, KeyError, TypeError):
        exception, message = "", f"HTTP {status}"
    if exception in _PASSING or any(text in message for text in _NO_DATANODE) or status == 503:
        raise _NotNow(message.strip().splitlines()[0].rstrip(".") if message.strip() else exception)
    raise _Refused(exception, message)


# --- a batch ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One path, parents that were made included: before and after. In check mode `after` is foreseen."""

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
        """Make one path as it is wanted; returns what changed. Raises WebHdfsError."""
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
