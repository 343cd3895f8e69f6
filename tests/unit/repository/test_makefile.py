"""Targets that need a variable say which one, before they begin."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (["artifacts-update"], "Which product? make artifacts-update PRODUCT=hive"),
        (["ndb"], "Which tarball? make ndb HOPSHIVE_NDB_TARBALL="),
        (["ndb", "HOPSHIVE_NDB_TARBALL=/no/such"], "HOPSHIVE_NDB_TARBALL: /no/such is not there"),
    ],
)
def test_a_target_without_its_variable_ends_with_a_sentence(target: list[str], sentence: str) -> None:
    env = {name: value for name, value in os.environ.items() if name not in {"PRODUCT", "HOPSHIVE_NDB_TARBALL"}}
    # Whatever virtual environment there is, it is not made again here.
    done = subprocess.run(
        ["make", "--no-print-directory", "VENV_READY=/dev/null", *target],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(sentence)
