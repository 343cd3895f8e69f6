"""The filter that says which ports a host opens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from hopshive.services.firewall.ports import VARIABLES, openings


def firewall_openings(
    values: Mapping[str, Any], host: str, groups: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """The openings of a host for the components of its groups. `values`: ports by the name of their variable."""
    if lacking := [name for name in VARIABLES if name not in values]:
        raise AnsibleFilterError(f"firewall_openings: no value of {', '.join(lacking)}.")
    return [asdict(one) for one in openings(values, host, groups)]


def firewall_members(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """By host, the names and addresses from which it opens connections: cluster_address, and cluster_firewall_addresses."""
    return {
        host: [
            str(hostvars[host].get("cluster_address", host)),
            *map(str, hostvars[host].get("cluster_firewall_addresses", [])),
        ]
        for host in hosts
    }


def firewall_ports(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Each variable's name with its value."""
    return dict(zip(names, values, strict=True))


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "firewall_members": firewall_members,
            "firewall_openings": firewall_openings,
            "firewall_ports": firewall_ports,
        }
