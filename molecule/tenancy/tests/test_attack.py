"""The quick attempts to get around logins and permissions: none succeeds."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.warehouse.people import PeopleLab

# Seconds after which they hang. They take two and a half minutes on a machine that has nothing else to do.
LIMIT = 600


def test_no_quick_attempt_succeeds(people: PeopleLab, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.attack", f"--label={people.lab.label}", "--quick"]
    found = subprocess.run(
        [*command, f"--output={tmp_path / 'attack.json'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert found.returncode == 0, f"{found.stdout}\n{found.stderr}"
    held = re.search(r"(\d+) held", found.stdout)
    assert held and int(held[1]) > 200, found.stdout[-500:]
