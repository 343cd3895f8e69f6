"""The directories of a project on HDFS: owner, group, ACL, quota.

An ACL is set on all that lies below, files too, when it changes. What other users own there, such as tables from before the
project, becomes the service's, in the project's group. Once that walk is done, the top keeps a digest of the ACL as an
extended attribute. A walk that was interrupted has left none, so the next run walks again.
"""

from __future__ import annotations

import posixpath
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from hopshive.hdfs.wanted import MakeDirectory, Quota, SetMode, SetOwner

if TYPE_CHECKING:
    from hopshive.hdfs.webhdfs import WebHdfs

WALKED = "user.hopshive.acl"
MODE = "770"
NO_LIMITS = Quota()
# What the permission bits say of a path with an ACL, so that the NameNode does not list it among the entries.
_OF_MODE = ("user::", "mask::", "other::")


@dataclass(frozen=True)
class Directory:
    """A wanted directory of a project.

    What lies below belongs to `owner` or to one of `owners`, and to `group`.
    """

    path: str
    owner: str
    group: str
    acl: frozenset[str]
    quota: Quota = NO_LIMITS
    owners: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """Tells one ACL from another."""
        return sha256(",".join(sorted(self.acl)).encode()).hexdigest()[:16]


def ensure(client: WebHdfs, wanted: Directory, *, dry: bool = False) -> list[str]:
    """Bring a directory to its state; what changed, or would with `dry`, as words for a difference.

    Raises:
        WebHdfsError: HDFS refused or did not answer. Another run does what is left.
    """
    status = client.status(wanted.path)
    changes = [] if status else ["directory made"]
    if not status and not dry:
        # Only the service sees it until its ACL is there.
        client.apply(MakeDirectory(wanted.path, "700"))
    if not status or (status.owner, status.group) != (wanted.owner, wanted.group):
        changes.append(f"owner {wanted.owner}:{wanted.group}")
        if not dry:
            client.apply(SetOwner(wanted.path, wanted.owner, wanted.group))
    if not status or not _has_acl(client, wanted):
        changes.append("ACL " + ",".join(sorted(entry for entry in wanted.acl if not entry.startswith("default:"))))
        if not dry:
            _walk(client, wanted)
    elif status.mode != MODE:
        changes.append(f"mode {MODE}")
        if not dry:
            client.apply(SetMode(wanted.path, MODE))
    if (client.quota(wanted.path) if status else NO_LIMITS) != wanted.quota:
        changes.append(f"quota of {wanted.quota.names or 'any'} names, {wanted.quota.space or 'any'} bytes")
        if not dry:
            client.set_quota(wanted.path, wanted.quota)
    return changes


def discard(client: WebHdfs, path: str) -> str:
    """Move a path to the trash of the client's user, as `hdfs dfs -rm -r` does; returns where it lies then."""
    kept = f"/user/{client.user}/.Trash/Current{path}"
    if client.status(kept):
        kept += str(time.time_ns() // 1_000_000)
    client.apply(MakeDirectory(posixpath.dirname(kept), "700"))
    client.rename(path, kept)
    return kept


def _has_acl(client: WebHdfs, wanted: Directory) -> bool:
    listed = {entry for entry in wanted.acl if not entry.startswith(_OF_MODE)}
    return client.attribute(wanted.path, WALKED) == wanted.digest and client.acl(wanted.path) == listed


def _walk(client: WebHdfs, wanted: Directory) -> None:
    """Set the ACL on the top first, so that what is made meanwhile inherits it, then on all below."""
    of_files = {entry[:-1] + "-" for entry in wanted.acl if _is_own(entry)}
    client.replace_acl(wanted.path, wanted.acl)
    unread = [wanted.path]
    while unread:
        for entry in client.entries(unread.pop()):
            there = client.replace_acl(entry.path, wanted.acl if entry.is_directory else of_files)
            owner = entry.owner if entry.owner in wanted.owners else wanted.owner
            if there and (owner, wanted.group) != (entry.owner, entry.group):
                there = client.give(entry.path, owner, wanted.group)
            if entry.is_directory and there:
                unread.append(entry.path)
    client.set_attribute(wanted.path, WALKED, wanted.digest)


def _is_own(entry: str) -> bool:
    return not entry.startswith("default:")
