"""Checks that a warehouse is open to everyone only where its inventory says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hopshive.install.preflight.problem import Problem, merged
from hopshive.install.preflight.tls import has_tls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import HostVariables, Inventory

# What an inventory says that it does without.
VARIABLE = "cluster_without"
LOGIN, TLS = "login", "tls"
# Where a site may have another way for people to log in, and the property that says so.
SITE = "server2_hive_site_extra"
AUTHENTICATION = "hive.server2.authentication"
NO_AUTHENTICATION = ("", "NONE", "NOSASL")


def check_exposure(inventory: Inventory) -> Iterator[Problem]:
    """People log in, and connections are encrypted, unless `cluster_without` names what is switched off."""
    servers = inventory.members("server2")
    yield from merged(
        (
            (
                "server2_authentication is none, so HiveServer2 believes every name without a password (for {hosts}): set it to"
                f" login (docs/tenancy.md), or, to keep it open, {VARIABLE}: [{LOGIN}] in {inventory.directory}/group_vars/all/",
                host,
            )
            for host in servers
            if not _has_login(inventory.hosts[host]) and LOGIN not in _without(inventory.hosts[host])
        ),
        servers,
    )
    yield from merged(
        (
            (
                "cluster_tls is none, so passwords and rows go over the network in the clear (for {hosts}): set it to bundle or"
                f" site (docs/tls.md), or, to keep it so, {VARIABLE}: [{TLS}] in {inventory.directory}/group_vars/all/",
                host,
            )
            for host, variables in inventory.hosts.items()
            if not has_tls(variables) and TLS not in _without(variables)
        ),
        inventory.hosts,
    )
    yield from _needless(inventory)


def _needless(inventory: Inventory) -> Iterator[Problem]:
    """A permission that is left over would let a later mistake pass."""
    servers = inventory.members("server2")
    said = {part for variables in inventory.hosts.values() for part in _without(variables)}
    switched_on = {
        LOGIN: bool(servers) and all(_has_login(inventory.hosts[host]) for host in servers),
        TLS: all(has_tls(variables) for variables in inventory.hosts.values()),
    }
    for part, on in switched_on.items():
        if on and part in said:
            yield Problem(
                f"{VARIABLE} names {part}, which is switched on: take it out, so that no later mistake switches it off",
                warning=True,
            )


def _without(variables: HostVariables) -> tuple[str, ...]:
    value = variables.values.get(VARIABLE)
    return tuple(str(part) for part in value) if isinstance(value, list | tuple) else ()


def _has_login(variables: HostVariables) -> bool:
    site = variables.values.get(SITE)
    other = str(site.get(AUTHENTICATION) or "") if isinstance(site, Mapping) else ""
    return variables.values.get("server2_authentication") == "login" or other.upper() not in NO_AUTHENTICATION
