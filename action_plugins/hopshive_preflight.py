"""The action hopshive_preflight; documented in library/hopshive_preflight.py."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import yaml
from ansible import context
from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action import ActionBase
from ansible.utils.collection_loader._collection_finder import _get_collection_playbook_path

from hopshive.install.artifacts.product import product_names
from hopshive.install.preflight.artifacts import tarball_fault
from hopshive.install.preflight.checks import check_inventory, check_tags
from hopshive.install.preflight.database import PASSWORDS
from hopshive.install.preflight.host import Limits, check_hosts, host_info, questions, unanswered
from hopshive.install.preflight.inventory import HostVariables, Inventory
from hopshive.install.preflight.placement import IDS
from hopshive.install.preflight.problem import report
from hopshive.install.preflight.service_config import SERVICES, Service, config_faults
from hopshive.install.preflight.variables import BUNDLE, OWN_VARIABLES, SHARED, role_of
from hopshive.services.components import COMPONENTS, ROOT_GROUP

# The repository, or the collection that is made of it.
ROOT = next(directory for directory in Path(__file__).parents if (directory / "roles").is_dir())
ROLES = ROOT / "roles"
SITE = next(file for file in (ROOT / "site.yml", ROOT / "playbooks/site.yml") if file.is_file())
# By role, besides the numbers of `cluster` and what the user set of it: read by a check, or asked with on a host. Those
# of a component's role matter on the component's hosts alone.
NEEDED = {
    "cluster": {
        "ansible_connection",
        "ansible_host",
        "ansible_port",
        "cluster_address",
        "cluster_consistency",
        "cluster_data_dir",
        "cluster_firewall",
        "cluster_firewall_clients",
        "cluster_firewall_extra",
        "cluster_firewall_monitoring",
        "cluster_firewall_ssh",
        "cluster_database",
        "cluster_group",
        "cluster_hive_administrators",
        "cluster_java_home",
        "cluster_manage_users",
        "cluster_nameservice",
        "cluster_prefix",
        "cluster_tls",
        "cluster_tls_authority",
        "cluster_tls_authority_dir",
        "cluster_tls_certificate",
        "cluster_tls_group",
        "cluster_tls_key",
        "cluster_tls_names",
        "cluster_users",
        "cluster_without",
        "cluster_warehouse_group",
        *PASSWORDS,
        *(user for user, _ in PASSWORDS.values()),
    },
    "preflight": {OWN_VARIABLES},
    "artifacts": {"artifacts_python_interpreter", "artifacts_python_version", "artifacts_tarballs"},
    "gateway": {"gateway_service_enabled"},
    "login": {"login_backend", "login_people"},
    "ndb_management": {"ndb_management_replicas"},
    **{role: {variable} for role, variable in IDS.items()},
    "resourcemanager": {IDS["resourcemanager"], "resourcemanager_queues"},
    "projects": {"projects"},
    "server2": {
        "server2_authentication",
        "server2_authorization",
        "server2_compaction_queue",
        "server2_compactor_workers",
        "server2_hive_site_extra",
        "server2_policy",
        "server2_tez_queues",
        "server2_tez_sessions_per_queue",
    },
}


# How files with variables end.
VARIABLE_FILES = (".yml", ".yaml", ".json")
# What a template may name besides the host's own variables, of the run.
PLAY = ("ansible_check_mode", "ansible_limit", "ansible_play_hosts", "ansible_play_hosts_all", "ansible_run_tags")


def _named(directory: Path) -> tuple[str, ...]:
    """Whom the files and directories are called by, as Ansible reads them."""
    if not directory.is_dir():
        return ()
    entries = [
        entry for entry in directory.iterdir() if not entry.name.startswith(".") and not entry.name.endswith("~")
    ]
    return tuple(
        sorted(
            entry.stem if entry.is_file() and entry.suffix in VARIABLE_FILES else entry.name
            for entry in entries
            if entry.is_dir() or entry.suffix in ("", *VARIABLE_FILES)
        )
    )


def _tags_of(entries: Any) -> set[str]:
    """The tags of plays, roles, tasks and the blocks in them."""
    found: set[str] = set()
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            tags = entry.get("tags", ())
            found |= {tags} if isinstance(tags, str) else {str(tag) for tag in tags}
            for part in ("tasks", "roles", "pre_tasks", "post_tasks", "block", "rescue", "always"):
                found |= _tags_of(entry.get(part))
    return found


def _is_ours() -> bool:
    """Whether all playbooks that run are of this tree: one of a site that imports ours has tags of its own."""
    # A playbook of a collection is named by the collection: hopshive.warehouse.site.
    playbooks = [(_get_collection_playbook_path(name), name) for name in context.CLIARGS.get("args", ())]
    paths = [Path(to_text(found[1]) if found else name).resolve() for found, name in playbooks]
    return all(path.is_relative_to(ROOT) for path in paths)


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
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
        roles = sorted(path.parent.parent.name for path in ROLES.glob("*/meta/argument_specs.yml"))
        options = {
            name: option
            for role in roles
            for name, option in self._role(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"].items()
        }
        types = {name: str(option.get("type", "str")) for name, option in options.items()}
        variables = task_vars or {}
        play = {name: value for name, value in variables.items() if name in PLAY}
        inventory = self._inventory(variables["hostvars"], variables.get("inventory_dir"), roles, options, play)
        if arguments["check"] == "inventory":
            asked = {
                option: variables.get(f"ansible_{name}_tags", ())
                for option, name in (("--tags", "run"), ("--skip-tags", "skip"))
            }
            problems = [
                *(check_tags(asked, self._tags()) if _is_ours() else ()),
                *check_inventory(inventory, types),
            ]
            place = "in the inventory"
        else:
            silent = {host: reason for host, facts in arguments["found"].items() if (reason := unanswered(facts))}
            found = {host: host_info(facts) for host, facts in arguments["found"].items() if host not in silent}
            limits = Limits(arguments["disk_mb"], arguments["memory_ratio"], arguments["shared_host"])
            problems = check_hosts(inventory, types, found, limits, silent)
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

    def _inventory(
        self,
        hostvars: Any,
        directory: str | None,
        roles: list[str],
        options: dict[str, dict[str, Any]],
        play: dict[str, Any],
    ) -> Inventory:
        """The inventory with, for each host below the root group, the variables that the roles will get there."""
        # The hierarchy of groups is not among the variables; the inventory itself has it.
        groups = hostvars._inventory.groups
        root = groups.get(ROOT_GROUP)
        members = {name: tuple(host.name for host in group.get_hosts()) for name, group in groups.items()}
        used = self._used(members)
        defaults: dict[str, Any] = {}
        private: dict[str, Any] = {}
        for role in ("cluster", *used):
            for part, gathered in (("defaults", defaults), ("vars", private)):
                if (ROLES / role / part / "main.yml").is_file():
                    gathered.update(self._role(role, f"{part}/main.yml") or {})
        defaults = {**defaults, **private, **play}
        everywhere = {"cluster"}
        return Inventory(
            groups=members,
            components=tuple(child.name for child in root.child_groups) if root else (),
            hosts={
                host: self._variables(
                    hostvars, host, defaults, options, roles, everywhere | {role for role in used if host in used[role]}
                )
                for host in members.get(ROOT_GROUP, ())
            },
            directory=os.path.relpath(directory) if directory else "the inventory's directory",
            roles=tuple(roles),
            named={place: _named(Path(directory, place)) for place in ("group_vars", "host_vars")} if directory else {},
        )

    def _tags(self) -> set[str]:
        """All tags of site.yml and its roles, and those that a playbook around it gave to this task."""
        found = {str(tag) for tag in self._task.tags}
        for path in (SITE, *ROLES.glob("*/tasks/*.yml")):
            found |= _tags_of(self._loader.load_from_file(str(path), trusted_as_template=True))
        return found

    def _used(self, members: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
        """The roles of site.yml, each with the hosts that it runs on."""
        used: dict[str, set[str]] = {}
        for play in self._loader.load_from_file(str(SITE)):
            # A place in a group, as in namenode[0], may be any host of it.
            named = [part.partition("[")[0] for part in play.get("hosts", "").split(":")]
            for role in play.get("roles", ()):
                used.setdefault(role["role"], set()).update(host for group in named for host in members.get(group, ()))
        return used

    def _variables(
        self,
        hostvars: Any,
        host: str,
        defaults: dict[str, Any],
        options: dict[str, dict[str, Any]],
        roles: list[str],
        placed: set[str],
    ) -> HostVariables:
        raw = hostvars.raw_get(host)
        needed = {name for role, names in NEEDED.items() if role in placed or role not in COMPONENTS for name in names}
        given = {name: role for name in raw if (role := role_of(name, (*roles, BUNDLE)))}
        templar = self._templar.copy_with_new_env(available_variables={**defaults, **raw, "hostvars": hostvars})
        values, broken, invalid = {}, {}, {}
        numbers = {
            name for name, option in options.items() if option.get("type") == "int" and name.startswith("cluster_")
        }
        for name in (
            needed | numbers | SHARED | {name for name, role in given.items() if role in placed and name in options}
        ):
            try:
                values[name] = templar.template(raw[name] if name in raw else defaults[name])
            except KeyError:
                continue
            except AnsibleUndefinedVariable as error:
                broken[name] = str(error.message).rstrip(".")
            except AnsibleError as error:
                # Only the kind of error for a secret: its text may quote the value.
                broken[name] = type(error).__name__ if name in PASSWORDS else str(error.message).rstrip(".")
        for name in values.keys() & given.keys() & options.keys():
            validator = ArgumentSpecValidator({name: options[name]})
            faults = validator.validate({name: copy.deepcopy(values[name])}).error_messages
            if faults and not options[name].get("no_log"):
                invalid[name] = faults[0].rstrip(".")
        if fault := tarball_fault(values.get("artifacts_tarballs"), product_names(ROOT / "artifacts")):
            invalid.setdefault("artifacts_tarballs", fault)
        for service in SERVICES:
            if service.role in placed and not broken:
                invalid = {**self._faults(service, templar, defaults, raw), **invalid}
        return HostVariables(values, frozenset(given), broken, invalid)

    def _faults(self, service: Service, templar: Any, defaults: dict[str, Any], raw: Any) -> dict[str, str]:
        """What a service would refuse in the configuration that its role writes: variable and reason."""
        try:
            content = yaml.safe_load(templar.template(defaults[f"__{service.role}_config_text"]))
            extra = templar.template(templar.available_variables[service.extra])
        except AnsibleError as error:
            if service.extra not in raw:
                # Another check names what it is computed from: a group without hosts, say.
                return {}
            why = str(error.message).rstrip(".")
            return {service.extra: f"the configuration of the {service.role} cannot be computed: {why}"}
        return config_faults(service, content, defaults[f"__{service.role}_config"], extra)
