"""The action hopshive_preflight; documented in library/hopshive_preflight.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.plugins.action import ActionBase

from hopshive.components import COMPONENTS, ROOT_GROUP
from hopshive.preflight.host import Limits, check_hosts, host_info, questions
from hopshive.preflight.inventory import IDS, PASSWORDS, HostVariables, Inventory, check_inventory
from hopshive.preflight.problem import report

ROLES = Path(__file__).parents[2]
# By role, besides the numbers of `cluster` and what the user set of it: read by a check, or asked with on a host. Those
# of a component's role matter on the component's hosts alone.
NEEDED = {
    "cluster": {
        "cluster_address",
        "cluster_consistency",
        "cluster_data_dir",
        "cluster_database",
        "cluster_group",
        "cluster_java_home",
        "cluster_manage_users",
        "cluster_nameservice",
        "cluster_prefix",
        "cluster_users",
        "cluster_warehouse_group",
        *PASSWORDS,
        *(user for user, _ in PASSWORDS.values()),
    },
    "artifacts": {"artifacts_python_interpreter", "artifacts_python_version", "artifacts_tarballs"},
    "ndb_management": {"ndb_management_replicas"},
    **{role: {variable} for role, variable in IDS.items()},
    "resourcemanager": {IDS["resourcemanager"], "resourcemanager_queues"},
    "server2": {
        "server2_compaction_queue",
        "server2_compactor_workers",
        "server2_tez_queues",
        "server2_tez_sessions_per_queue",
    },
}


class ActionModule(ActionBase):
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            argument_spec={
                "check": {"type": "str", "required": True, "choices": ["inventory", "hosts"]},
                "found": {"type": "dict", "default": {}},
                "disk_mb": {"type": "int", "default": 5120},
                "memory_ratio": {"type": "float", "default": 1.0},
                "shared_host": {"type": "bool", "default": False},
            }
        )
        types = {
            name: str(option.get("type", "str"))
            for role, needed in NEEDED.items()
            for name, option in self._role(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"].items()
            if role == "cluster" or name in needed
        }
        variables = task_vars or {}
        inventory = self._inventory(variables["hostvars"], variables.get("inventory_dir"), types)
        if arguments["check"] == "inventory":
            problems = check_inventory(inventory, types)
            place = "in the inventory"
        else:
            found = {host: host_info(facts) for host, facts in arguments["found"].items()}
            limits = Limits(arguments["disk_mb"], arguments["memory_ratio"], arguments["shared_host"])
            problems = check_hosts(inventory, types, found, limits)
            place = "on the hosts"
        warnings = [problem.text for problem in problems if problem.warning]
        text = report(problems, place)
        if text:
            return {**result, "failed": True, "msg": text, "warnings": warnings}
        result.update(
            changed=False,
            warnings=warnings,
            hosts={host: questions(inventory, host) for host in inventory.hosts},
        )
        return result

    def _role(self, role: str, path: str) -> dict[str, Any]:
        """A file of a role."""
        loaded: dict[str, Any] = self._loader.load_from_file(str(ROLES / role / path), trusted_as_template=True)
        return loaded

    def _inventory(self, hostvars: Any, directory: str | None, types: dict[str, str]) -> Inventory:
        """The inventory with, for each host beneath the root group, the variables that the roles will get there."""
        # The hierarchy of groups is not among the variables; the inventory itself has it.
        groups = hostvars._inventory.groups
        root = groups.get(ROOT_GROUP)
        members = {name: tuple(host.name for host in group.get_hosts()) for name, group in groups.items()}
        defaults = self._role("cluster", "vars/main.yml")
        for role in NEEDED:
            defaults = {**self._role(role, "defaults/main.yml"), **defaults}
        return Inventory(
            groups=members,
            components=tuple(child.name for child in root.child_groups) if root else (),
            hosts={
                host: self._variables(
                    hostvars, host, defaults, types, [name for name in COMPONENTS if host in members.get(name, ())]
                )
                for host in members.get(ROOT_GROUP, ())
            },
            directory=os.path.relpath(directory) if directory else "the inventory's directory",
        )

    def _variables(
        self, hostvars: Any, host: str, defaults: dict[str, Any], types: dict[str, str], placed: list[str]
    ) -> HostVariables:
        raw = hostvars.raw_get(host)
        needed = {name for role, names in NEEDED.items() if role in placed or role not in COMPONENTS for name in names}
        given = frozenset(name for name in raw if name.startswith("cluster_") or name in needed)
        templar = self._templar.copy_with_new_env(available_variables={**defaults, **raw, "hostvars": hostvars})
        values, broken = {}, {}
        numbers = {name for name, kind in types.items() if kind == "int" and name.startswith("cluster_")}
        for name in given | needed | numbers:
            try:
                values[name] = templar.template(raw[name] if name in raw else defaults[name])
            except KeyError:
                continue
            except AnsibleUndefinedVariable as error:
                broken[name] = str(error.message).rstrip(".")
            except AnsibleError as error:
                # Only the kind of error for a secret: its text may quote the value.
                broken[name] = type(error).__name__ if name in PASSWORDS else str(error.message).rstrip(".")
        return HostVariables(values, given, broken)
