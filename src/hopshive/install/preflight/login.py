"""Checks of the login service in an inventory: what it cannot work without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.install.preflight.problem import Problem, merged
from hopshive.install.preflight.users import lacking_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import Inventory

GROUP = "login"


def check_login(inventory: Inventory) -> Iterator[Problem]:
    """The service has its tables, its user and its people."""
    hosts = inventory.members(GROUP)
    findings = []
    for host in hosts:
        values = inventory.hosts[host].values
        if values.get("cluster_consistency") == "absent":
            findings.append(
                (
                    "cluster_consistency is absent, but the login service keeps its tables in hopshive's schema"
                    " (for {hosts}): set it to present, or take the hosts out of the group login",
                    host,
                )
            )
        findings += [(text, host) for text in lacking_user(inventory, GROUP, host)]
        if values.get("login_backend", "file") == "file" and not values.get("login_people"):
            findings.append(
                (
                    "login_people is empty, so no person could log in (for {hosts}): name people (docs/login.md), or set"
                    " login_backend to platform or ldap",
                    host,
                )
            )
    yield from merged(findings, hosts)
    servers = inventory.members("server2")
    lost = [
        host
        for host in servers
        if inventory.hosts[host].values.get("server2_authentication") == "login"
        and not inventory.hosts[host].values.get("server2_login_urls")
    ]
    if not hosts:
        yield from merged(
            (
                (
                    "server2_authentication is login, but the group login has no host (for {hosts}): name hosts in it, or the"
                    " login services in server2_login_urls",
                    host,
                )
                for host in lost
            ),
            servers,
        )
