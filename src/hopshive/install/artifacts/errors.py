"""Failures that an operator can act on: each message is a whole sentence."""

from __future__ import annotations

from pathlib import Path


class ArtifactError(Exception):
    """Something that is to be installed could not be described, fetched, verified or packed."""


class ChecksumError(ArtifactError):
    """A file is not the one that the lock names."""

    def __init__(self, name: str, expected: str, actual: str) -> None:
        self.name = name
        self.expected = expected
        self.actual = actual
        super().__init__(f"Wrong checksum of {name}: expected sha256 {expected}, actual {actual}. Nothing was kept.")


class MissingFileError(ArtifactError):
    """A file that an input names does not exist."""

    def __init__(self, path: Path, purpose: str) -> None:
        super().__init__(f"{path} does not exist: {purpose}.")
