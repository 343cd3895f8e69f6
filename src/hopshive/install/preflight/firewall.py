"""Checks of the firewall: values of which rules can be made, and hosts that take rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.install.preflight.problem import Problem, merged
from hopshive.services.firewall.rules import RuleError, Rules, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import HostVariables, Inventory

SOURCES = ("clients", "monitoring", "ssh")
# The shortest trial in which Ansible can come back.
LEAST_ROLLBACK = 10


def asks_for_nft(variables: HostVariables) -> bool:
    """Whether a host gets rules."""
    return variables.true("cluster_firewall")


def check_firewall(inventory: Inventory) -> Iterator[Problem]:
    """Networks, ports and further openings are such that rules can be made of them, on all hosts or on none."""
    findings = []
    for host, variables in inventory.hosts.items():
        values = variables.values
        if not asks_for_nft(variables):
            continue
        extra = [
            one if isinstance(one, dict) else {"from": one} for one in _listed(values.get("cluster_firewall_extra"))
        ]
        for source in SOURCES:
            networks = {source: [str(one) for one in _listed(values.get(f"cluster_firewall_{source}"))]}
            try:
                render(Rules({}, networks, (), (), extra=extra if source == SOURCES[0] else ()))
            except RuleError as error:
                findings.append((f"{error} (for {{hosts}})", host))
        rollback = variables.number("cluster_firewall_rollback")
        if rollback is not None and rollback < LEAST_ROLLBACK:
            findings.append(
                (
                    f"cluster_firewall_rollback is {rollback} for {{hosts}}: Ansible needs {LEAST_ROLLBACK} s or more"
                    " to come back",
                    host,
                )
            )
    yield from merged(findings, inventory.hosts)


def check_nft(host: str, reason: str | None) -> Iterator[Problem]:
    """A host with cluster_firewall has nft, and may change its network."""
    if reason:
        yield Problem(
            f"The host {host} takes no firewall rules ({reason}): install the package nftables there, give a container the"
            " capability NET_ADMIN, or set cluster_firewall to false"
        )


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
