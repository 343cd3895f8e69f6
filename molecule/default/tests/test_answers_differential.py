"""Twenty queries of TPC-DS and 150 random statements: HiveServer2 and Spark answer what DuckDB answers."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from tests.warehouse.hosts import ROOT

SEED = 21
COUNT = 150


@pytest.mark.computes
@pytest.mark.group("server2")
def test_answers_are_those_of_duckdb(host: Any) -> None:
    command = ["make", "answers", f"SEED={SEED}", f"COUNT={COUNT}", "LABEL=molecule", "ARGS=--short --local"]
    assert host.backend.host
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    (ROOT / "build/answers.log").write_text(done.stdout)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
