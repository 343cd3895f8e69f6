"""A host that has a number among those of its group does not get another one. Each role's own pattern, on what it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WRITTEN = {
    "zookeeper": "2\n",
    "ndb_data": "[Service]\nExecStart=/opt/ndb/bin/ndbmtd --ndb-connectstring=one:1186 --ndb-nodeid=2 --connect-retries=-1\n",
    "ndb_sql": "[mysqld]\nndb-connectstring = one:1186\nndb-nodeid = 2\nport = 3307\n",
}  # fmt: skip


def _asked(role: str) -> dict[str, Any]:
    """What the role's config.yml tells the role jvm_service."""
    tasks = yaml.safe_load((ROOT / "roles" / role / "tasks" / "config.yml").read_text())
    found: dict[str, Any] = next(task["vars"] for task in tasks if "number" in task.get("name", ""))
    return found


def _run(role: str, number: int, directory: Path) -> subprocess.CompletedProcess[str]:
    told = _asked(role)
    assert told["jvm_service_component"] == role
    told["jvm_service_number"]["file"] = str(directory / "written")
    role_call = {"name": "jvm_service", "tasks_from": "number"}
    play = [
        {"hosts": "one", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": role_call, "vars": told}]}
    ]
    (directory / "play.yml").write_text(json.dumps(play))
    hosts = {"all": {"hosts": {"one": {"ansible_connection": "local", f"{role}_id": number}}}}
    (directory / "hosts.yml").write_text(json.dumps(hosts))
    argv = [
        sys.executable,
        "-m",
        "ansible.cli.playbook",
        "-i",
        str(directory / "hosts.yml"),
        str(directory / "play.yml"),
    ]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("role", WRITTEN)
def test_only_a_number_that_another_host_would_have_is_refused(role: str, tmp_path: Path) -> None:
    new = _run(role, 1, tmp_path)
    assert new.returncode == 0, new.stdout

    (tmp_path / "written").write_text(WRITTEN[role])
    same = _run(role, 2, tmp_path)
    assert same.returncode == 0, same.stdout

    another = _run(role, 1, tmp_path)
    assert another.returncode != 0
    sentence = " ".join(another.stdout.split())
    assert f"{role} on one is number 2 of its group, and would become number 1:" in sentence
    assert f"Set {role}_id: 2 for this host" in sentence
