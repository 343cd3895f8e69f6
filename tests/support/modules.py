"""Run a module of library/ in this process, as Ansible would on a host."""

from __future__ import annotations

import importlib.util
import io
import json
from contextlib import redirect_stdout
from typing import Any

import ansible.module_utils
from ansible.module_utils.testing import patch_module_args

from tests.support.servers import ROOT

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
    with patch_module_args({**arguments, "_ansible_check_mode": check, "_ansible_diff": diff}), redirect_stdout(output):
        try:
            module.main()
        except SystemExit as ended:
            code = ended.code
        else:
            raise AssertionError(f"{name} ended without exit_json or fail_json")
    result: dict[str, Any] = json.loads(output.getvalue().strip().splitlines()[-1])
    assert bool(code) == bool(result.get("failed")), result
    return result
