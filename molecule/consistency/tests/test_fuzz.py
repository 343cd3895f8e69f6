"""Random interleavings of all that happens to a warehouse, against a model.

`make fuzz LABEL=molecule-consistency` runs others.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.fuzz.__main__ import SHORT
from tests.fuzz.choose import Settings
from tests.fuzz.run import Run
from tests.fuzz.steps import write_steps
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from tests.warehouse import Warehouse

SEED = 1
STEPS = 200


def test_the_warehouse_is_what_the_model_says(warehouse: Warehouse) -> None:
    with warehouse.configured(SHORT):
        run = Run(warehouse, Settings(prefix="fz", root="/fz"), random.Random(SEED))  # noqa: S311 - no secret
        run.prepare()
        try:
            run.draw(STEPS)
        finally:
            write_steps(ROOT / f"build/fuzz/{SEED}.json", run.done, seed=SEED)
        # What the run has left must not disturb later tests.
        run.prepare()
    assert run.report.total == STEPS
    assert run.report.engine_writes >= STEPS / 10
