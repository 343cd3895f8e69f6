"""HDFS as its users treat it: through WebHDFS, some milliseconds an operation, with the trash of `hdfs dfs -rm`."""

from __future__ import annotations

import http.client
import json
import posixpath
import ssl
import time
import urllib.parse
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.warehouse.hosts import Host

SUPERUSER = "hdfs"
# The owner of what Hive writes; a directory that it did not make itself must let it in.
HIVE = "hive"


class HdfsError(Exception):
    """HDFS refused; `name` is the exception's."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


@dataclass(frozen=True)
class Item:
    """An entry of a directory. `inode` is its file id."""

    name: str
    is_dir: bool
    inode: int
    owner: str
    mode: str
    length: int


class Hdfs:
    """One file system. Deletions and moves are done as the superuser, new directories belong to Hive.

    `hosts` are those of the NameNodes; the active one is asked. With `authority`, a file of certificates, over TLS.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        port: int = 9870,
        addresses: dict[str, str] | None = None,
        authority: Path | None = None,
    ) -> None:
        self._hosts = deque(hosts)
        self._port = port
        self._addresses = addresses or {}
        self._tls = ssl.create_default_context(cafile=authority) if authority else None
        self._connection: http.client.HTTPConnection | None = None
        self._trashed: dict[str, str] = {}

    @property
    def host(self) -> Host:
        """The host of the NameNode that was asked last."""
        return self._hosts[0]

    # --- asking ---------------------------------------------------------------------------------------------------

    def status(self, path: str) -> Item | None:
        """What is at a path, or None."""
        try:
            return _item(self._call("GET", path, "GETFILESTATUS")["FileStatus"], posixpath.basename(path))
        except HdfsError as error:
            if error.name == "FileNotFoundException":
                return None
            raise

    def exists(self, path: str) -> bool:
        """Whether there is something at a path."""
        return self.status(path) is not None

    def inode(self, path: str) -> int | None:
        """The file id of what is at a path, or None."""
        found = self.status(path)
        return found.inode if found else None

    def listing(self, path: str) -> list[Item]:
        """What is in a directory, by name. Raises HdfsError if it is not there."""
        return [
            _item(one, one["pathSuffix"]) for one in self._call("GET", path, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        ]

    def directories(self, path: str) -> Iterator[str]:
        """All directories below a path, depth first; none if it is not there."""
        try:
            found = self.listing(path)
        except HdfsError as error:
            if error.name != "FileNotFoundException":
                raise
            return
        for item in found:
            if item.is_dir:
                below = posixpath.join(path, item.name)
                yield below
                yield from self.directories(below)

    # --- changing -------------------------------------------------------------------------------------------------

    def mkdir(self, path: str, user: str = HIVE, mode: str = "777") -> None:
        """Make a directory and what is above it. Above it may be closed to `user`; it is theirs all the same.

        The mode is what Hadoop's clients ask for; below a default ACL no umask takes from it.
        """
        self._call("PUT", path, "MKDIRS", permission=mode)
        self.chown(path, user)

    def chown(self, path: str, owner: str, group: str = "hadoop") -> None:
        """Give a path to another user."""
        self._call("PUT", path, "SETOWNER", owner=owner, group=group)

    def chmod(self, path: str, mode: str) -> None:
        """Set the permissions, octal."""
        self._call("PUT", path, "SETPERMISSION", permission=mode)

    def share(self, path: str, *users: str) -> None:
        """Let users write into a directory, and into all that is made below it."""
        entries = [f"{scope}user:{user}:rwx" for user in users for scope in ("", "default:")]
        self._call("PUT", path, "MODIFYACLENTRIES", aclspec=",".join(entries))

    def write(self, path: str, content: bytes, user: str = HIVE) -> None:
        """Write a file again."""
        where = self._call("PUT", path, "CREATE", noredirect="true", overwrite="true")["Location"]
        parts = urllib.parse.urlsplit(where)
        address = self._addresses.get(parts.hostname or "", parts.hostname)
        connection = self._connected(str(address), parts.port or self._port)
        try:
            connection.request("PUT", f"{parts.path}?{parts.query}", body=content)
            _read(connection.getresponse())
        finally:
            connection.close()
        self.chown(path, user)

    def delete(self, path: str, skip_trash: bool = True) -> str:
        """Delete something with all below it; with the trash, the place there is returned. Raises HdfsError."""
        if skip_trash:
            if not self._call("DELETE", path, "DELETE", recursive="true")["boolean"]:
                raise HdfsError("FileNotFoundException", f"{path} is not there")
            return ""
        return self._to_trash(path)

    def delete_files(self, path: str) -> int:
        """Delete the files of a directory, not the directories in it; how many. As a TRUNCATE by hand."""
        files = [item for item in self.listing(path) if not item.is_dir]
        for item in files:
            self.delete(posixpath.join(path, item.name))
        return len(files)

    def move(self, source: str, target: str) -> None:
        """Rename. The directory that `target` lies in must be there, `target` itself must not."""
        if not self.rename(source, target):
            raise HdfsError("RenameError", f"{source} cannot be moved to {target}")

    def rename(self, source: str, target: str) -> bool:
        """The same; False if the NameNode does not want to. Into `target` if that is a directory."""
        return bool(self._call("PUT", source, "RENAME", destination=target)["boolean"])

    def _to_trash(self, path: str) -> str:
        """As TrashPolicyDefault.moveToTrash of Hadoop 3.3 does it for the superuser."""
        current = f"/user/{SUPERUSER}/.Trash/Current"
        base = current + posixpath.dirname(path)
        self._call("PUT", base, "MKDIRS", permission="700")
        place = wanted = posixpath.join(base, posixpath.basename(path))
        while self.exists(place):
            place = f"{wanted}{int(time.time() * 1000)}"
        self.move(path, place)
        self._trashed[path] = place
        return place

    def shell_rm(self, path: str, skip_trash: bool = False) -> str:
        """Really run `hdfs dfs -rm -r` on the NameNode's host (a JVM: two seconds); what it said."""
        options = ["-skipTrash"] if skip_trash else []
        inode = self.inode(path)
        done = self.host.run("hdfs", "dfs", "-rm", "-r", *options, path, user=SUPERUSER)
        if not skip_trash:
            # It does not say where that is: where the trash has one of the name already, the name is longer.
            above, name = posixpath.split(f"/user/{SUPERUSER}/.Trash/Current{path}")
            places = [f"{above}/{item.name}" for item in self.listing(above) if item.name.startswith(name)]
            self._trashed[path] = next(place for place in places if self.inode(place) == inode)
        return done.stdout + done.stderr

    def trash_place(self, path: str) -> str:
        """Where the trash has what lay at a path: what this driver put there last, or the place that comes first."""
        return self._trashed.get(path, f"/user/{SUPERUSER}/.Trash/Current{path}")

    def restore_from_trash(self, path: str) -> None:
        """Move back what the trash has, as an operator does with `hdfs dfs -mv`."""
        self.move(self.place_now(self.trash_place(path)), path)

    def place_now(self, place: str) -> str:
        """Where something is that was put at a place: once in a while the trash gives its directory Current another name."""
        trash, current, rest = place.partition("/.Trash/Current/")
        if current and not self.exists(place):
            for item in self.listing(f"{trash}/.Trash"):
                if self.exists(moved := f"{trash}/.Trash/{item.name}/{rest}"):
                    return moved
        return place

    def checkpoints(self) -> set[str]:
        """The names that the trash has given to its directory Current, and has not emptied yet."""
        trash = f"/user/{SUPERUSER}/.Trash"
        found = {item.name for item in self.listing(trash)} if self.exists(trash) else set()
        return found - {"Current"}

    def copy_back(self, source: str, target: str) -> None:
        """`hdfs dfs -cp -p`, from a snapshot say: another inode than before (a JVM: three seconds)."""
        self.host.run("hdfs", "dfs", "-cp", "-p", source, target, user=SUPERUSER)

    # --- the NameNode's modes -------------------------------------------------------------------------------------

    def safe_mode(self, on: bool) -> None:
        """`hdfs dfsadmin -safemode enter|leave` (a JVM: two seconds)."""
        self.host.run("hdfs", "dfsadmin", "-safemode", "enter" if on else "leave", user=SUPERUSER)

    def wait(self, seconds: float = 120) -> None:
        """Until it answers and is out of safe mode. Raises HdfsError or OSError."""
        deadline = time.monotonic() + seconds
        probe = f"/tmp/hopshive-driver-{time.time_ns()}"  # noqa: S108 - a directory on HDFS
        while True:
            try:
                self._call("PUT", probe, "MKDIRS")
                self._call("DELETE", probe, "DELETE")
                return
            except (OSError, HdfsError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def touch(self) -> None:
        """An event that concerns no table."""
        probe = f"/tmp/hopshive-driver-{time.time_ns()}"  # noqa: S108 - a directory on HDFS
        self._call("PUT", probe, "MKDIRS")
        self._call("DELETE", probe, "DELETE")

    # --- the wire -------------------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, operation: str, **options: str) -> Any:
        query = urllib.parse.urlencode({"op": operation, "user.name": SUPERUSER, **options})
        target = f"/webhdfs/v1{urllib.parse.quote(path)}?{query}"
        for _ in range(len(self._hosts) - 1):
            try:
                return self._ask(method, target)
            except HdfsError as error:
                if error.name != "StandbyException":
                    raise
            except (OSError, http.client.HTTPException):
                pass
            self.close()
            self._hosts.rotate(-1)
        return self._ask(method, target)

    def _ask(self, method: str, target: str) -> Any:
        for attempt in (1, 2):
            kept = self._connection is not None
            if self._connection is None:
                self._connection = self._connected(self.host.address, self._port)
            try:
                self._connection.request(method, target)
                return _read(self._connection.getresponse())
            except (OSError, http.client.HTTPException):
                # A server ends connections that were idle; then it has not read the request.
                self._connection.close()
                self._connection = None
                if not kept or attempt == 2:
                    raise
        raise AssertionError

    def _connected(self, address: str, port: int) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(address, port, timeout=60, context=self._tls)
        return http.client.HTTPConnection(address, port, timeout=60)

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
        self._connection = None


def _read(response: http.client.HTTPResponse) -> Any:
    data = response.read()
    if 200 <= response.status < 300:
        return json.loads(data) if data else {}
    try:
        remote = json.loads(data)["RemoteException"]
    except (ValueError, KeyError, TypeError):
        raise HdfsError(f"HTTP {response.status}", data[:300].decode(errors="replace")) from None
    raise HdfsError(str(remote["exception"]), str(remote["message"]).split("\n", 1)[0])


def _item(status: dict[str, Any], name: str) -> Item:
    kind = status["type"] == "DIRECTORY"
    return Item(name, kind, status["fileId"], status["owner"], status["permission"], status["length"])
