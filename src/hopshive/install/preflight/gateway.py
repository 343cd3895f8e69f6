"""Checks of the gateway in an inventory: what it cannot work without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.install.preflight.problem import Problem, listed, merged
from hopshive.install.preflight.tls import BUNDLE, VARIABLE, has_tls
from hopshive.install.preflight.users import lacking_user
from hopshive.install.tls.names import certificate_names, is_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.preflight.inventory import Inventory

GROUP = "gateway"
# Files of the controller. Ansible looks for a relative path in several places, so only absolute ones are judged here.
SOURCES = tuple(f"gateway_{name}_source" for name in ("certificate", "key", "client_authority", "revocation_list"))


def check_gateway(inventory: Inventory) -> Iterator[Problem]:
    """The gateway has login services to ask, HiveServer2s that want a login, names to verify both by, and a user to run as."""
    # One that is switched off needs nothing: a warehouse that opens again stops its gateways first.
    hosts = [
        host for host in inventory.members(GROUP) if inventory.hosts[host].true("gateway_service_enabled", unset=True)
    ]
    if not hosts:
        return
    if not inventory.members("login"):
        yield Problem(
            f"The group gateway has hosts ({listed(hosts)}), but login has none: a gateway asks a login service for the token of"
            " each client, so name a host in the group login"
        )
    open_ones = [
        host
        for host in inventory.members("server2")
        if inventory.hosts[host].values.get("server2_authentication", "none") != "login"
    ]
    yield from merged(
        (
            (
                "server2_authentication is not login for {hosts}, but the group gateway has hosts: HiveServer2 would believe"
                " every name over HTTP too, so set it to login",
                host,
            )
            for host in open_ones
        ),
        inventory.members("server2"),
    )
    findings = []
    for host in hosts:
        findings += [(text, host) for text in lacking_user(inventory, GROUP, host)]
        findings += [(text, host) for text in _lacking_files(inventory, host)]
    yield from merged(findings, hosts)
    behind = dict.fromkeys([*inventory.members("login"), *inventory.members("server2")])
    nameless = [
        (
            "The certificate of {hosts} has addresses alone, and the gateways' nginx compares no addresses: add a host name to"
            " cluster_tls_names, or to cluster_address",
            host,
        )
        for host in behind
        if has_tls(inventory.hosts[host])
        and all(is_address(name) for name in certificate_names(host, inventory.hosts[host].values))
    ]
    yield from merged(nameless, list(behind))


def _lacking_files(inventory: Inventory, host: str) -> Iterator[str]:
    values = inventory.hosts[host].values
    # The run makes these.
    made = Path(str(values.get("cluster_tls_authority_dir") or "/"), "clients")
    for name in SOURCES:
        path = Path(str(values.get(name) or ""))
        if path.is_absolute() and not path.is_file() and not (values.get(VARIABLE) == BUNDLE and path.parent == made):
            yield (
                f"{name} is {path}, which is not on the controller (for {{hosts}}): put the file there, or take the hosts"
                " out of the group gateway (docs/tenancy.md)"
            )
