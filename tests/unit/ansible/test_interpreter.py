"""Modules that import the package hopshive run with the Python that has it, and no task needs to say so."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACTION = ROOT / "action_plugins/hopshive_answers.py"
INTERPRETER = "ansible_python_interpreter"
# Modules that run before the package is there, on the controller, or with the controller's Python.
WITHOUT_PACKAGE = {
    "hopshive_artifacts",
    "hopshive_certificate",
    "hopshive_client_certificate",
    "hopshive_files",
    "hopshive_host_info",
    "hopshive_preflight",
    "hopshive_product",
    "hopshive_venv",
}
# Files whose tasks or blocks name an interpreter, and why.
NAMED = {
    "playbooks/tasks/purge_database.yml": "community.mysql needs PyMySQL, which only cluster_python has",
    "roles/artifacts/tasks/list.yml": "delegated to the controller",
    "roles/artifacts/tasks/main.yml": "delegated to the controller",
    "roles/artifacts/tasks/stage.yml": "delegated to the controller",
    "roles/gateway/tasks/client_certificate.yml": "delegated to the controller",
    "roles/gateway/tasks/clients.yml": "delegated to the controller",
    "roles/lab/tasks/clients.yml": "runs on the controller",
    "roles/mariadb/tasks/service.yml": "community.mysql needs PyMySQL, which only cluster_python has",
    "roles/ndb_sql/tasks/users.yml": "community.mysql needs PyMySQL, which only cluster_python has",
    "roles/tls/tasks/config.yml": "delegated to the controller",
}
MODULES = {path.stem: path for path in (ROOT / "library").glob("*.py")}
WITH_PACKAGE = sorted(set(MODULES) - WITHOUT_PACKAGE)


def nodes(entry: Any) -> Iterator[dict[str, Any]]:
    """All mappings in a YAML file: plays, blocks, tasks and what they hold."""
    if isinstance(entry, dict):
        yield entry
        entry = list(entry.values())
    for part in entry if isinstance(entry, list) else ():
        yield from nodes(part)


def play(tmp_path: Path, *, package: bool = True, **task: Any) -> tuple[int, str, list[str]]:
    """Run a task of hopshive_answers on localhost; the exit code, the output and the interpreters that ran, by name."""
    ran = tmp_path / "ran"
    for name in ("package", "other"):
        wrapper = tmp_path / name
        wrapper.write_text(f'#!/bin/sh\necho {name} >>{ran}\nexec {sys.executable} "$@"\n')
        wrapper.chmod(0o755)
    asked = {"kind": "zookeeper", "host": "127.0.0.1", "port": 1, "timeout": 0}
    playbook = tmp_path / "play.yml"
    content = {"hosts": "all", "gather_facts": False, "tasks": [{"hopshive_answers": asked, **task}]}
    playbook.write_text(yaml.safe_dump([content]))
    inventory = tmp_path / "hosts.yml"
    host = {"ansible_connection": "local", INTERPRETER: sys.executable}
    variables = {"home": str(tmp_path), **({"cluster_python": "{{ home }}/package"} if package else {})}
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {"one": host, "two": host}, "vars": variables}}))
    done = subprocess.run(
        ["ansible-playbook", "-i", str(inventory), "--limit", "one", str(playbook)],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_LOG_PATH": str(tmp_path / "log")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, ran.read_text().split() if ran.exists() else []


# It comes back over a new connection; tests/integration/test_firewall.py runs it.
OWN_ACTION = {"hopshive_firewall"}


@pytest.mark.parametrize("name", WITH_PACKAGE)
def test_a_module_that_imports_the_package_has_the_action(name: str) -> None:
    assert "hopshive_module import" in MODULES[name].read_text()
    action = ROOT / f"action_plugins/{name}.py"
    if name in OWN_ACTION:
        assert 'PACKAGE_PYTHON = "cluster_python"' in action.read_text()
    else:
        assert action.resolve() == ACTION


@pytest.mark.parametrize("name", sorted(WITHOUT_PACKAGE))
def test_a_module_without_the_package_has_another_action_or_none(name: str) -> None:
    assert "hopshive_module import" not in MODULES[name].read_text()
    path = ROOT / f"action_plugins/{name}.py"
    assert not path.exists() or path.resolve() != ACTION


@pytest.mark.parametrize("place", ["roles", "playbooks"])
def test_no_task_names_the_interpreter_of_such_a_module(place: str) -> None:
    named = [
        f"{path.relative_to(ROOT)}: {node['name']}"
        for path in sorted((ROOT / place).rglob("*.yml"))
        for node in nodes(yaml.safe_load(path.read_text()))
        if INTERPRETER in (node.get("vars") or {}) and set(node) & set(WITH_PACKAGE)
    ]
    assert named == []


def test_an_interpreter_is_named_only_where_there_is_a_reason() -> None:
    found = {
        str(path.relative_to(ROOT))
        for place in ("roles", "playbooks")
        for path in (ROOT / place).rglob("*.yml")
        for node in nodes(yaml.safe_load(path.read_text()))
        if INTERPRETER in node
    }
    assert found == set(NAMED)


def test_the_action_takes_the_python_of_the_package(tmp_path: Path) -> None:
    code, output, ran = play(tmp_path)
    assert (code, ran) == (2, ["package"]), output
    assert "127.0.0.1:1" in output


def test_a_host_to_which_a_task_is_delegated_has_the_package_too(tmp_path: Path) -> None:
    _, output, ran = play(tmp_path, delegate_to="two")
    assert ran == ["package"], output


def test_a_task_can_name_another_interpreter(tmp_path: Path) -> None:
    _, output, ran = play(tmp_path, vars={INTERPRETER: "{{ home }}/other"})
    assert ran == ["other"], output


def test_a_host_without_the_package_keeps_its_interpreter(tmp_path: Path) -> None:
    code, output, ran = play(tmp_path, package=False)
    assert (code, ran) == (2, []), output
    assert "127.0.0.1:1" in output
