"""Checks of the projects in an inventory: names, numbers and keys of members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.config import ConfigError
from hopshive.install.preflight.problem import Problem, merged
from hopshive.tenancy.projects import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import Inventory

# People log in to its hosts.
GROUP = "client"


def check_projects(inventory: Inventory) -> Iterator[Problem]:
    """The variable is one that the role takes, and keys have hosts that they open."""
    findings = []
    for host, variables in inventory.hosts.items():
        try:
            projects = read(variables.values.get("projects") or {})
        except ConfigError as error:
            findings.append((f"{str(error).rstrip('.')} (for {{hosts}})", host))
            continue
        keys = sorted(user for project in projects.values() for user in project.ssh_keys)
        if keys and not inventory.members(GROUP):
            findings.append(
                (
                    f"projects has ssh_keys for {', '.join(keys)} (for {{hosts}}), and no host is in the group {GROUP}: name"
                    " hosts that members log in to, or take the keys out",
                    host,
                )
            )
    yield from merged(findings, inventory.hosts)
