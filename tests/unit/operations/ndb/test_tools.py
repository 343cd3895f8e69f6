"""The programs of NDB Cluster: what they print reaches the operator, whatever its bytes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.operations.ndb.tools import NdbError, Tools

if TYPE_CHECKING:
    from pathlib import Path


def test_a_failure_is_quoted_although_its_output_is_not_utf_8(tmp_path: Path) -> None:
    program = tmp_path / "ndb_restore"
    program.write_text("#!/bin/sh\nprintf 'no table \\351t\\351\\n' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(NdbError, match=r"^ndb_restore failed: no table \ufffdt\ufffd$"):
        Tools(tmp_path, "localhost:1186").run("ndb_restore")
