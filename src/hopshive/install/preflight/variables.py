"""Checks of an inventory's variables: their names, types and files, and those that must be the same for all hosts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping

from hopshive.install.preflight import values
from hopshive.install.preflight.database import PASSWORDS
from hopshive.install.preflight.inventory import HostVariables, Inventory, whole_number
from hopshive.install.preflight.problem import Problem, listed, merged, nearest
from hopshive.services.components import COMPONENTS

# The users that services and Spark's jobs run as. cluster_users must name all of them.
SERVICE_USERS = ("hdfs", "yarn", "hive", "zookeeper", "spark", "hopshive")
# Variables that older releases had: the old name, and the new one or None if there is none.
RENAMED: Mapping[str, str | None] = {
    "cluster_ndb_driver_home": "cluster_jdbc_driver_home",
    "ndb_driver_packages": None,
}
# Variables with a role's prefix that no argument specification has: of playbooks and of the labs' inventories.
OF_PLAYBOOKS = frozenset(
    {
        "artifacts_update_product",
        "lab_ip",
        "lab_number",
        "lab_people",
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
# Variables of one component that other components use too: all hosts need the same value.
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
        "cluster_login_db_user",
        "cluster_login_port",
        "cluster_server2_thrift_http_port",
        "cluster_metastore_database",
        "cluster_metastore_database_user",
        "cluster_name",
        "cluster_nameservice",
        "cluster_server2_namespace",
        "cluster_state_schema",
        "cluster_tls",
        "cluster_tls_dir",
        "cluster_tls_group",
        "cluster_undo_seconds",
        "cluster_users",
        "cluster_without",
        "cluster_warehouse",
        "cluster_warehouse_external",
        "cluster_warehouse_group",
        "cluster_warehouse_managed",
    }
)
# A prefix that no role has. A variable with it is a mistake.
BUNDLE = "hopshive"
# The smallest heap, in MiB, with which a daemon starts.
LEAST_HEAP = 64
# The variable with names and patterns of a site's own variables that begin like a role's.
OWN_VARIABLES = "preflight_own_variables"
_TYPES_IN_WORDS = {
    "int": "a whole number",
    "bool": "true or false",
    "str": "a text",
    "path": "a path",
    "float": "a number",
    "list": "a list",
    "dict": "a mapping",
}


def role_of(variable: str, roles: Iterable[str]) -> str | None:
    """The role with the longest name that is a prefix of the variable: `ndb_sql` before `ndb`; None without one."""
    return max((role for role in roles if variable.startswith(f"{role}_")), key=len, default=None)


def _is_own(name: str, variables: HostVariables) -> bool:
    """Whether a variable is no role's, although its name begins with a role's name."""
    own = variables.values.get(OWN_VARIABLES)
    patterns = own if isinstance(own, list | tuple) else ()
    return name in OF_PLAYBOOKS or any(fnmatch.fnmatchcase(name, str(pattern)) for pattern in patterns)


def check_users(inventory: Inventory) -> Iterator[Problem]:
    """cluster_users names all users, with numbers: a mapping in the inventory replaces the role's whole mapping."""
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
    """Each file of variables has the name of a group or host: Ansible ignores other files without a word."""
    hosts = {host for members in inventory.groups.values() for host in members}
    known = {
        "group_vars": ("group", {*inventory.groups, *COMPONENTS, "all", "ungrouped"}),
        "host_vars": ("host", hosts),
    }
    for place, (kind, names) in known.items():
        for name in inventory.named.get(place, ()):
            if name not in names:
                # A name that differs only in its number is a host that left, not a misspelling.
                left = kind == "host" and re.sub(r"\d+", "", name) in {re.sub(r"\d+", "", one) for one in names}
                hint = "" if left else nearest(name, sorted(names))
                yield Problem(
                    f"{inventory.directory}/{place} has variables for {name}, but the inventory has no {kind} of that name,"
                    f" so no host gets them: {hint or 'remove them, or name it in the inventory'}",
                    warning=not hint,
                )


def check_names(inventory: Inventory, types: Mapping[str, str], renamed: Mapping[str, str | None]) -> Iterator[Problem]:
    """Variables that nothing reads: unknown ones, and those of older releases."""
    findings = []
    for host, variables in inventory.hosts.items():
        for name in sorted(variables.given):
            if name in renamed:
                new = renamed[name]
                advice = f"is now called {new}: rename it" if new else "no longer exists: remove it"
                findings.append((f"The variable {name} {advice} (set for {{hosts}})", host))
            elif role_of(name, (*inventory.roles, BUNDLE)) and name not in types and not _is_own(name, variables):
                hint = (
                    nearest(name, types)
                    or nearest(name.removeprefix(f"{BUNDLE}_"), types)
                    or "docs/variables.md lists all variables."
                )
                findings.append((f"The variable {name} is unknown: {hint} (set for {{hosts}})", host))
    yield from merged(findings, inventory.hosts)


def check_types(inventory: Inventory, types: Mapping[str, str]) -> Iterator[Problem]:
    """Each value can be computed, has the type of its specification, and can be used."""
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
                # The message does not quote whole settings: they may hold a secret.
                said = name if isinstance(value, Mapping) else f"{name} is {value!r}"
                findings.append((f"{said}: {reason} (for {{hosts}})", host))
        for name in sorted(variables.invalid.keys() - variables.given):
            findings.append((f"{name} cannot be used ({variables.invalid[name]}): correct it (for {{hosts}})", host))
    yield from merged(findings, inventory.hosts)


def check_shared(inventory: Inventory) -> Iterator[Problem]:
    """Each variable of SHARED that the inventory sets is the same for all hosts."""
    for name in sorted(SHARED & {name for variables in inventory.hosts.values() for name in variables.given}):
        found: dict[str, list[str]] = {}
        for host, variables in inventory.hosts.items():
            if name in variables.values:
                found.setdefault(str(variables.values[name]), []).append(host)
        if len(found) > 1:
            parts = [f"{value} for {listed(hosts)}" for value, hosts in sorted(found.items(), key=lambda item: item[1])]
            yield Problem(
                f"{name} is {'; '.join(parts)}: all hosts need the same value, so set it once, in"
                f" {inventory.directory}/group_vars/all/"
            )


def _wanted(name: str, kind: str, value: object) -> str:
    """What a value of the wrong type must be, in words; empty if the type is right."""
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
    return "" if fits else _TYPES_IN_WORDS[kind]
