"""Lock files: `<sha256>  <path in the repository>` on each line, as sha256sum writes it, sorted by path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hopshive.install.artifacts.errors import ArtifactError, MissingFileError

_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>\S+)")
_BLOCK = 1 << 20


@dataclass(frozen=True, order=True)
class LockedFile:
    """One file of a repository, by its path there and the sha256 of its content."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


def parse_lock(text: str, origin: str) -> tuple[LockedFile, ...]:
    """The files of a lock; raises ArtifactError with the line that is malformed, unsafe, repeated or out of order."""
    files: list[LockedFile] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ArtifactError(f"{origin}, line {number} is not '<sha256>  <path>': {line!r}.")
        path = PurePosixPath(match["path"])
        if path.is_absolute() or ".." in path.parts:
            raise ArtifactError(f"{origin}, line {number}: {path} leaves the repository.")
        files.append(LockedFile(match["path"], match["sha256"]))
        if len(files) > 1 and files[-2].path >= files[-1].path:
            raise ArtifactError(f"{origin}, line {number}: {path} is repeated or not in the order of the paths.")
    return tuple(files)


def read_lock(path: Path) -> tuple[LockedFile, ...]:
    """The files that the lock at `path` names."""
    try:
        return parse_lock(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise MissingFileError(path, "`hopshive artifacts update` writes it") from None


def format_lock(files: Iterable[LockedFile]) -> str:
    """The text of a lock file; the inverse of parse_lock."""
    return "".join(f"{file.sha256}  {file.path}\n" for file in sorted(files))


def sha256_of(path: Path) -> str:
    """The sha256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
