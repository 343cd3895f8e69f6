"""Filters that turn the inventory's groups into addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from hopshive.services.components import COMPONENTS


def addresses(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The name by which others reach each host: its `cluster_address` in the inventory, or its inventory name."""
    return [str(hostvars[host].get("cluster_address", host)) for host in hosts]


def values_by_host(
    hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], variable: str, default: Any = None
) -> dict[str, Any]:
    """The value of a variable on each host. A host without it gets the default; without a default that is an error."""
    found: dict[str, Any] = {}
    for host in hosts:
        value = hostvars[host].get(variable, default)
        if value is None:
            raise AnsibleFilterError(f"{host} has no variable {variable}.")
        found[host] = value
    return found


def units_beside(components: Iterable[str], host: str, groups: Mapping[str, Iterable[str]]) -> list[str]:
    """The units, with `.service`, of those components whose group has the host."""
    return [f"{COMPONENTS[name].unit}.service" for name in components if host in groups.get(name, ())]


def endpoints(names: Iterable[str], port: int | str, scheme: str = "") -> list[str]:
    """`name:port` for each name, behind an optional scheme such as `thrift://`."""
    return [f"{scheme}{name}:{port}" for name in names]


def numbered(
    hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]], variable: str, prefix: str, first: int = 1
) -> dict[str, str]:
    """The address of each host by its id.

    That is the host's `variable` in the inventory, or the prefix and its place counted from `first`: `nn1`, `nn2`.
    """
    return {
        str(hostvars[host].get(variable, f"{prefix}{place}")): str(hostvars[host].get("cluster_address", host))
        for place, host in enumerate(hosts, start=first)
    }


def others(hosts: Iterable[str], own: str) -> list[str]:
    """All of the hosts but one."""
    return [host for host in hosts if host != own]


def unlisted(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """The hosts, of a loop of `lineinfile` with `state: absent` over them, on which the module could not look."""
    # It found lines, or no file.
    return [result["item"] for result in results if "found" not in result and result.get("msg") != "file not present"]


def daemon_addresses(ids: Mapping[str, str], ports: Mapping[str, int | str], service: str = "") -> dict[str, str]:
    """Hadoop's properties for the addresses of one daemon or of several.

    `ids` are addresses by id, `ports` the port of each property, empty for an address alone. One daemon has the property
    itself (`yarn.resourcemanager.address`), several have one for each id (`yarn.resourcemanager.address.rm1`), behind the
    name of their service if they have one (`dfs.namenode.rpc-address.warehouse.nn1`).
    """
    behind = {key: "".join(f".{part}" for part in (service, key) if part) if len(ids) > 1 else "" for key in ids}
    return {
        f"{name}{behind[key]}": f"{address}:{port}" if port else address
        for name, port in ports.items()
        for key, address in ids.items()
    }


def own_first(hosts: Iterable[str], own: str) -> list[str]:
    """A host itself, if it is among them, and those that follow it, round to the one before it.

    So that clients on hosts without one of their own, and those whose own is down, do not all use the same.
    """
    listed = list(hosts)
    at = listed.index(own) if own in listed else sum(own.encode()) % max(1, len(listed))
    return listed[at:] + listed[:at]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "addresses": addresses,
            "daemon_addresses": daemon_addresses,
            "endpoints": endpoints,
            "numbered": numbered,
            "others": others,
            "own_first": own_first,
            "units_beside": units_beside,
            "unlisted": unlisted,
            "values_by_host": values_by_host,
        }
