"""The PySpark job on real data: Spark, HiveServer2 and pandas agree on every figure."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
RESULT = ROOT / "build/smoke.json"


def test_every_figure_of_the_job_is_that_of_pandas(request: Any) -> None:
    RESULT.unlink(missing_ok=True)
    inventory = request.config.getoption("--ansible-inventory")
    run = subprocess.run(
        ["ansible-playbook", "--inventory", inventory, str(ROOT / "playbooks/smoke.yml")],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:]
    checks = json.loads(RESULT.read_text())["checks"]
    assert len(checks) >= 50
    assert [check for check in checks if not check["ok"]] == []
    assert any(check["expected"] == 336776 for check in checks)
