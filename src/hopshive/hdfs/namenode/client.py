"""A client of HDFS's NameNodes for a mirror of directories: inodes, listings, events; no JVM.

Only simple authentication: the NameNode believes the name that it is told. Field numbers and the behaviour of each call are those
of Hadoop 3.3.6 (ClientNamenodeProtocol.proto, NamenodeProtocol.proto, hdfs.proto, NameNodeRpcServer).
"""

from __future__ import annotations

import itertools
import posixpath
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hopshive.hdfs.namenode import events as inotify
from hopshive.hdfs.namenode.errors import AnotherFileSystem, MissingEdits, NameNodeError, NameNodeUnavailable
from hopshive.hdfs.namenode.events import EventBatches
from hopshive.hdfs.namenode.rpc import (
    CLIENT_PROTOCOL,
    NAMENODE_PROTOCOL,
    Answer,
    Call,
    Connection,
    ConnectionLostError,
    NotHadoopError,
    RemoteError,
)
from hopshive.hdfs.namenode.wire import Message, encode

# The inode of "/" on every HDFS (INodeId.ROOT_INODE_ID).
ROOT_ID = 16385

IS_DIRECTORY = 1
SAFEMODE_GET = 3
LARGEST_TXID = (1 << 63) - 1
# Exceptions of a NameNode that cannot answer now; another NameNode may, or the same one later.
PASSING = frozenset(
    {
        "StandbyException",
        "ObserverRetryOnActiveException",
        "RetriableException",
        "SafeModeException",
        "ServerTooBusyException",
    }
)
# A file where a directory would have to be, or a name that HDFS forbids: nothing can be there.
ABSENT = frozenset({"FileNotFoundException", "ParentNotDirectoryException", "InvalidPathException"})
FORBIDDEN = frozenset({"AccessControlException", "AuthorizationException"})
FOREIGN = frozenset({"RpcNoSuchProtocolException", "RpcNoSuchMethodException", "UnknownProtocolException"})


@dataclass(frozen=True)
class Identity:
    """The identity of a file system. Formatting a NameNode makes a new one; all NameNodes of an HA pair have the same."""

    cluster_id: str
    namespace_id: int
    block_pool_id: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An inode. `name` is the last component of its path; `modified` is in milliseconds since 1970, by the NameNode's clock."""

    name: str
    file_id: int
    is_dir: bool
    modified: int


# The inodes from below the root down to a path, the root excluded.
Chain = list[Entry]


class NameNode:
    """A client of the active one of the NameNodes at `addresses`, which are in the order of preference. Not thread-safe.

    Every call asks the NameNode that answered last, then the others, each for at most `timeout` seconds. A caller that
    wants to wait longer calls again. After a call of `identity`, a NameNode of another file system is refused.

    All methods raise NameNodeUnavailable if no NameNode can answer now. They raise NameNodeError if a NameNode refuses, or
    if a server is not a NameNode. Paths are absolute and normal, as `paths.normal` makes them. Names that are not UTF-8
    hold lone surrogates (surrogateescape).
    """

    def __init__(self, addresses: Sequence[tuple[str, int]], user: str = "hdfs", timeout: float = 10.0) -> None:
        if not addresses:
            raise ValueError("no address of a NameNode")
        self._addresses = list(addresses)
        self._user = user
        self._timeout = timeout
        self._client_id = uuid.uuid4()
        self._numbers = itertools.count()
        self._connection: Connection | None = None
        self._identity: Identity | None = None

    def __enter__(self) -> NameNode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; the next call makes a new one."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def identity(self) -> Identity:
        """The identity of the file system. From then on each new connection is checked against it: AnotherFileSystem."""
        found = _identity(self._one(self._call("versionRequest", protocol=NAMENODE_PROTOCOL)))
        self._identity = found
        return found

    def safe_mode(self) -> bool:
        """Whether the active NameNode is in safe mode."""
        # "checked": a standby refuses instead of answering for itself.
        return bool(self._one(self._call("setSafeMode", {1: SAFEMODE_GET, 2: 1})).number(1))

    def current_txid(self) -> int:
        """The last durable transaction: changes before the call are in the namespace, later ones come as events.

        getCurrentEditLogTxid would count transactions that are not written yet: after a crash, other edits get those
        numbers. Here it only shows whether the edit log is open: a NameNode that is becoming active has no number yet.
        """
        if self._one(self._call("getCurrentEditLogTxid")).number(1) < 0:
            raise self._unavailable("is becoming active")
        return self._edits(LARGEST_TXID).sync_txid

    def events(self, after_txid: int) -> EventBatches:
        """The events after a transaction that fit into one answer; ask again from its `last_txid`.

        Raises MissingEdits if the edits do not begin with the next transaction, as DFSInotifyEventInputStream does. Raises
        it too if they end before `after_txid`: then the file system was put back to an earlier state.

        A call costs next to nothing if there are no new edits. Otherwise the NameNode reads its current segment of edits
        from the beginning, up to 4 us a transaction, so a caller that asks without a pause keeps it busy.
        """
        found = self._edits(after_txid + 1)
        if found.last_txid >= 0:
            if found.first_txid != after_txid + 1:
                raise MissingEdits(
                    f"The NameNode {self._address} no longer has the edits after {after_txid}: they begin at {found.first_txid}."
                )
            return found
        if 0 < found.sync_txid < after_txid:
            # A NameNode that is becoming active may still report a number from the last time that it was active.
            written = self._one(self._call("getCurrentEditLogTxid")).number(1)
            if written < 0:
                raise self._unavailable("is becoming active")
            if written < after_txid:
                raise MissingEdits(
                    f"The edits of the NameNode {self._address} end at {written}, before {after_txid}: "
                    "its file system was put back to an earlier state."
                )
        return replace(found, first_txid=after_txid + 1, last_txid=after_txid)

    def entry(self, path: str) -> Entry | None:
        """The inode at a path; None if there is none."""
        return self.entries([path])[0]

    def entries(self, paths: Sequence[str]) -> list[Entry | None]:
        """The inode at each path, None where there is none. The calls go out together, but are answered one by one."""
        calls = [self._call("getFileInfo", {1: _checked(path)}) for path in paths]
        return [_entry(path, answer) for path, answer in zip(paths, self._answers(calls, ABSENT), strict=True)]

    def sure_entries(self, paths: Sequence[str]) -> list[Entry | None]:
        """As `entries`; with several NameNodes, an absence counts only if the NameNode that reported it can still write.

        A NameNode that hung, or was cut off from the others, answers for a moment as if it were still active. Its namespace
        lacks what was made meanwhile. It can no longer write: the JournalNodes refuse it. So after an absence, the same
        NameNode has to set the root's modification time to the value that it already has. Raises NameNodeUnavailable if it
        cannot.
        """
        found = self.entries(paths)
        if len(self._addresses) > 1 and None in found:
            asked = self._addresses[0]
            (root,) = self._answers([self._call("getFileInfo", {1: "/"})])
            if isinstance(root, RemoteError):
                raise self._refusal(root, "getFileInfo")
            unchanged = (1 << 64) - 1
            self._one(self._call("setTimes", {1: "/", 2: _status("", root.message(1)).modified, 3: unchanged}))
            if self._addresses[0] != asked:
                raise self._unavailable(f"took over from {shown(asked)} in the middle of a question")
        return found

    def path_of(self, file_id: int) -> str | None:
        """Where an inode lies now, whatever its name was before; None if it is not there, or moves all the time.

        The NameNode tells the parent of an inode, and a listing of that tells the name.
        """
        names: list[str] = []
        at = file_id
        while at != ROOT_ID:
            call = self._call("getFileInfo", {1: f"/.reserved/.inodes/{at}/.."})
            (answer,) = self._answers([call], ABSENT)
            if isinstance(answer, RemoteError) or 1 not in answer:
                return None
            parent = _status("", answer.message(1)).file_id
            place = f"/.reserved/.inodes/{parent}"
            try:
                name = next((entry.name for entry in self.listing(place) if entry.file_id == at), None)
            except FileNotFoundError:
                return None
            if name is None:
                return None
            names.append(name)
            at = parent
        return "/" + "/".join(reversed(names))

    def chain(self, path: str) -> Chain | None:
        """The inodes from below the root to a path, empty for the root; None if the path is not there.

        One round trip. If something is renamed meanwhile, the inodes may never have been one path: an event reports it.
        """
        names = [name for name in path.split("/") if name]
        found = self.entries(["/" + "/".join(names[: depth + 1]) for depth in range(len(names))])
        chain = [entry for entry in found if entry]
        return chain if len(chain) == len(names) else None

    def listing(self, path: str, start_after: str = "") -> Iterator[Entry]:
        """What is in a directory, in the order of the names' bytes, page by page (dfs.ls.limit); of a file, itself with no name.

        Raises FileNotFoundError if the directory is not there, or is gone before its last page.
        """
        while True:
            call = self._call("getListing", {1: _checked(path), 2: start_after, 3: 0})
            (answer,) = self._answers([call], ABSENT)
            if isinstance(answer, RemoteError) or 1 not in answer:
                raise FileNotFoundError(f"{path} is not on HDFS")
            page = answer.message(1)
            for status in page.messages(1):
                start_after = status.text(2)
                yield _status(start_after, status)
            if not page.number(2):
                return

    def is_open(self, path: str) -> bool:
        """Whether a client is writing a file, or holds its lease; False if it is not there."""
        (answer,) = self._answers([self._call("isFileClosed", {1: _checked(path)})], ABSENT)
        return not isinstance(answer, RemoteError) and not answer.number(1)

    def delete(self, path: str, recursive: bool = True) -> bool:
        """Delete a path, past the trash; False if it is not there. A call that is repeated for lack of an answer deletes once."""
        return bool(self._one(self._call("delete", {1: _checked(path), 2: int(recursive)})).number(1))

    def trash_interval(self) -> int:
        """Minutes for which deleted files lie in the trash, by the NameNode's fs.trash.interval; 0: there is none."""
        return self._one(self._call("getServerDefaults")).message(1).number(7)

    def make_directory(self, path: str) -> None:
        """Make a directory, and those above it that are not there; one that is there is left as it is."""
        permission = encode({1: 0o755})
        self._one(self._call("mkdirs", {1: _checked(path), 2: permission, 3: 1}))

    def move(self, path: str, target: str) -> None:
        """Move a path; refused (NameNodeError) if the target is there, or its parent is not."""
        self._one(self._call("rename2", {1: _checked(path), 2: _checked(target), 3: 0}))

    def roll_edits(self) -> int:
        """Begin a segment of edits; its first transaction."""
        return self._one(self._call("rollEdits")).number(1)

    # --- calls --------------------------------------------------------------------------------------------------------

    @property
    def _address(self) -> str:
        return shown(self._addresses[0])

    def _unavailable(self, why: str) -> NameNodeUnavailable:
        return NameNodeUnavailable(f"The NameNode {self._address} {why}.")

    def _call(
        self, method: str, request: dict[int, int | bytes | str] | None = None, protocol: str = CLIENT_PROTOCOL
    ) -> Call:
        return Call(next(self._numbers) & 0x7FFF_FFFF, method, encode(request or {}), protocol)

    def _edits(self, txid: int) -> EventBatches:
        (answer,) = self._answers([self._call("getEditsFromTxid", {1: txid})], frozenset({"IOException"}))
        if isinstance(answer, RemoteError):
            # DFSInotifyEventInputStream.poll: JournalNodes that do not answer in time, try again.
            raise self._unavailable(f"cannot read its edits: {answer}")
        return inotify.decode(answer.raw(1))

    def _one(self, call: Call) -> Message:
        (answer,) = self._answers([call])
        if isinstance(answer, RemoteError):
            raise self._refusal(answer, call.method)
        return answer

    def _answers(self, calls: Sequence[Call], expected: frozenset[str] = frozenset()) -> list[Answer]:
        """Answers of the first NameNode that gives any; of the exceptions, only those that are expected."""
        if not calls:
            return []
        reasons = []
        for retries in range(len(self._addresses)):
            try:
                return self._ask([replace(call, retries=retries) for call in calls] if retries else calls, expected)
            except NameNodeUnavailable as error:
                reasons.append(str(error))
            # The one that answers comes to the front, and is asked first the next time.
            self._addresses.append(self._addresses.pop(0))
        raise NameNodeUnavailable(" ".join(reasons))

    def _ask(self, calls: Sequence[Call], expected: frozenset[str]) -> list[Answer]:
        """Answers of the NameNode at the front."""
        try:
            try:
                reused = self._connection is not None
                answers = self._connected().answers(calls)
            except ConnectionLostError as error:
                # A server ends connections that were idle, and all when it restarts: only a new one tells whether it is there.
                if not (reused and error.stale):
                    raise
                self.close()
                answers = self._connected().answers([replace(call, retries=1) for call in calls])
        except ConnectionLostError as error:
            self.close()
            raise self._unavailable(str(error)) from None
        except NotHadoopError as error:
            self.close()
            raise NameNodeError(f"What answers at {self._address} {error}: it is not a NameNode's RPC port.") from None
        except RemoteError as error:
            self.close()
            raise self._refusal(error, "the connection") from None
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, RemoteError) and answer.name not in expected:
                if answer.name in PASSING:
                    self.close()
                raise self._refusal(answer, call.method)
        return answers

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = Connection(self._addresses[0], self._user, self._client_id, self._timeout)
            if self._identity:
                (answer,) = connection.answers([self._call("versionRequest", protocol=NAMENODE_PROTOCOL)])
                if isinstance(answer, RemoteError):
                    connection.close()
                    raise answer
                found = _identity(answer)
                if found != self._identity:
                    connection.close()
                    raise AnotherFileSystem(
                        f"The NameNode {self._address} has another file system ({found.cluster_id}, {found.block_pool_id}) "
                        f"than before ({self._identity.cluster_id}, {self._identity.block_pool_id})."
                    )
            self._connection = connection
        return self._connection

    def _refusal(self, error: RemoteError, what: str) -> NameNodeError:
        if error.name in PASSING:
            return self._unavailable(f"does not answer {what} now: {error}")
        if error.name in FOREIGN:
            return NameNodeError(
                f"What answers at {self._address} is a server of Hadoop, but not a NameNode's RPC port: {error}."
            )
        if error.name in FORBIDDEN and "SIMPLE authentication is not enabled" in str(error):
            return NameNodeError(
                f"The NameNode {self._address} asks for Kerberos (hadoop.security.authentication), which hopshive does not speak."
            )
        if error.name in FORBIDDEN:
            return NameNodeError(
                f"The NameNode {self._address} does not let the user {self._user} do {what}: {error}. "
                "Following directories takes the superuser: the user that the NameNode runs as, or one in the group that "
                "dfs.permissions.superusergroup names."
            )
        return NameNodeError(f"The NameNode {self._address} refused {what}: {error.name}: {error}")


def shown(address: tuple[str, int]) -> str:
    """host:port, as in a URL."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _checked(path: str) -> str:
    """HDFS takes `/a//b` for a name that cannot be, and so would call a directory absent that is there."""
    if not path.startswith("/") or path.startswith("//") or posixpath.normpath(path) != path:
        raise ValueError(f"{path!r} is not an absolute, normal path")
    return path


def _identity(answer: Message) -> Identity:
    info = answer.message(1)
    storage = info.message(4)
    return Identity(storage.text(3), storage.number(2), info.text(3))


def _entry(path: str, answer: Answer) -> Entry | None:
    if isinstance(answer, RemoteError) or 1 not in answer:
        return None
    return _status(posixpath.basename(path), answer.message(1))


def _status(name: str, status: Message) -> Entry:
    """HdfsFileStatusProto. A symbolic link is no directory."""
    return Entry(name, status.number(13), status.number(1) == IS_DIRECTORY, status.number(7))
