"""From a run that failed, the steps that seem to matter: what was done to the databases that are wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.fuzz.steps import FAULTS, QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fuzz.steps import Step


def reduced(steps: Sequence[Step], lines: Sequence[str], prefix: str) -> list[Step]:
    """The steps of the databases that a failure names and of those that they met, and the last faults."""
    wrong = set(re.findall(rf"\b{re.escape(prefix)}_[a-h]\b", " ".join(lines)))
    last = steps[-1] if steps else None
    if last is not None and last.kind != QUIET:
        wrong |= last.databases
    if not wrong:
        return list(steps)
    for step in reversed(steps):
        if step.databases & wrong:
            wrong |= step.databases
    paths = {path for step in steps if step.databases & wrong for path in _paths(step)}
    quiet = [number for number, step in enumerate(steps) if step.kind == QUIET]
    since = quiet[-2] if len(quiet) > 1 and last is not None and last.kind == QUIET else (quiet[-1] if quiet else 0)
    kept: list[Step] = []
    for number, step in enumerate(steps):
        if step.kind == QUIET:
            if kept and kept[-1].kind != QUIET:
                kept.append(step)
        elif step.kind in FAULTS:
            if number >= since:
                kept.append(step)
        elif step.databases & wrong or (not step.databases and paths & set(_paths(step))):
            kept.append(step)
    return kept


def _paths(step: Step) -> list[str]:
    return [*([step["path"]] if step.get("path") else []), *step.get("paths", [])]
