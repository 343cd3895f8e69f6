"""A data node's part of a backup: its files, sealed, looked at and removed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.operations.ndb import backup
from hopshive.operations.ndb.tools import NdbError
from tests.support.modules import run_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# As ndb_mgm prints it.
COMPLETED = """
Connected to management server at 127.0.0.1 port 1186 (using cleartext)
Waiting for completed, this may take several minutes
Node 11: Backup 5 started from node 1
Node 11: Backup 5 started from node 1 completed
 StartGCP: 35 StopGCP: 38
 #Records: 454 #LogRecords: 3
 Data: 87284 bytes Log: 120 bytes
"""


def well(*results: dict[str, Any]) -> None:
    for result in results:
        assert not result.get("failed"), result["msg"]


def written(directory: Path, number: int, node: int, parts: Sequence[str] = ("",)) -> Path:
    """Files as a data node writes them."""
    path = backup.place(directory, number)
    for head in parts:
        (path / head).mkdir(parents=True)
        for name in (f"BACKUP-{number}.{node}.ctl", f"BACKUP-{number}.{node}.log", f"BACKUP-{number}-0.{node}.Data"):
            (path / head / name).write_bytes(b"some")
    return path


def look(directory: Path, state: str, number: int, **more: Any) -> dict[str, Any]:
    arguments = {"state": state, "backup": number, "directory": str(directory), "node": 11, "nodes": [12, 11], **more}
    return run_module("hopshive_ndb_backup", arguments)


def test_a_file_that_was_cut_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, 5, 11)
    well(look(tmp_path, "sealed", 5), look(tmp_path, "whole", 5))
    (path / "BACKUP-5-0.11.Data").write_bytes(b"so")
    assert "BACKUP-5-0.11.Data has 2 bytes, and had 4" in look(tmp_path, "whole", 5)["msg"]
    (path / "BACKUP-5-0.11.Data").unlink()
    assert "BACKUP-5-0.11.Data is missing or empty" in look(tmp_path, "whole", 5)["msg"]


def test_a_part_of_a_thread_that_is_lost_is_noticed(tmp_path: Path) -> None:
    parts = [f"BACKUP-5-PART-{number}-OF-3" for number in (1, 2, 3)]
    path = written(tmp_path, 5, 11, parts)
    sealed = look(tmp_path, "sealed", 5)
    assert len(sealed["files"]) == 10
    for file in (path / parts[1]).iterdir():
        file.unlink()
    (path / parts[1]).rmdir()
    assert "not whole: of its parts" in look(tmp_path, "whole", 5)["msg"]


def test_a_backup_of_other_nodes_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 5, 11)
    well(look(tmp_path, "sealed", 5))
    assert (
        "taken by the data nodes 11, 12; now there are 11, 12, 13, 14"
        in look(tmp_path, "whole", 5, nodes=[11, 12, 13, 14])["msg"]
    )


def test_a_backup_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    written(tmp_path, 5, 11)
    well(look(tmp_path, "sealed", 5))
    assert "no part of the backup 6 in " in look(tmp_path, "whole", 6)["msg"]
    assert "there are: 5." in look(tmp_path, "whole", 6)["msg"]


def test_the_newest_stay_and_what_was_taken_by_hand(tmp_path: Path) -> None:
    for number in (1, 2, 3, 4):
        written(tmp_path, number, 11)
        if number != 1:
            well(look(tmp_path, "sealed", number))
    written(tmp_path, 5, 11)
    assert look(tmp_path, "sealed", 5, keep=2)["removed"] == [2, 3]
    assert sorted(path.name for path in (tmp_path / "BACKUP").iterdir()) == ["BACKUP-1", "BACKUP-4", "BACKUP-5"]
    assert json.loads((backup.place(tmp_path, 5) / backup.SEAL).read_text())["nodes"] == [11, 12]


def test_what_the_management_client_said_is_read() -> None:
    assert backup.parse(COMPLETED, 5) == backup.Backup(5, 454, 87404)
    with pytest.raises(NdbError, match=r"The backup 5 was not completed: .*Backup aborted"):
        backup.parse("Node 11: Backup 5 started from node 1\nNode 11: Backup aborted", 5)
