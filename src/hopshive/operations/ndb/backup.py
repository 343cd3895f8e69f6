"""Backups: one is started by the management node, and each data node has its part in a directory of its own.

    <directory>/BACKUP/BACKUP-<id>/BACKUP-<id>.<node>.ctl, BACKUP-<id>.<node>.log, BACKUP-<id>-0.<node>.Data

With several threads for rows, the same files lie in its subdirectories BACKUP-<id>-PART-<n>-OF-<m>/. A part that was
found whole is sealed: `hopshive.json` beside the files lists them with their sizes, so that a file that was cut or lost
later is noticed before a restore. A backup's number is its start in seconds since 1970: in order, and never used twice.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.operations.ndb.tools import NdbError, last_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.operations.ndb.tools import Tools

SEAL = "hopshive.json"
_NAME = re.compile(r"BACKUP-(\d+)")
_PART = re.compile(r"BACKUP-\d+-PART-(\d+)-OF-(\d+)")
_RECORDS = re.compile(r"#Records: (\d+)")
_BYTES = re.compile(r"Data: (\d+) bytes Log: (\d+) bytes")


@dataclass(frozen=True)
class Backup:
    """A completed backup. `bytes`: rows and the log of changes during the backup, of all nodes."""

    id: int
    records: int
    bytes: int


@dataclass(frozen=True)
class Part:
    """What one data node has of a backup. `nodes`: all that took part; `files`: name below `path` to size in bytes."""

    id: int
    node: int
    nodes: list[int]
    path: str
    files: dict[str, int]

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(self.files.values())


def start(tools: Tools, number: int | None = None, seconds: float | None = None) -> Backup:
    """Take a backup and wait until it is completed. Raises NdbError."""
    number = int(time.time()) if number is None else number
    output = tools.run("ndb_mgm", "--connect-retries=1", "-e", f"START BACKUP {number} WAIT COMPLETED", seconds=seconds)
    return parse(output, number)


def parse(output: str, number: int) -> Backup:
    """The backup that ndb_mgm's output describes. Raises NdbError if it was not completed."""
    records, sizes = _RECORDS.search(output), _BYTES.search(output)
    if f"Backup {number} started" not in output or "completed" not in output or not records or not sizes:
        raise NdbError(f"The backup {number} was not completed: {last_lines(output)}")
    return Backup(number, int(records[1]), int(sizes[1]) + int(sizes[2]))


def place(directory: Path, number: int) -> Path:
    """The directory with a node's part of a backup."""
    return directory / "BACKUP" / f"BACKUP-{number}"


def seal(directory: Path, number: int, node: int, nodes: Sequence[int]) -> Part:
    """Note what belongs to a node's part of a backup that was just completed. Raises NdbError if something is missing."""
    path = place(directory, number)
    part = Part(number, node, sorted(nodes), str(path), _files(path, number, node))
    (path / SEAL).write_text(json.dumps(asdict(part), indent=2) + "\n")
    return part


def check(directory: Path, number: int, node: int, nodes: Sequence[int]) -> Part:
    """A node's part of a backup. Raises NdbError if it is not whole, or the cluster has other data nodes than at the backup."""
    path = place(directory, number)
    files = _files(path, number, node)
    try:
        content = json.loads((path / SEAL).read_text())
        sealed = Part(content["id"], content["node"], content["nodes"], str(path), content["files"])
    except FileNotFoundError:
        # The backup was taken by hand.
        return Part(number, node, sorted(nodes), str(path), files)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NdbError(
            f"{path / SEAL} cannot be read: {error!r}. Remove it if all files beside it are whole."
        ) from None
    for name, size in sealed.files.items():
        if files.get(name) != size:
            found = "is missing" if name not in files else f"has {files[name]} bytes"
            raise NdbError(f"The backup {number} is not whole: {path / name} {found}, and had {size} bytes.")
    if sealed.nodes != sorted(nodes):
        raise NdbError(
            f"The backup {number} was taken by the data nodes {_listed(sealed.nodes)}; now there are {_listed(nodes)}."
            " Restore it into a cluster with the same nodes, and add nodes afterwards."
        )
    return sealed


def sealed(directory: Path) -> list[int]:
    """The numbers of the backups that were sealed here, the oldest first."""
    names = [_NAME.fullmatch(path.parent.name) for path in directory.glob(f"BACKUP/BACKUP-*/{SEAL}")]
    return sorted(int(name[1]) for name in names if name)


def prune(directory: Path, keep: int) -> list[int]:
    """Remove all sealed backups but the newest `keep`, and return their numbers. Others, taken by hand, stay."""
    if keep < 1:
        return []
    old = sealed(directory)[:-keep]
    for number in old:
        shutil.rmtree(place(directory, number))
    return old


def _files(path: Path, number: int, node: int) -> dict[str, int]:
    """The files of a part by their sizes. Raises NdbError if there are fewer than there must be."""
    if not path.is_dir():
        there = sealed(path.parent.parent)
        raise NdbError(
            f"There is no part of the backup {number} in {path}; there are: {_listed(there) if there else 'none'}."
            " Data nodes take a changed cluster_ndb_backup_dir when they are started again."
        )
    parts = {name: match for name in _names(path) if (match := _PART.fullmatch(name))}
    wanted = {int(match[2]) for match in parts.values()}
    if parts and (len(wanted) != 1 or {int(match[1]) for match in parts.values()} != set(range(1, wanted.pop() + 1))):
        raise NdbError(f"The backup {number} is not whole: of its parts {path} has {', '.join(sorted(parts))} only.")
    files: dict[str, int] = {}
    for head in sorted(parts) or [""]:
        for name in (f"BACKUP-{number}.{node}.ctl", f"BACKUP-{number}.{node}.log", f"BACKUP-{number}-0.{node}.Data"):
            file = path / head / name
            if not file.is_file() or not file.stat().st_size:
                raise NdbError(f"The backup {number} is not whole: {file} is missing or empty.")
            files[str(file.relative_to(path))] = file.stat().st_size
    return files


def _names(path: Path) -> list[str]:
    return [entry.name for entry in path.iterdir() if entry.is_dir()]


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
