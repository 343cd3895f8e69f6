"""Run a module of library/ in this process, as Ansible would on a host."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import ansible.module_utils
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

# As on a host, where Ansible sends them along.
ansible.module_utils.__path__.append(str(ROOT / "module_utils"))


def run_module(name: str, arguments: dict[str, Any], *, check: bool = False, diff: bool = True) -> dict[str, Any]:
    """The module's result; `failed` is in it if it failed."""
    path = ROOT / "library" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    output = io.StringIO()
    given = {**arguments, "_ansible_check_mode": check, "_ansible_diff": diff}
    with on_a_host(), patch_module_args(given), redirect_stdout(output):
        try:
            module.main()
        except SystemExit as ended:
            code = ended.code
        else:
            raise AssertionError(f"{name} ended without exit_json or fail_json")
    result: dict[str, Any] = json.loads(output.getvalue().strip().splitlines()[-1])
    assert bool(code) == bool(result.get("failed")), result
    return result


@contextmanager
def on_a_host() -> Iterator[None]:
    """Put the module's warnings, and none of an earlier module's, into its result.

    In a process that has imported Ansible's controller, Ansible would print them instead.
    """
    with patch.object(_internal, "is_controller", False), patch.object(warnings, "_global_warnings", {}):
        yield


def run_task(name: str, arguments: dict[str, Any], directory: Path) -> tuple[dict[str, Any], str]:
    """The result of a task in a playbook, in check mode, and what Ansible printed to its error output."""
    task = {name: arguments, "register": "result", "vars": {"ansible_python_interpreter": sys.executable}}
    answer = {"dest": str(directory / "result.json"), "content": "{{ result | to_json }}", "mode": "0600"}
    written = {"ansible.builtin.copy": answer, "check_mode": False}
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task, written]}
    (directory / "play.yml").write_text(json.dumps([play]))
    done = subprocess.run(
        [sys.executable, "-m", "ansible.cli.playbook", "--check", str(directory / "play.yml")],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "0", "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads((directory / "result.json").read_text())
    return result, done.stderr
