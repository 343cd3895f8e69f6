"""HDFS through the NameNode's REST interface (WebHDFS): no JVM, a call costs milliseconds.

`hdfs.wanted` decides what to do, a client does it. Simple authentication: the NameNode believes the name of the user.
"""

from __future__ import annotations

import http.client
import json
import posixpath
import secrets
import socket
import string
import time
import urllib.parse
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hopshive.hdfs.wanted import (
    Delete,
    Entry,
    MakeDirectory,
    Operation,
    Quota,
    SetAcl,
    SetMode,
    SetOwner,
    SetReplication,
    Status,
    Upload,
    Wanted,
    WebHdfsError,
    decide,
    normal_mode,
)
from hopshive.hdfs.web import NotNow, Refused, Untrusted, connected, failure, raise_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


PREFIX = "/webhdfs/v1"
# Seconds between two questions to a NameNode that cannot answer yet.
POLL_SECONDS = 0.5
CHUNK = 1024 * 1024


# Takes a quota away.
NO_QUOTA = -1


@dataclass
class WebHdfs:
    """A client of one HDFS. `urls` are its NameNodes' (`http://namenode:9870`), tried in turn.

    With `https://`, NameNodes and DataNodes are verified by the file of certificates `authority`, or by the system's.
    Whatever can pass is waited for, up to `timeout` seconds a call: a NameNode that is down, starting, standby or in
    safe mode, and HDFS without a DataNode. Raises WebHdfsError. Not for several threads.
    """

    urls: Sequence[str]
    user: str
    timeout: float = 60.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    authority: str = ""
    _connections: dict[str, http.client.HTTPConnection] = field(default_factory=dict, init=False)
    _active: str = field(default="", init=False)

    def status(self, path: str) -> Status | None:
        """The status of a path (GETFILESTATUS); None if nothing is there."""
        try:
            found = self._call("GET", path, "GETFILESTATUS")["FileStatus"]
        except Refused as error:
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
        except Refused as error:
            raise self._sentence(path, error) from None

    def directories(self, path: str) -> list[str]:
        """Paths of the directories in a directory; none if it is gone."""
        return [below.path for below in self.entries(path) if below.is_directory]

    def entries(self, path: str) -> list[Entry]:
        """The entries of a directory; none if the directory is gone."""
        found: list[Entry] = []
        last: str | None = None
        while True:
            try:
                listing = self._call("GET", path, "LISTSTATUS_BATCH", startAfter=last)["DirectoryListing"]
            except Refused as error:
                if error.exception == "FileNotFoundException":
                    return found
                raise self._sentence(path, error) from None
            entries = listing["partialListing"]["FileStatuses"]["FileStatus"]
            found += [
                Entry(posixpath.join(path, one["pathSuffix"]), one["type"] == "DIRECTORY", one["owner"], one["group"])
                for one in entries
            ]
            if not listing["remainingEntries"]:
                return found
            last = entries[-1]["pathSuffix"]

    def quota(self, path: str) -> Quota:
        """GETQUOTAUSAGE: the quota of a directory."""
        usage = self._told("GET", path, "GETQUOTAUSAGE")["QuotaUsage"]
        return Quota(max(0, usage["quota"]), max(0, usage["spaceQuota"]))

    def set_quota(self, path: str, quota: Quota) -> None:
        """SETQUOTA: replace the quota of a directory."""
        names, space = (value or NO_QUOTA for value in (quota.names, quota.space))
        self._told("PUT", path, "SETQUOTA", namespacequota=names, storagespacequota=space)

    def attribute(self, path: str, name: str) -> str:
        """GETXATTRS: an extended attribute such as `user.origin`, "" if the path does not have it."""
        found = self._told("GET", path, "GETXATTRS", encoding="text")["XAttrs"]
        return next((json.loads(one["value"]) for one in found if one["name"] == name), "")

    def set_attribute(self, path: str, name: str, value: str) -> None:
        """SETXATTR: make or replace an extended attribute."""
        flag = "REPLACE" if self.attribute(path, name) else "CREATE"
        self._told("PUT", path, "SETXATTR", **{"xattr.name": name, "xattr.value": json.dumps(value), "flag": flag})

    def replace_acl(self, path: str, entries: Collection[str]) -> bool:
        """SETACL: make these all entries of a path's ACL; False if the path is gone."""
        return self._unless_gone(path, "SETACL", aclspec=",".join(sorted(entries)))

    def give(self, path: str, owner: str, group: str) -> bool:
        """SETOWNER; False if the path is gone."""
        return self._unless_gone(path, "SETOWNER", owner=owner, group=group)

    def _unless_gone(self, path: str, operation: str, **parameters: str) -> bool:
        try:
            self._call("PUT", path, operation, **parameters)
        except Refused as error:
            if error.exception == "FileNotFoundException":
                return False
            raise self._sentence(path, error) from None
        return True

    def rename(self, path: str, destination: str) -> None:
        """RENAME; the destination must not be there."""
        if self._told("PUT", path, "RENAME", destination=destination).get("boolean") is not True:
            raise WebHdfsError(f"HDFS did not move {path} to {destination}, and gave no reason.")

    def apply(self, operation: Operation) -> None:
        """Carry out one operation."""
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
        except Refused as error:
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
        except (Refused, WebHdfsError) as error:
            with suppress(Refused, NotNow):
                self._once("DELETE", path, "DELETE")
            raise (self._sentence(path, error) if isinstance(error, Refused) else error) from None
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
        """Add ACL entries to a directory, then with `tree` to those below: directories made meanwhile inherit the entries."""
        self._call("PUT", path, "MODIFYACLENTRIES", aclspec=entries)
        unread = self.directories(path) if tree else []
        while unread:
            below = unread.pop()
            try:
                self._call("PUT", below, "MODIFYACLENTRIES", aclspec=entries)
            except Refused as error:
                # The directory was deleted after it was listed.
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
        connection = connected(url, self.authority)
        connection.blocksize = CHUNK
        parts = urllib.parse.urlsplit(url)
        try:
            # The NameNode escapes only some of the characters that a URL must have escaped.
            target = urllib.parse.quote(f"{parts.path}?{parts.query}", safe=string.punctuation)
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise failure(
                error, self.authority, f"the DataNode {parts.netloc}, as the NameNode names it, fails: "
            ) from None
        finally:
            connection.close()
        raise_refusal(response.status, data)
        return data

    # --- calls of the NameNode

    def _call(self, method: str, path: str, operation: str, **options: Any) -> Any:
        return self._patiently(lambda: self._once(method, path, operation, **options))

    def _told(self, method: str, path: str, operation: str, **options: Any) -> Any:
        """The same; a refusal becomes a sentence."""
        try:
            return self._call(method, path, operation, **options)
        except Refused as error:
            raise self._sentence(path, error) from None

    def _patiently(self, work: Callable[[], Any]) -> Any:
        begin = self.clock()
        while True:
            try:
                return work()
            except Untrusted as error:
                raise WebHdfsError(f"HDFS could not be used: {error}.") from None
            except NotNow as error:
                if self.clock() - begin + POLL_SECONDS >= self.timeout:
                    raise WebHdfsError(
                        f"HDFS at {', '.join(self.urls)} could not be used within {self.timeout:.0f} s: {error}."
                    ) from None
            self.sleep(POLL_SECONDS)

    def _once(self, method: str, path: str, operation: str, **options: Any) -> Any:
        """Ask each NameNode, the one that answered last first; the JSON of the first that can."""
        given = {name: value for name, value in options.items() if value is not None}
        query = urllib.parse.urlencode({"op": operation, "user.name": self.user} | given)
        target = f"{urllib.parse.quote(PREFIX + path)}?{query}"
        errors: list[tuple[str, NotNow]] = []
        for url in sorted(self.urls, key=lambda one: one != self._active):
            try:
                answer = self._exchange(url, method, target)
            except NotNow as error:
                errors.append((url, error))
                continue
            self._active = url
            return answer
        # Waiting betters no certificate.
        kind = Untrusted if all(isinstance(error, Untrusted) for _, error in errors) else NotNow
        raise kind("; ".join(f"{url}: {error}" for url, error in errors))

    def _exchange(self, url: str, method: str, target: str) -> Any:
        kept = url in self._connections
        connection = self._connections.setdefault(url, connected(url, self.authority))
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
            raise failure(error, self.authority) from None
        raise_refusal(response.status, data)
        if not data:
            return {}
        try:
            return json.loads(data)
        except ValueError:
            raise WebHdfsError(
                f"{url} answered with something that is not WebHDFS. Is that the NameNode's HTTP address?"
            ) from None

    def _sentence(self, path: str, error: Refused) -> WebHdfsError:
        first = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
        if error.exception == "AccessControlException":
            return WebHdfsError(f"HDFS does not let the user {self.user} do that at {path}: {first}")
        return WebHdfsError(f"HDFS refused {path}: {f'{error.exception}: ' if error.exception else ''}{first}")


def _expect_true(answer: Any) -> None:
    if answer.get("boolean") is not True:
        raise Refused("", "the NameNode answered false, without a reason")
