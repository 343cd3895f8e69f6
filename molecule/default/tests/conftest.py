"""Which host answers which test (only those of a group, named by a mark or by the parameter `component`)."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

# The scenario's log is of what users run; testinfra's own questions, which show variables, do not belong in it.
os.environ.pop("ANSIBLE_LOG_PATH", None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "group(name): the test is for the hosts of this group")


def _hosts_by_group(inventory: str) -> dict[str, set[str]]:
    command = ["ansible-inventory", "--inventory", inventory, "--list"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {group: set(content.get("hosts", [])) for group, content in listed.items() if group != "_meta"}


def _group(item: pytest.Function) -> str | None:
    mark = item.get_closest_marker("group")
    return mark.args[0] if mark else item.callspec.params.get("component") if hasattr(item, "callspec") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    hosts = _hosts_by_group(config.getoption("--ansible-inventory"))
    kept, others = [], []
    for item in items:
        group = _group(item) if isinstance(item, pytest.Function) else None
        if group is None or item.callspec.params["_testinfra_host"].backend.host in hosts[group]:  # type: ignore[attr-defined]
            kept.append(item)
        else:
            others.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept
