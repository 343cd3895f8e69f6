"""Which metastores the handler restarts in a run that fails while their schema is upgraded, by the role's own conditions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HANDLERS = ROOT / "roles/metastore/handlers/main.yml"
UPGRADE: dict[str, Any] = {"__metastore_schema": {"action": "upgrade"}}


@pytest.mark.parametrize(
    ("first", "restarted"),
    [
        # What runs in the same way where the first host is left out of the run.
        ({"__metastore_other": 1}, True),
        ({"__metastore_schema": {"action": "none"}}, True),
        (UPGRADE, False),
        (UPGRADE | {"__metastore_brought": {"failed": True, "msg": "The upgrade from X to Y failed."}}, False),
        (UPGRADE | {"__metastore_brought": {"action": "upgrade"}}, True),
    ],
)
def test_no_metastore_is_started_on_a_half_upgraded_schema(
    first: dict[str, Any], restarted: bool, tmp_path: Path
) -> None:
    (handler,) = yaml.safe_load(HANDLERS.read_text())
    del handler["hopshive_restart"]
    handler["ansible.builtin.debug"] = {"msg": "restarted {{ inventory_hostname }}"}
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.set_fact": first, "when": "inventory_hostname == 'one'"},
        {"ansible.builtin.command": "true", "notify": handler["name"]},
        {"ansible.builtin.fail": {"msg": "refused"}, "when": "inventory_hostname == 'one'"},
    ]
    play = {
        "hosts": "metastore",
        "gather_facts": False,
        "any_errors_fatal": True,
        "tasks": tasks,
        "handlers": [handler],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    hosts = {name: {"ansible_connection": "local", "metastore_service_enabled": True} for name in ("one", "two")}
    (tmp_path / "hosts.yml").write_text(json.dumps({"metastore": {"hosts": hosts}}))
    argv = [sys.executable, "-m", "ansible.cli.playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "refused" in done.stdout, done.stdout
    for host in hosts:
        assert (f"restarted {host}" in done.stdout) == restarted, done.stdout
