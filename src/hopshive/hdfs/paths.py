"""Paths of HDFS and the locations that the metastore writes for them."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

# The directory to which `-rm` without -skipTrash moves: below a home directory, or at an encryption zone's root.
TRASH = ".Trash"
# The end of the location that Spark writes for a table that only Spark can read (csv, json, jdbc ...). Spark makes the
# directory and deletes it at once, so that Hive has a location (HiveExternalCatalog.saveTableIntoHive, SPARK-15269).
PLACEHOLDER = "-__PLACEHOLDER__"
# Of a path that is followed, in UTF-8: more than hopshive's tables have no room for. HDFS takes 8000 characters, Hive a location
# of 4000.
MOST_BYTES = 8000


@dataclass(frozen=True)
class FileSystem:
    """The file system whose directories the metastore follows, by the URIs that locations may begin with.

    `uris` are like `hdfs://mycluster`, the first is fs.defaultFS; one name may be written in several ways.
    """

    uris: tuple[str, ...]

    def path_of(self, location: str | None) -> str | None:
        """The path of a location, or None if it lies elsewhere (s3a, file ...) or nowhere (Spark's placeholder), or is too long.

        `hdfs://mycluster/a//b/` and `/a/b` are the same directory. Locations are not percent-decoded: Hive writes
        them as Path.toString does, not as URI.toString.
        """
        path = self._path_of(location)
        return None if path is None or is_too_long(path) else path

    def has_no_room(self, location: str) -> bool:
        """Whether a location lies on this file system, and its path is too long to be followed."""
        path = self._path_of(location)
        return path is not None and is_too_long(path)

    def _path_of(self, location: str | None) -> str | None:
        if not location or location.endswith(PLACEHOLDER):
            return None
        if location.startswith("/"):
            return normal(location)
        for uri in self.uris:
            rest = location[len(uri) :]
            if location.startswith(uri) and rest[:1] in ("", "/"):
                return normal(rest or "/")
        return None


def is_too_long(path: str) -> bool:
    """Whether hopshive's tables have no room for a path."""
    # A letter has four bytes at most.
    return 4 * len(path) > MOST_BYTES and len(encoded(path)) > MOST_BYTES


def normal(path: str) -> str:
    """The path with one leading slash, and without double or trailing slashes and dots."""
    return posixpath.normpath("/" + path.lstrip("/"))


def encoded(text: str) -> bytes:
    """The UTF-8 bytes of a name, as HDFS keeps it."""
    return text.encode("utf-8", "surrogateescape")


def decoded(value: bytes) -> str:
    """A name of HDFS from its UTF-8 bytes; bytes that are not UTF-8 become lone surrogates."""
    return value.decode("utf-8", "surrogateescape")


def prefixes(path: str) -> Iterator[str]:
    """`/a`, `/a/b`, `/a/b/c` of `/a/b/c`."""
    at = path.find("/", 1)
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)
    if path != "/":
        yield path


def authority(uri: str) -> tuple[str, int]:
    """Host and port of a URI, port 0 if it has none. Raises ValueError."""
    parts = urlsplit(uri)
    if not parts.scheme or not parts.hostname:
        raise ValueError(f"{uri} is not a file system's URI such as hdfs://namenode:8020")
    return parts.hostname, parts.port or 0


def is_below(path: str, ancestor: str) -> bool:
    """Whether `path` is `ancestor` or lies below it."""
    return path == ancestor or ancestor == "/" or path.startswith(ancestor + "/")


def in_trash(path: str) -> bool:
    """Whether a path lies in a trash directory."""
    return TRASH in path.split("/")


def was_trashed(place: str, path: str) -> bool:
    """Whether `place` is where the trash puts what is deleted at `path`: its names, below a checkpoint.

    A name that was taken has the time in milliseconds behind it (TrashPolicyDefault.moveToTrash).
    """
    parts, names = place.split("/"), path.strip("/").split("/")
    if TRASH not in parts:
        return False
    # The checkpoint; in an encryption zone, the user before it.
    below = len(parts) - parts.index(TRASH) - 1 - len(names)
    tail = parts[-len(names) :]
    return below in (1, 2) and all(
        own == name or (own.startswith(name) and re.fullmatch(r"\d{13}", own[len(name) :]))
        for own, name in zip(tail, names, strict=True)
    )


def has_twin(path: str) -> bool:
    """Whether a path leads into a snapshot, or around the names: its inodes have another path as well, or had."""
    return "/.snapshot/" in path + "/" or (path + "/").startswith("/.reserved/")


def path_hash(path: str) -> int:
    """A signed 64-bit hash of a path, the same in every process; for indexes and for sets that stay small."""
    digest = hashlib.blake2b(encoded(path), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
