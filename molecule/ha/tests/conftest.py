"""The warehouse of the scenario, and playbooks run against it. HOPSHIVE_LAB names another lab by its label."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.faults.site import Site
from tests.warehouse.hosts import ROOT, find_lab

# The scenario's log is of what users run.
os.environ.pop("ANSIBLE_LOG_PATH", None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: not in the short form, which CI runs; LONG=1 runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("LONG") != "1":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


Play = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Every service answers before the first test, and after each one that breaks something."""
    found = Site(find_lab(os.environ.get("HOPSHIVE_LAB", "molecule-ha")))
    found.wait_healthy(180)
    yield found
    found.wait_healthy(180)


@pytest.fixture
def play(site: Site) -> Play:
    """Runs a playbook on the scenario's inventory, or on another one; returns what it said."""

    def run(*arguments: str, inventory: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [".venv/bin/ansible-playbook", "-i", str(inventory or site.lab.inventory.parent), *arguments]
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1500, check=False
        )

    return run


@pytest.fixture
def inventory_with(site: Site, tmp_path: Path) -> Callable[..., Path]:
    """The scenario's inventory with hosts added to groups: `inventory_with(metastore=["molecule-ha-three"])`."""

    def make(**added: list[str]) -> Path:
        content: dict[str, Any] = yaml.safe_load(site.lab.inventory.read_text())
        for group, hosts in added.items():
            content["hopshive"]["children"][group]["hosts"].update({host: {} for host in hosts})
        directory = tmp_path / "inventory"
        directory.mkdir()
        (directory / "hosts.yml").write_text(yaml.safe_dump(content, sort_keys=False))
        (directory / "group_vars").symlink_to((site.lab.inventory.parent / "group_vars").resolve())
        return directory

    return make
