"""`--check --diff` on a converged warehouse is an honest answer: nothing would change."""

from __future__ import annotations

import re
from typing import Any

from tests.warehouse.playbook import run_playbook


def test_check_mode_reports_no_change_on_a_converged_warehouse(request: Any) -> None:
    inventory = request.config.getoption("--ansible-inventory")
    said = run_playbook("--inventory", inventory, "--check", "--diff", "site.yml")
    recap = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", said, flags=re.MULTILINE)
    assert recap
    assert {host: changed for host, changed in recap if changed != "0"} == {}, said[-4000:]
