"""The variables of an inventory: their names, types and files, and those that all hosts must know alike."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping

from hopshive.install.preflight import values
from hopshive.install.preflight.database import PASSWORDS
from hopshive.install.preflight.inventory import HostVariables, Inventory, whole_number
from hopshive.install.preflight.problem import Problem, listed, merged, nearest
from hopshive.services.components import COMPONENTS

# Whom the services run as, and Spark's jobs: those of cluster_users that no inventory can do without.
SERVICE_USERS = ("hdfs", "yarn", "hive", "zookeeper", "spark", "hopshive")
# Variables that older releases had: the old name, and the new one or None if there is none.
RENAMED: Mapping[str, str | None] = {
    "cluster_ndb_driver_home": "cluster_jdbc_driver_home",
    "ndb_driver_packages": None,
}
# Variables with a role's prefix that no specification has: of playbooks, of the labs' inventories, the choice of a database.
OF_PLAYBOOKS = frozenset(
    {
        "artifacts_update_product",
        "lab_ip",
        "lab_number",
        "lab_secrets_dir",
        "metastore_database",
        "ndb_backup_fetch",
        "ndb_build_debian_version",
        "ndb_build_directory",
        "ndb_build_host",
        "ndb_build_jobs",
        "ndb_build_mirror",
        "ndb_build_nice",
        "ndb_build_sha256",
        "ndb_build_targets",
        "ndb_build_version",
        "ndb_restore_backup",
        "ndb_restore_databases",
        "ndb_restore_replace",
    }
)
# What one component has and others must know: set for the hosts of one group alone, the others would look in another place.
SHARED = frozenset(
    {
        *(f"cluster_{name}_port" for name in ("mariadb", "metastore", "ndb_management", "ndb_sql", "journalnode_rpc")),
        *(f"cluster_namenode_{name}_port" for name in ("rpc", "http", "failover")),
        *(f"cluster_resourcemanager_{name}port" for name in ("", "scheduler_", "tracker_", "admin_")),
        *(f"cluster_zookeeper_{name}_port" for name in ("client", "peer", "election")),
        "cluster_cleaner_db_user",
        "cluster_consistency",
        "cluster_group",
        "cluster_inode_source",
        "cluster_inode_table",
        "cluster_metastore_database",
        "cluster_metastore_database_user",
        "cluster_name",
        "cluster_nameservice",
        "cluster_server2_namespace",
        "cluster_state_schema",
        "cluster_undo_seconds",
        "cluster_users",
        "cluster_warehouse",
        "cluster_warehouse_external",
        "cluster_warehouse_group",
        "cluster_warehouse_managed",
    }
)
# Begins names as a role's does, although there is none: of modules, and of what people take for a variable.
BUNDLE = "hopshive"
# MiB of heap with less than which no daemon of these starts.
LEAST_HEAP = 64
# Names and patterns of a site's own variables that begin like a role's.
OWN_VARIABLES = "preflight_own_variables"
_KINDS = {
    "int": "a whole number",
    "bool": "true or false",
    "str": "a text",
    "path": "a path",
    "float": "a number",
    "list": "a list",
    "dict": "a mapping",
}


def role_of(variable: str, roles: Iterable[str]) -> str | None:
    """The role that a variable belongs to by its name: of `ndb` and `ndb_sql` the longer one."""
    return max((role for role in roles if variable.startswith(f"{role}_")), key=len, default=None)


def _is_own(name: str, variables: HostVariables) -> bool:
    """Whether the variable is not for a role, although its name begins like that of one."""
    own = variables.values.get(OWN_VARIABLES)
    patterns = own if isinstance(own, list | tuple) else ()
    return name in OF_PLAYBOOKS or any(fnmatch.fnmatchcase(name, str(pattern)) for pattern in patterns)


def check_users(inventory: Inventory) -> Iterator[Problem]:
    """A mapping in the inventory replaces the role's; who is missing in it, or has no number, would be made nowhere."""
    findings = []
    for host, variables in inventory.hosts.items():
        users = variables.values.get("cluster_users")
        if not isinstance(users, Mapping):
            continue
        if "cluster_users" in variables.given:
            missing = [name for name in SERVICE_USERS if name not in users]
            if missing and variables.true("cluster_manage_users"):
                findings.append(
                    (f"cluster_users lacks {', '.join(missing)} (for {{hosts}}): name all users in it", host)
                )
            for name, user in users.items():
                uid = user.get("uid") if isinstance(user, Mapping) else None
                if uid is not None and whole_number(uid) is None:
                    findings.append(
                        (f"cluster_users.{name}.uid is {uid!r}: it must be a whole number (for {{hosts}})", host)
                    )
    yield from merged(findings, inventory.hosts)


def check_files(inventory: Inventory) -> Iterator[Problem]:
    """Ansible passes over what is called by no group and no host; a slip of the pen would go unseen."""
    hosts = {host for members in inventory.groups.values() for host in members}
    known = {
        "group_vars": ("group", {*inventory.groups, *COMPONENTS, "all", "ungrouped"}),
        "host_vars": ("host", hosts),
    }
    for place, (kind, names) in known.items():
        for name in inventory.named.get(place, ()):
            if name not in names:
                # A host that left has another number, and is no slip of the pen.
                left = kind == "host" and re.sub(r"\d+", "", name) in {re.sub(r"\d+", "", one) for one in names}
                hint = "" if left else nearest(name, sorted(names))
                yield Problem(
                    f"{inventory.directory}/{place} has variables for {name}, but the inventory has no {kind} of that name,"
                    f" so nobody reads them: {hint or 'take them out, or name it in the inventory'}",
                    warning=not hint,
                )


def check_names(inventory: Inventory, types: Mapping[str, str], renamed: Mapping[str, str | None]) -> Iterator[Problem]:
    """Variables that nothing reads: unknown ones, and those of older releases."""
    findings = []
    for host, variables in inventory.hosts.items():
        for name in sorted(variables.given):
            if name in renamed:
                new = renamed[name]
                advice = f"is now called {new}: rename it" if new else "has gone: remove it"
                findings.append((f"The variable {name} {advice} (set for {{hosts}})", host))
            elif role_of(name, (*inventory.roles, BUNDLE)) and name not in types and not _is_own(name, variables):
                hint = (
                    nearest(name, types)
                    or nearest(name.removeprefix(f"{BUNDLE}_"), types)
                    or "docs/variables.md lists those there are."
                )
                findings.append((f"The variable {name} is unknown: {hint} (set for {{hosts}})", host))
    yield from merged(findings, inventory.hosts)


def check_types(inventory: Inventory, types: Mapping[str, str]) -> Iterator[Problem]:
    """Values that are of another type, cannot be computed or cannot be used."""
    findings = []
    for host, variables in inventory.hosts.items():
        for name, reason in variables.broken.items():
            if name in types and name not in PASSWORDS:
                findings.append((f"{name} cannot be computed ({reason}): correct it (for {{hosts}})", host))
        for name, kind in types.items():
            if name not in variables.given or name not in variables.values or name in PASSWORDS:
                continue
            value = variables.values[name]
            wanted = _wanted(name, kind, value)
            if wanted:
                findings.append((f"{name} is {value!r}: it must be {wanted} (for {{hosts}})", host))
            elif name in variables.invalid:
                findings.append(
                    (f"{name} cannot be used ({variables.invalid[name]}): correct it (for {{hosts}})", host)
                )
            elif reason := values.fault(name, kind, value):
                # Settings are not quoted as a whole: they may hold a secret.
                said = name if isinstance(value, Mapping) else f"{name} is {value!r}"
                findings.append((f"{said}: {reason} (for {{hosts}})", host))
        for name in sorted(variables.invalid.keys() - variables.given):
            findings.append((f"{name} cannot be used ({variables.invalid[name]}): correct it (for {{hosts}})", host))
    yield from merged(findings, inventory.hosts)


def check_shared(inventory: Inventory) -> Iterator[Problem]:
    """Each of SHARED that somebody has set is the same for all hosts. Those that cannot be computed are told elsewhere."""
    for name in sorted(SHARED & {name for variables in inventory.hosts.values() for name in variables.given}):
        found: dict[str, list[str]] = {}
        for host, variables in inventory.hosts.items():
            if name in variables.values:
                found.setdefault(str(variables.values[name]), []).append(host)
        if len(found) > 1:
            parts = [f"{value} for {listed(hosts)}" for value, hosts in sorted(found.items(), key=lambda item: item[1])]
            yield Problem(
                f"{name} is {'; '.join(parts)}: all hosts must know it alike, so set it once, in"
                f" {inventory.directory}/group_vars/all/"
            )


def _wanted(name: str, kind: str, value: object) -> str:
    """What a value should have been; empty if it is that."""
    number = whole_number(value)
    if kind == "int" and name.endswith("_port"):
        good = number is not None and 1024 <= number <= 65535
        return "" if good else "a port from 1024 to 65535 (the services run unprivileged)"
    if kind == "int" and name.endswith("_mb"):
        least = LEAST_HEAP if name.endswith("_heap_mb") else 1
        return "" if number is not None and number >= least else f"a whole number of MiB, {least} or more"
    fits = {
        "int": number is not None,
        "float": number is not None or isinstance(value, float),
        "bool": isinstance(value, bool) or str(value).lower() in {"true", "false", "yes", "no"},
        "str": isinstance(value, str | int | float) and not isinstance(value, bool),
        "path": isinstance(value, str),
        "list": isinstance(value, list | tuple),
        "dict": isinstance(value, Mapping),
    }.get(kind, True)
    return "" if fits else _KINDS[kind]
