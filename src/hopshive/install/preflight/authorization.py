"""Checks of what keeps people from each other's tables: the policy of rows and columns, and who may grant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.config import ConfigError
from hopshive.install.preflight.problem import Problem, merged
from hopshive.tenancy import policy, projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hopshive.install.preflight.inventory import Inventory

GROUP = "server2"


def check_authorization(inventory: Inventory) -> Iterator[Problem]:
    """A HiveServer2 with SQL's authorization has an administrator, and a policy that can be used."""
    hosts = inventory.members(GROUP)
    findings = []
    for host in hosts:
        values = inventory.hosts[host].values
        if values.get("server2_authorization") == "sql":
            if not values.get("cluster_hive_administrators"):
                findings.append(
                    (
                        "cluster_hive_administrators is empty, so no user could grant anything (for {hosts}): name a user, or set"
                        " server2_authorization to storage",
                        host,
                    )
                )
            if values.get("server2_authentication") != "login":
                findings.append(
                    (
                        "server2_authentication is not login, so anyone could take the name and the privileges of another user"
                        " (for {hosts}): set it to login, or set server2_authorization to storage",
                        host,
                    )
                )
            findings += [(f"server2_policy: {fault} (for {{hosts}})", host) for fault in _faults(values)]
        elif values.get("server2_policy"):
            findings.append(
                (
                    "server2_policy names a policy, but nothing enforces it (for {hosts}): set server2_authorization to sql,"
                    " or leave server2_policy empty",
                    host,
                )
            )
    yield from merged(findings, hosts)


def _faults(values: Mapping[str, object]) -> Iterator[str]:
    place = str(values.get("server2_policy") or "")
    if not place:
        return
    try:
        found = projects.read(values.get("projects") or {})
    except ConfigError:
        # Another check names it.
        return
    members = {name: list(project.users) for name, project in found.items()}
    try:
        policy.read(Path(place).read_text(encoding="utf-8"), place, members or None)
    except (OSError, UnicodeDecodeError) as error:
        yield f"{place} cannot be read: {error}"
    except ConfigError as error:
        yield str(error)
