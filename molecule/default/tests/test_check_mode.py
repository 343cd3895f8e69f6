"""`--check --diff` on a converged warehouse is an honest answer: nothing would change."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def test_check_mode_reports_no_change_on_a_converged_warehouse(request: Any) -> None:
    inventory = request.config.getoption("--ansible-inventory")
    answer = subprocess.run(
        ["ansible-playbook", "--inventory", inventory, "--check", "--diff", str(ROOT / "site.yml")],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    recap = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", answer.stdout, flags=re.MULTILINE)
    assert recap
    assert {host: changed for host, changed in recap if changed != "0"} == {}, answer.stdout[-4000:]
