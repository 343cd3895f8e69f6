"""Twenty queries of TPC-DS and 150 random statements: HiveServer2 and Spark answer what DuckDB answers."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from tests.faults.site import Site

SEED = 21
COUNT = 150


def test_answers_are_those_of_duckdb(site: Site) -> None:
    arguments = [f"SEED={SEED}", f"COUNT={COUNT}", f"LABEL={site.lab.label}", "ARGS=--short --local"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "answers", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    (ROOT / "build/answers.log").write_text(done.stdout)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
