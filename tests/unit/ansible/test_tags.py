"""Runs with tags: a role that is imported validates its arguments in every one of them, under the conditions of its import.

What other tasks register is undefined where the tags leave those tasks out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = sorted(ROOT.glob("roles/*/tasks/*.yml"))


def tasks_of(path: Path) -> Iterator[dict[str, Any]]:
    waiting = list(yaml.safe_load(path.read_text()) or [])
    while waiting:
        task = waiting.pop()
        waiting += [one for block in ("block", "rescue", "always") for one in task.get(block, [])]
        yield task


REGISTERED = {task["register"] for path in FILES for task in tasks_of(path) if "register" in task}


def imports_a_role(path: Path) -> bool:
    return any(
        "ansible.builtin.import_role" in task
        or (
            "ansible.builtin.import_tasks" in task
            and imports_a_role(path.parent / task["ansible.builtin.import_tasks"])
        )
        for task in tasks_of(path)
    )


def undefined_in(condition: str) -> list[str]:
    """Registered variables that a condition reads without a default."""
    return [
        name
        for name in sorted(REGISTERED)
        if re.search(rf"\b{name}\b", re.sub(rf"\b{name}\b[\w.]* \| default\(", "", condition))
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_a_condition_around_an_imported_role_needs_nothing_that_tags_leave_out(path: Path) -> None:
    for task in tasks_of(path):
        imported = task.get("ansible.builtin.import_tasks")
        if "ansible.builtin.import_role" in task or (imported and imports_a_role(path.parent / imported)):
            when = task.get("when", [])
            found = undefined_in(" ".join(map(str, when)) if isinstance(when, list) else str(when))
            assert not found, f"{path.relative_to(ROOT)}: {task['name']}: {found} without default()"


def test_a_variable_without_a_default_is_found() -> None:
    assert undefined_in("__metastore_schema.action != 'none'") == ["__metastore_schema"]
    assert not undefined_in("__metastore_schema.action | default('none') != 'none'")
