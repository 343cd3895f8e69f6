"""The ways in that `make lab` prints at its end, as the role prints them for an inventory."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from tests.docs.page import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# A line of the role's message: what the line is about, and the command. What follows in further lines has no first word.
_LINE = re.compile(r"^ +msg: \|-?\n((?: {8}.*\n?)+)", re.MULTILINE)
_NAME_WIDTH = 9


def printed(inventory: Path) -> str:
    """What Ansible prints for the inventory."""
    argv = ["ansible", "--inventory", str(inventory), "localhost", "-m", "include_role"]
    run = subprocess.run(
        [*argv, "-a", "name=lab tasks_from=connect"],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def by_name(said: str) -> dict[str, list[str]]:
    """The lines of the message by their first word, in order."""
    found = _LINE.search(said)
    assert found, said
    lines: dict[str, list[str]] = {}
    name = ""
    for line in found.group(1).splitlines():
        text = line[8:]
        name = text[:_NAME_WIDTH].strip() or name
        lines.setdefault(name, []).append(text[_NAME_WIDTH:].strip())
    return lines
