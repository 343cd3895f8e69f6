"""Playbooks of the project on a lab, as an operator runs them."""

from __future__ import annotations

import os
import subprocess

from tests.warehouse.hosts import ROOT


def run_playbook(*arguments: str, timeout: float | None = None) -> str:
    """What `ansible-playbook` says with these arguments, in the project's directory. Fails unless it ends with 0."""
    # The log of a scenario is of what its user runs.
    environment = {name: value for name, value in os.environ.items() if name != "ANSIBLE_LOG_PATH"}
    done = subprocess.run(
        ["ansible-playbook", *arguments],
        cwd=ROOT,
        env={**environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "false"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout + done.stderr
