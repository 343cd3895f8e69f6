"""Checks of groups and hosts: which component runs where, with which number, address and port."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hopshive.install.preflight.inventory import Inventory, ports_of
from hopshive.install.preflight.problem import Problem, listed, merged, nearest
from hopshive.services.components import COMPONENTS, ROOT_GROUP


def check_groups(inventory: Inventory) -> Iterator[Problem]:
    """Each group is a component's, required groups have hosts, and each host has a component."""
    if ROOT_GROUP not in inventory.groups:
        yield Problem(
            f"The inventory has no group {ROOT_GROUP}: put the component groups ({', '.join(COMPONENTS)}) below it"
        )
        return
    for group in inventory.components:
        if group not in COMPONENTS:
            hint = nearest(group, COMPONENTS) or f"the components are {', '.join(COMPONENTS)}."
            yield Problem(
                f"The group {group} below {ROOT_GROUP} is not a component: {hint}"
                f" Groups of your own belong beside {ROOT_GROUP}, not below it"
            )
    for name, component in COMPONENTS.items():
        if component.required and not inventory.members(name):
            yield Problem(f"The group {name} has no host: name at least one below {ROOT_GROUP}")
    for host in inventory.groups[ROOT_GROUP]:
        if not inventory.components_of(host):
            yield Problem(
                f"The host {host} is in no component group, so nothing would run on it: put it into one of"
                f" {', '.join(COMPONENTS)}, or take it out of {ROOT_GROUP}"
            )


def check_placement(inventory: Inventory) -> Iterator[Problem]:
    """Each component has a number of hosts that works."""
    single = {
        "mariadb": "the metastore has one MariaDB (metastore_database: ndb has no single point of failure)",
        "ndb_management": "data and SQL nodes continue without it, so one is enough",
    }
    for name, component in COMPONENTS.items():
        hosts = inventory.members(name)
        if not component.replicated and len(hosts) > 1:
            yield Problem(
                f"The group {name} has {len(hosts)} hosts ({listed(hosts)}): {single[name]}, so leave one host in it"
            )
    yield from check_namenodes(inventory)
    followed = [
        host for host, variables in inventory.hosts.items() if variables.values.get("cluster_consistency") == "present"
    ]
    if followed and not inventory.members("cleaner"):
        yield Problem(
            "The group cleaner has no host, but cluster_consistency is present: without a cleaner the metastore does not"
            f" follow HDFS, so name at least one host below {ROOT_GROUP}"
        )
    for group in ("zookeeper", "journalnode"):
        quorum = inventory.members(group)
        if quorum and len(quorum) % 2 == 0:
            yield Problem(
                f"The group {group} has {len(quorum)} hosts ({listed(quorum)}): an even number survives no more failures"
                f" than {len(quorum) - 1}, so add one or take one out"
            )


def check_namenodes(inventory: Inventory) -> Iterator[Problem]:
    """Several NameNodes have JournalNodes to share their edits, and a nameservice that can be part of a URI."""
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


# For each group, the variable with a host's number, which never changes.
IDS: Mapping[str, str] = {
    "zookeeper": "zookeeper_id",
    "namenode": "namenode_id",
    "resourcemanager": "resourcemanager_id",
    "ndb_data": "ndb_data_id",
    "ndb_sql": "ndb_sql_id",
}


def check_ids(inventory: Inventory) -> Iterator[Problem]:
    """Each host of a group has a number of its own."""
    for group, variable in IDS.items():
        holders: dict[str, list[str]] = {}
        for host in inventory.members(group):
            if (number := inventory.hosts[host].values.get(variable)) is not None:
                holders.setdefault(str(number), []).append(host)
        for value, hosts in holders.items():
            if len(hosts) > 1:
                yield Problem(f"{variable} is {value} for {listed(hosts)}: give each host of the group {group} its own")


def check_addresses(inventory: Inventory) -> Iterator[Problem]:
    """Each host has an address of its own, for the other hosts and for Ansible."""
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


def check_ports(inventory: Inventory, types: Mapping[str, str]) -> Iterator[Problem]:
    """Each service of a host has a port of its own."""
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
