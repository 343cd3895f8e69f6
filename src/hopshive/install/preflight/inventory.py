"""Checks of the inventory alone: its groups, and the variables that its hosts get. No host is asked."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hopshive.install.preflight import values
from hopshive.install.preflight.problem import Problem, listed, merged
from hopshive.install.preflight.queues import PREFIX, Queue, called, capacity_faults, leaf_queues
from hopshive.services.components import COMPONENTS, ROOT_GROUP

# Each password, with the variable of its user and the components whose hosts need it.
PASSWORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cluster_metastore_database_password": (
        "cluster_metastore_database_user",
        ("mariadb", "ndb_sql", "metastore", "server2"),
    ),
    "cluster_cleaner_db_password": ("cluster_cleaner_db_user", ("mariadb", "ndb_sql", "cleaner")),
}
PASSWORD_LENGTH = 12
# What can hold the metastore's database, and the components that it needs.
DATABASES: Mapping[str, tuple[str, ...]] = {"mariadb": ("mariadb",), "ndb": ("ndb_management", "ndb_data", "ndb_sql")}
# Words that stand in examples; digits and signs around them do not help.
COMMON_PASSWORD = re.compile(
    "admin|change(it|me)|default|example|hadoop|hive|hiveuser|hopshive|keystore|mariadb|metastore|mysql"
    "|pass|passwd|password|qwerty|root|secret|test|warehouse|welcome"
)
COMPACTION_QUEUE = "server2_compaction_queue"
# YARN takes nothing back from a queue that is less than such a part above its share.
UNTOUCHED = 0.1
# Whom the services run as, and Spark's jobs: those of cluster_users that no inventory can do without.
SERVICE_USERS = ("hdfs", "yarn", "hive", "zookeeper", "spark", "hopshive")
# What YARN gives an executor besides its memory (spark.executor.memoryOverheadFactor and its minimum).
SPARK_OVERHEAD = 0.1
SPARK_LEAST_OVERHEAD_MB = 384
# Tags that Ansible itself knows, and those that Molecule skips in its runs.
SPECIAL_TAGS = (
    *("all", "always", "never", "tagged", "untagged"),
    *("notest", "molecule-notest", "molecule-idempotence-notest"),
)
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


# Where a site may name a database of its own, and by which property.
JDBC_SITES = ("cluster_hive_site_extra", "metastore_hive_site_extra", "server2_hive_site_extra")
JDBC_URL = "javax.jdo.option.ConnectionURL"


@dataclass(frozen=True)
class HostVariables:
    """The variables of one host.

    `values` are the effective ones, defaults included; `given` are the names that the user set; `broken` are those
    that could not be computed, with the reason; `invalid` are those that the role or its daemon would refuse, likewise.
    A variable of a role that the host does not have is among `given` only.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    broken: Mapping[str, str] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """The value as a whole number; None if it is none, or unset."""
        return _number(self.values.get(name))

    def true(self, name: str) -> bool:
        """Whether the value is true, in any of the spellings that the command line knows."""
        return str(self.values.get(name)).lower() in {"true", "yes"}


@dataclass(frozen=True)
class Inventory:
    """The groups with their hosts (children's included), the direct children of `hopshive`, each host's variables.

    `directory` is where the inventory lies, for advice. `roles` are those whose prefix no other variable may have.
    `named` are those whom files and directories below `group_vars` and `host_vars` are called by.
    """

    groups: Mapping[str, tuple[str, ...]]
    components: tuple[str, ...]
    hosts: Mapping[str, HostVariables]
    directory: str = "inventories/prod"
    roles: tuple[str, ...] = ("cluster",)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def members(self, component: str) -> tuple[str, ...]:
        """The hosts of a component."""
        return self.groups.get(component, ())

    def components_of(self, host: str) -> list[str]:
        """The components placed on a host, in the order of the table of components."""
        return [name for name in COMPONENTS if host in self.members(name)]


def check_inventory(
    inventory: Inventory,
    types: Mapping[str, str],
    renamed: Mapping[str, str | None] = RENAMED,
) -> list[Problem]:
    """Every problem of an inventory.

    `types` maps each variable of the roles to its type in the role's argument specification.
    """
    return [
        *_check_groups(inventory),
        *_check_placement(inventory),
        *_check_database(inventory),
        *_check_drivers(inventory),
        *_check_ids(inventory),
        *_check_addresses(inventory),
        *_check_users(inventory),
        *_check_spark(inventory),
        *_check_files(inventory),
        *_check_names(inventory, types, renamed),
        *_check_types(inventory, types),
        *_check_shared(inventory),
        *(problem for name in PASSWORDS for problem in _check_password(inventory, name)),
        *_check_ports(inventory, types),
        *_check_containers(inventory),
        *_check_sessions(inventory),
        *_check_queues(inventory),
    ]


def check_tags(asked: Mapping[str, Iterable[str]], known: Iterable[str]) -> list[Problem]:
    """Tags that no task has, by option of the command line: with one of them a run does nothing, or more than was meant."""
    names = sorted({*known} - {"always", "never"})
    return [
        Problem(f"{option} {tag}: no task has this tag; {_nearest(tag, names) or 'there are ' + ', '.join(names)}")
        for option, tags in asked.items()
        for tag in tags
        if tag not in {*names, *SPECIAL_TAGS}
    ]


def component_of(variable: str, ending: str) -> str | None:
    """The component that a variable such as `cluster_metastore_port` (ending `port`) belongs to, by its name."""
    for name in COMPONENTS:
        if re.fullmatch(rf"cluster_{name}_(?:\w+_)?{ending}", variable):
            return name
    return None


def ports_of(inventory: Inventory, host: str, names: Iterable[str]) -> dict[str, int]:
    """The ports that the components placed on a host listen on: variable and port."""
    placed = set(inventory.components_of(host))
    ports = {}
    for name in names:
        port = inventory.hosts[host].number(name)
        if port is not None and component_of(name, "port") in placed:
            ports[name] = port
    return ports


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""


def _check_groups(inventory: Inventory) -> Iterator[Problem]:
    if ROOT_GROUP not in inventory.groups:
        yield Problem(
            f"The inventory has no group {ROOT_GROUP}: put the component groups ({', '.join(COMPONENTS)}) beneath it"
        )
        return
    for group in inventory.components:
        if group not in COMPONENTS:
            hint = _nearest(group, COMPONENTS) or f"the components are {', '.join(COMPONENTS)}."
            yield Problem(
                f"The group {group} beneath {ROOT_GROUP} is no component: {hint}"
                f" Groups of your own stand beside {ROOT_GROUP}, not beneath it"
            )
    for name, component in COMPONENTS.items():
        if component.required and not inventory.members(name):
            yield Problem(f"The group {name} has no host: name at least one beneath {ROOT_GROUP}")
    for host in inventory.groups[ROOT_GROUP]:
        if not inventory.components_of(host):
            yield Problem(
                f"The host {host} is in no component group, so nothing would run on it: put it into one of"
                f" {', '.join(COMPONENTS)}, or take it out of {ROOT_GROUP}"
            )


def _check_placement(inventory: Inventory) -> Iterator[Problem]:
    single = {
        "mariadb": "the metastore has one MariaDB (metastore_database: ndb has no single point of failure)",
        "ndb_management": "data and SQL nodes work on without it, so one is enough",
    }
    for name, component in COMPONENTS.items():
        hosts = inventory.members(name)
        if not component.replicated and len(hosts) > 1:
            yield Problem(
                f"The group {name} has {len(hosts)} hosts ({listed(hosts)}): {single[name]}, so leave one host in it"
            )
    yield from _check_namenodes(inventory)
    followed = [
        host for host, variables in inventory.hosts.items() if variables.values.get("cluster_consistency") == "present"
    ]
    if followed and not inventory.members("cleaner"):
        yield Problem(
            "The group cleaner has no host, but cluster_consistency is present: name at least one beneath"
            f" {ROOT_GROUP}, or nobody lets the metastore follow the file system"
        )
    for group in ("zookeeper", "journalnode"):
        quorum = inventory.members(group)
        if quorum and len(quorum) % 2 == 0:
            yield Problem(
                f"The group {group} has {len(quorum)} hosts ({listed(quorum)}): an even number survives no more failures"
                f" than {len(quorum) - 1}, so add one or take one out"
            )


def _check_namenodes(inventory: Inventory) -> Iterator[Problem]:
    """Several NameNodes share their edits through JournalNodes, and bear one name and ids of their own."""
    hosts = inventory.members("namenode")
    journals = inventory.members("journalnode")
    if len(hosts) < 2:
        if journals:
            yield Problem(
                f"The group journalnode has hosts ({listed(journals)}), but namenode has {len(hosts)}: JournalNodes share the"
                " edits of several NameNodes, so add a second host to namenode, or take these out"
            )
        return
    if not journals:
        yield Problem(
            f"The group namenode has {len(hosts)} hosts ({listed(hosts)}), but journalnode has none: several NameNodes share"
            " their edits through JournalNodes, so name three hosts in it, or leave one host in namenode"
        )
    elif len(journals) == 1:
        yield Problem(
            f"The group journalnode has one host ({journals[0]}): without it no NameNode can work, so name three hosts in it"
        )
    names = {str(inventory.hosts[host].values.get("cluster_nameservice", "")): host for host in inventory.hosts}
    for name, host in sorted(names.items()):
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?", name):
            yield Problem(
                f"cluster_nameservice is {name!r} for {host}: it is the host part of hdfs:// URIs, so it must be letters, digits"
                " and hyphens"
            )


# Variables that number the hosts of a group, by group: each host's own, for ever.
IDS: Mapping[str, str] = {
    "zookeeper": "zookeeper_id",
    "namenode": "namenode_id",
    "resourcemanager": "resourcemanager_id",
    "ndb_data": "ndb_data_id",
    "ndb_sql": "ndb_sql_id",
}


def _check_ids(inventory: Inventory) -> Iterator[Problem]:
    for group, variable in IDS.items():
        holders: dict[str, list[str]] = {}
        for host in inventory.members(group):
            if (number := inventory.hosts[host].values.get(variable)) is not None:
                holders.setdefault(str(number), []).append(host)
        for value, hosts in holders.items():
            if len(hosts) > 1:
                yield Problem(f"{variable} is {value} for {listed(hosts)}: give each host of the group {group} its own")


def _check_addresses(inventory: Inventory) -> Iterator[Problem]:
    """Each host is a machine of its own, for the others and for Ansible."""
    known: dict[str, list[str]] = {}
    reached: dict[tuple[str, str], list[str]] = {}
    for host, variables in inventory.hosts.items():
        known.setdefault(str(variables.values.get("cluster_address") or host), []).append(host)
        target = variables.values.get("ansible_host")
        if target and str(variables.values.get("ansible_connection", "")).rpartition(".")[2] != "local":
            reached.setdefault((str(target), str(variables.values.get("ansible_port", ""))), []).append(host)
    for address, hosts in known.items():
        if len(hosts) > 1:
            yield Problem(f"cluster_address is {address} for {listed(hosts)}: give each host its own")
    for (target, _), hosts in reached.items():
        if len(hosts) > 1:
            yield Problem(
                f"ansible_host is {target} for {listed(hosts)}: each host of the inventory is a machine of its own"
            )


def _check_database(inventory: Inventory) -> Iterator[Problem]:
    """That one database is chosen, and that its components are placed."""
    chosen = {
        str(variables.values.get("cluster_database", "mariadb")): host for host, variables in inventory.hosts.items()
    }
    for name, host in sorted(chosen.items()):
        if name not in DATABASES:
            yield Problem(f"metastore_database is {name!r} for {host}: it must be {' or '.join(DATABASES)}")
    if len(chosen) > 1:
        said = ", ".join(f"{name} for {host}" for name, host in sorted(chosen.items()))
        yield Problem(f"metastore_database differs between hosts ({said}): set it in group_vars/all")
    if len(chosen) != 1 or (database := next(iter(chosen))) not in DATABASES:
        return
    for group in DATABASES[database]:
        if not inventory.members(group):
            yield Problem(
                f"The group {group} has no host, but metastore_database is {database}: name at least one beneath {ROOT_GROUP}"
            )
    for other, groups in DATABASES.items():
        for group in groups:
            if other != database and inventory.members(group):
                yield Problem(
                    f"The group {group} has hosts ({listed(inventory.members(group))}), but metastore_database is {database}:"
                    f" set it to {other}, or take them out"
                )
    if database == "ndb":
        yield from _check_ndb(inventory)


def _check_drivers(inventory: Inventory) -> Iterator[Problem]:
    """Without hopshive's JDBC driver MariaDB stores what does not fit as something else."""
    findings = []
    for host, variables in inventory.hosts.items():
        for name in JDBC_SITES:
            site = variables.values.get(name)
            url = str(site.get(JDBC_URL, "")) if isinstance(site, Mapping) else ""
            if url.startswith(("jdbc:mysql:", "jdbc:mariadb:")):
                driver = "ndb" if variables.values.get("cluster_database") == "ndb" else "strict"
                findings.append(
                    (
                        f"{JDBC_URL} in {name} begins with {url[: url.index(':', 5) + 1]} for {{hosts}}: a text that is too long"
                        f" would be cut without an error; begin it with jdbc:mysql+{driver}: (docs/limits.md)",
                        host,
                    )
                )
    yield from merged(findings, inventory.hosts)


def _check_ndb(inventory: Inventory) -> Iterator[Problem]:
    nodes = inventory.members("ndb_data")
    given = (inventory.hosts[host].number("ndb_management_replicas") for host in inventory.members("ndb_management"))
    replicas = next((number for number in given if number), 2)
    if len(nodes) % replicas:
        yield Problem(
            f"The group ndb_data has {len(nodes)} hosts ({listed(nodes)}): each row has {replicas} copies"
            f" (ndb_management_replicas), so their number must be a multiple of {replicas}"
        )
    both = [host for host in inventory.members("ndb_management") if host in nodes]
    if both:
        yield Problem(
            f"{both[0]} is in ndb_management and in ndb_data: without that host the other data nodes have nobody to ask whether"
            " they may go on, and end too, so place the management node on a host without a data node"
        )
    tarballs = [variables.values.get("artifacts_tarballs") for variables in inventory.hosts.values()]
    if not all(isinstance(one, Mapping) and "ndb" in one for one in tarballs):
        yield Problem(
            "metastore_database is ndb, but artifacts_tarballs has no entry ndb: name the tarball of MySQL NDB Cluster"
            " with source, sha256 and version (docs/ndb.md)"
        )


def role_of(variable: str, roles: Iterable[str]) -> str | None:
    """The role that a variable belongs to by its name: of `ndb` and `ndb_sql` the longer one."""
    return max((role for role in roles if variable.startswith(f"{role}_")), key=len, default=None)


def _is_own(name: str, variables: HostVariables) -> bool:
    """Whether the variable is not for a role, although its name begins like that of one."""
    own = variables.values.get(OWN_VARIABLES)
    patterns = own if isinstance(own, list | tuple) else ()
    return name in OF_PLAYBOOKS or any(fnmatch.fnmatchcase(name, str(pattern)) for pattern in patterns)


def _check_users(inventory: Inventory) -> Iterator[Problem]:
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
                if uid is not None and _number(uid) is None:
                    findings.append(
                        (f"cluster_users.{name}.uid is {uid!r}: it must be a whole number (for {{hosts}})", host)
                    )
    yield from merged(findings, inventory.hosts)


def _check_spark(inventory: Inventory) -> Iterator[Problem]:
    """YARN refuses each job whose queue it does not have, or whose executors are larger than any container."""
    scheduler = next(iter(inventory.members("resourcemanager")), None)
    if scheduler is None:
        return
    properties = inventory.hosts[scheduler].values.get("resourcemanager_queues")
    queues = leaf_queues(properties) if isinstance(properties, Mapping) else ()
    most = inventory.hosts[scheduler].number("cluster_container_max_mb")
    findings = []
    for host in inventory.members("client"):
        variables = inventory.hosts[host]
        defaults = variables.values.get("spark_defaults_extra")
        queue = defaults.get("spark.yarn.queue") if isinstance(defaults, Mapping) else None
        if queue and queues and called(queues, str(queue)) is None:
            known = ", ".join(one.path for one in queues)
            findings.append(
                (
                    f"spark_defaults_extra names the queue {queue!r} for {{hosts}}, but resourcemanager_queues has {known}",
                    host,
                )
            )
        size = variables.number("spark_executor_memory_mb")
        overhead = isinstance(defaults, Mapping) and any("memoryOverhead" in str(name) for name in defaults)
        if size is not None and most is not None and "spark_executor_memory_mb" in variables.given and not overhead:
            whole = size + max(round(size * SPARK_OVERHEAD), SPARK_LEAST_OVERHEAD_MB)
            if whole > most:
                findings.append(
                    (
                        f"spark_executor_memory_mb is {size} on {{hosts}}, {whole} MiB with its overhead, more than one container"
                        f" may have (cluster_container_max_mb, {most} MiB): lower it, or raise that",
                        host,
                    )
                )
    yield from merged(findings, inventory.hosts)


def _check_files(inventory: Inventory) -> Iterator[Problem]:
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
                hint = "" if left else _nearest(name, sorted(names))
                yield Problem(
                    f"{inventory.directory}/{place} has variables for {name}, but the inventory has no {kind} of that name,"
                    f" so nobody reads them: {hint or 'take them out, or name it in the inventory'}",
                    warning=not hint,
                )


def _check_names(
    inventory: Inventory, types: Mapping[str, str], renamed: Mapping[str, str | None]
) -> Iterator[Problem]:
    findings = []
    for host, variables in inventory.hosts.items():
        for name in sorted(variables.given):
            if name in renamed:
                new = renamed[name]
                advice = f"is now called {new}: rename it" if new else "has gone: remove it"
                findings.append((f"The variable {name} {advice} (set for {{hosts}})", host))
            elif role_of(name, (*inventory.roles, BUNDLE)) and name not in types and not _is_own(name, variables):
                hint = (
                    _nearest(name, types)
                    or _nearest(name.removeprefix(f"{BUNDLE}_"), types)
                    or "docs/variables.md lists those there are."
                )
                findings.append((f"The variable {name} is unknown: {hint} (set for {{hosts}})", host))
    yield from merged(findings, inventory.hosts)


def _check_types(inventory: Inventory, types: Mapping[str, str]) -> Iterator[Problem]:
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


def _check_shared(inventory: Inventory) -> Iterator[Problem]:
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
    number = _number(value)
    if kind == "int" and name.endswith("_port"):
        good = number is not None and 1024 <= number <= 65535
        return "" if good else "a port from 1024 to 65535 (the services run unprivileged)"
    if kind == "int" and name.endswith("_mb"):
        return "" if number is not None and number > 0 else "a whole number of MiB"
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


def _number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d+", value.strip()):
        return int(value)
    return None


def _check_password(inventory: Inventory, name: str) -> Iterator[Problem]:
    """One of PASSWORDS: set, of the user's own making, the same everywhere. It is never shown."""
    vault = f"{inventory.directory}/group_vars/all/vault.yml"
    advice = f"put one of your own into {vault} (ansible-vault create, or edit if it is there)"
    findings = []
    passwords = set()
    user, components = PASSWORDS[name]
    hosts = sorted({host for component in components for host in inventory.members(component)})
    for host in hosts:
        variables = inventory.hosts[host]
        password = variables.values.get(name)
        if name in variables.broken:
            findings.append((f"{name} cannot be computed ({variables.broken[name]}): {advice}", host))
            continue
        if password is None or password == "":
            findings.append((f"{name} is not set: {advice}", host))
            continue
        passwords.add(str(password))
        weakness = password_weakness(str(password), str(variables.values.get(user, "")))
        if weakness:
            findings.append((f"{name} {weakness}: {advice}", host))
    yield from merged(((f"{text} (for {{hosts}})", host) for text, host in findings), hosts)
    if len(passwords) > 1:
        yield Problem(f"{name} differs between the hosts of {listed(components)}: set it once, for all of them")


def password_weakness(password: str, user: str) -> str:
    """Why a password must not be used, without the password; empty if it may be."""
    if password.lower() == user.lower():
        return "is the name of its user"
    if COMMON_PASSWORD.fullmatch(re.sub(r"[\W\d_]+", "", password.lower())):
        return "is a word from the examples, known to everyone"
    if len(password) < PASSWORD_LENGTH:
        return f"has {len(password)} characters, fewer than {PASSWORD_LENGTH}"
    if len(set(password)) < 5:
        return "repeats a few characters"
    return ""


def _check_ports(inventory: Inventory, types: Mapping[str, str]) -> Iterator[Problem]:
    findings = []
    for host in inventory.hosts:
        users: dict[int, list[str]] = {}
        for name, port in ports_of(inventory, host, types).items():
            users.setdefault(port, []).append(name)
        for port, names in users.items():
            if len(names) > 1:
                findings.append(
                    (f"{' and '.join(names)} are both {port} on {{hosts}}: give each a port of its own", host)
                )
    yield from merged(findings, inventory.hosts)


def _check_containers(inventory: Inventory) -> Iterator[Problem]:
    """The ResourceManager grants containers up to its maximum; one that fits no NodeManager waits for ever."""
    offers = {
        host: offer
        for host in inventory.members("nodemanager")
        if (offer := inventory.hosts[host].number("cluster_nodemanager_memory_mb")) is not None
    }
    for scheduler in inventory.members("resourcemanager")[:1]:
        variables = inventory.hosts[scheduler]
        most = variables.number("cluster_container_max_mb")
        least = variables.number("cluster_container_min_mb")
        if most is None:
            continue
        if offers and most > max(offers.values()):
            yield Problem(
                f"cluster_container_max_mb is {most} MiB on {scheduler}, but no NodeManager offers more than"
                f" {max(offers.values())} MiB: lower it, or raise cluster_nodemanager_memory_mb; set both for all hosts"
            )
        if least is not None and least > most:
            yield Problem(f"cluster_container_min_mb ({least} MiB) is above cluster_container_max_mb ({most} MiB)")
        findings = []
        for host in sorted({host for name in ("server2", "client") for host in inventory.members(name)}):
            for name in ("cluster_tez_container_mb", "cluster_tez_am_mb"):
                size = inventory.hosts[host].number(name)
                if size is not None and size > most:
                    findings.append(
                        (
                            f"{name} is {size} MiB on {{hosts}}, more than one container may have"
                            f" (cluster_container_max_mb, {most} MiB): lower it, or raise that",
                            host,
                        )
                    )
        yield from merged(findings, inventory.hosts)


def _check_sessions(inventory: Inventory) -> Iterator[Problem]:
    """Each HiveServer2 holds its Tez sessions' application masters from its start; the tasks need room beside them."""
    need = 0
    parts = []
    for host in inventory.members("server2"):
        variables = inventory.hosts[host]
        sessions = variables.number("server2_tez_sessions_per_queue")
        queues = variables.values.get("server2_tez_queues")
        size = variables.number("cluster_tez_am_mb")
        if sessions is None or size is None or not isinstance(queues, list | tuple):
            return
        need += sessions * len(queues) * size
        parts.append(f"{host}: {sessions} x {len(queues)} x {size}")
    offer = _container_memory(inventory)
    if offer and need > offer / 2:
        yield Problem(
            f"The Tez sessions of server2 hold {need} MiB of application masters (server2_tez_sessions_per_queue x"
            f" server2_tez_queues x cluster_tez_am_mb; {listed(parts)}), more than half of the {offer} MiB that all"
            " NodeManagers offer: lower server2_tez_sessions_per_queue or cluster_tez_am_mb, or raise"
            " cluster_nodemanager_memory_mb"
        )


def _container_memory(inventory: Inventory) -> int:
    """What all NodeManagers offer to containers, in MiB."""
    offers = (
        inventory.hosts[host].number("cluster_nodemanager_memory_mb") for host in inventory.members("nodemanager")
    )
    return sum(offer or 0 for offer in offers)


def _check_queues(inventory: Inventory) -> Iterator[Problem]:
    """YARN refuses what names a queue that it does not have, and does not start with shares that make no whole."""
    for scheduler in inventory.members("resourcemanager")[:1]:
        properties = inventory.hosts[scheduler].values.get("resourcemanager_queues")
        if not isinstance(properties, Mapping):
            continue
        for fault in capacity_faults(properties):
            yield Problem(f"The ResourceManager would not start with resourcemanager_queues of {scheduler}: {fault}")
        queues = leaf_queues(properties)
        yield from _check_queue_names(inventory, queues, scheduler)
        yield from _check_shares(inventory, queues)


def _check_queue_names(inventory: Inventory, queues: Sequence[Queue], scheduler: str) -> Iterator[Problem]:
    unknown: dict[tuple[str, str], list[str]] = {}
    for host in inventory.members("server2"):
        for variable, name in _queues_of(inventory.hosts[host]):
            if called(queues, name) is None:
                unknown.setdefault((variable, name), []).append(host)
    known = ", ".join(queue.path for queue in queues) or "none"
    for (variable, name), hosts in unknown.items():
        yield Problem(
            f"{variable} names the queue {name!r} for {listed(hosts)}, but resourcemanager_queues of {scheduler} has no such"
            f" leaf queue (it has {known}): add it there with its capacity, less for the others, or name one of these"
        )


def _check_shares(inventory: Inventory, queues: Sequence[Queue]) -> Iterator[Problem]:
    """Beside applications that take all they can get, a queue has its share; who wants more waits."""
    offer = _container_memory(inventory)
    for queue in queues:
        pools = _masters(inventory, queues, queue, "server2_tez_queues")
        compactions = _masters(inventory, queues, queue, COMPACTION_QUEUE)
        if pools and compactions:
            yield Problem(
                f"Compactions run in the queue {queue.path} ({COMPACTION_QUEUE}), as the sessions of server2 do"
                " (server2_tez_queues): beside queries that take all containers none ends",
                warning=True,
            )
        if not offer or queue.share is None:
            continue
        share = queue.share * offer
        most = queue.masters * share
        need = sum(number * size for _, number, size in [*pools, *compactions])
        parts = listed(f"{host}: {number} x {size}" for host, number, size in [*pools, *compactions])
        if need > most + 1:
            yield Problem(
                f"server2 holds {need} MiB of application masters ({parts}) in the queue {queue.path}, whose share has room for"
                f" {most:.0f}: while other queues use theirs, some of them wait. Raise {PREFIX}{queue.path}.capacity or"
                " .maximum-am-resource-percent in resourcemanager_queues, or lower the number of sessions and workers",
                warning=True,
            )
        task = max(
            (inventory.hosts[host].number("cluster_tez_container_mb") or 0 for host, _, _ in compactions), default=0
        )
        back = share - UNTOUCHED * (offer - share)
        if compactions and not pools and need + task > back + 1:
            yield Problem(
                f"Compactions need {need + task} MiB in the queue {queue.path}: application masters ({parts}) and a task"
                f" (cluster_tez_container_mb). YARN brings back {back:.0f} of the {offer} MiB that all NodeManagers offer, so"
                f" beside queries that take all containers some wait: raise {PREFIX}{queue.path}.capacity in"
                " resourcemanager_queues, or lower server2_compactor_workers",
                warning=True,
            )


def _masters(inventory: Inventory, queues: Sequence[Queue], queue: Queue, variable: str) -> list[tuple[str, int, int]]:
    """The application masters that HiveServer2s hold in a queue that `variable` names: host, number, MiB of each."""
    number = "server2_compactor_workers" if variable == COMPACTION_QUEUE else "server2_tez_sessions_per_queue"
    found = []
    for host in inventory.members("server2"):
        variables = inventory.hosts[host]
        size = variables.number("cluster_tez_am_mb") or 0
        for by, name in _queues_of(variables):
            if by == variable and called(queues, name) == queue:
                found.append((host, variables.number(number) or 0, size))
    return found


def _queues_of(variables: HostVariables) -> Iterator[tuple[str, str]]:
    """The queues that a HiveServer2 names, each with the variable that does so."""
    if variables.number("server2_compactor_workers"):
        yield COMPACTION_QUEUE, str(variables.values.get(COMPACTION_QUEUE))
    pools = variables.values.get("server2_tez_queues")
    if isinstance(pools, list | tuple):
        yield from (("server2_tez_queues", str(name)) for name in pools)
