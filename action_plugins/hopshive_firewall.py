"""The action hopshive_firewall: it comes back over a new connection before the rules are kept.

In one task, so that the trial of a host is over before that of the next hosts begins, however many there are. Documented
in library/hopshive_firewall.py.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

INTERPRETER = "ansible_python_interpreter"
PACKAGE_PYTHON = "cluster_python"
# Seconds beyond the trial in which the host is asked whether it is reached again, and between two attempts.
PATIENCE = 20
PAUSE = 2


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        variables = dict(task_vars or {})
        if INTERPRETER not in self._task.get_vars() and PACKAGE_PYTHON in variables:
            variables[INTERPRETER] = self._templar.template(variables[PACKAGE_PYTHON])
        tried = self._step("try", variables)
        if tried.get("failed") or not tried.get("trial"):
            return tried
        began = time.monotonic()
        try:
            self._connection.reset()
            kept = self._step("keep", variables)
        except AnsibleConnectionFailure as error:
            return {**tried, "failed": True, "changed": False, "msg": self._locked_out(variables, began, str(error))}
        if kept.get("failed"):
            return {**kept, "diff": tried.get("diff", {})}
        return {**tried, "trial": False}

    def _step(self, step: str, variables: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name=self._task.action, module_args={**self._task.args, "step": step}, task_vars=variables
        )
        return result

    def _locked_out(self, variables: dict[str, Any], began: float, reason: str) -> str:
        """What became of a host that Ansible did not reach with its new rules."""
        seconds = int(self._task.args.get("rollback", 30))
        host = variables.get("inventory_hostname", "the host")
        said = (
            f"The new firewall rules of {host} keep Ansible itself out ({reason.strip().rstrip('.')}), so they are not kept:"
            " correct cluster_firewall_ssh and ansible_port."
        )
        while time.monotonic() < began + seconds + PATIENCE:
            time.sleep(PAUSE)
            try:
                self._connection.reset()
                if not self._step("tell", variables).get("trial"):
                    after = round(time.monotonic() - began)
                    return f"{said} The host has its former rules again; Ansible reached it after {after} s."
            except AnsibleConnectionFailure:
                continue
        return f"{said} Ansible does not reach the host now either: look at it on its console (nft list ruleset)."
