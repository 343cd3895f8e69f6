"""The PySpark job on real data: Spark, HiveServer2 and pandas agree on every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.warehouse.job import require_every_figure

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_every_figure_of_the_job_is_that_of_pandas(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    require_every_figure(request.config.getoption("--ansible-inventory"), tmp_path)
