"""The short form of `make faults`: clients at work while services, a host, and all hosts go away."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

from tests.warehouse.hosts import ROOT


def test_nothing_that_was_acknowledged_is_lost() -> None:
    label = os.environ.get("HOPSHIVE_LAB", "molecule-ha")
    output = ROOT / "build" / "faults-short.json"
    command = [sys.executable, "-m", "tests.faults", "--label", label, "--short", "--output", str(output)]
    # The other lanes of `make test` may still be at work: gaps are measured on a machine without other work.
    with (ROOT / "build" / "quiet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2400, check=False)
    table = done.stdout[max(done.stdout.find("┏"), 0) :]
    assert done.returncode == 0, f"{table[-6000:]}\n{done.stderr[-2000:]}"
