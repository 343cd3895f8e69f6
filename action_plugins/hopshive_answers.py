"""The action of modules that import the package hopshive: it runs the module with the Python that has the package.

The role `common` installs the package and names that Python `cluster_python`. A task, its block or its play can set
`ansible_python_interpreter` to use another one. Without `cluster_python` the module runs with the Python of the host.

Each of those modules has a link to this file, since Ansible calls an action by the name of its file.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action.normal import ActionModule as Normal

INTERPRETER = "ansible_python_interpreter"
PACKAGE_PYTHON = "cluster_python"


class ActionModule(Normal):  # type: ignore[misc]
    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        variables = dict(task_vars or {})
        if INTERPRETER not in self._task.get_vars():
            hosts = dict(variables.get("ansible_delegated_vars", {}))
            for host, known in hosts.items():
                hosts[host] = self._with_package(known)
            variables = self._with_package(variables) | ({"ansible_delegated_vars": hosts} if hosts else {})
        result: dict[str, Any] = super().run(tmp, variables)
        return result

    def _with_package(self, variables: dict[str, Any]) -> dict[str, Any]:
        """The variables of a host with its interpreter replaced, if the host has the package."""
        if PACKAGE_PYTHON not in variables:
            return variables
        return {**variables, INTERPRETER: self._templar.template(variables[PACKAGE_PYTHON])}
