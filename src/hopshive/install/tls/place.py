"""The directory on the controller with the authority and the hosts' files: private, and written by one process at a time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = ".lock"


def private_directory(path: Path) -> None:
    """Make a directory, with its parents, that its user alone can enter. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & 0o777 != 0o700:
        path.chmod(0o700)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other runs out of a directory. Raises OSError."""
    with (directory / LOCK).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def content_of(path: Path) -> bytes:
    """What a file holds; empty if it is not there. Raises OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def write(path: Path, content: bytes) -> None:
    """Replace a file by one that only its user can read, so that no reader sees half of it. Raises OSError."""
    descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
