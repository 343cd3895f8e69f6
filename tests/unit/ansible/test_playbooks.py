"""Playbooks, beside what test_roles.py and test_tags.py say of roles and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.servers import ROOT
from tests.unit.ansible.test_roles import PLAYBOOKS, listed, tasks_of

if TYPE_CHECKING:
    from pathlib import Path

# A role that a play imports brings its handlers.
OF_ROLES = {
    name
    for path in (ROOT / "roles").glob("*/handlers/*.yml")
    for handler in tasks_of(path)
    for name in (handler["name"], *listed(handler.get("listen")))
}


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_handler_that_a_playbook_notifies_exists(path: Path) -> None:
    tasks = list(tasks_of(path))
    known = {task.get("name") for task in tasks} | {name for task in tasks for name in listed(task.get("listen"))}
    notified = {name for task in tasks for name in listed(task.get("notify")) if "{{" not in name}
    assert notified <= known | OF_ROLES
