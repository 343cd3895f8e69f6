"""Filters that turn the inventory into arguments of hopshive_certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hopshive.install.tls import names


def certificate_names(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """By host, the names and addresses that its certificate is for.

    These are `cluster_address`, the inventory name, `ansible_host` if it is an address, and `cluster_tls_names`.
    """
    return {host: names.certificate_names(host, hostvars[host]) for host in hosts}


def verified_names(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """By `cluster_address`, a name of each host's certificate for clients that compare no addresses; else the address."""
    found = {}
    for own in certificate_names(hosts, hostvars).values():
        found[own[0]] = next((name for name in own if not names.is_address(name)), own[0])
    return found


def given_certificates(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """By host, the paths that the inventory gives: certificate, key and authority; empty where it gives none."""
    parts = ("certificate", "key", "authority")
    return {host: {part: str(hostvars[host].get(f"cluster_tls_{part}", "")) for part in parts} for host in hosts}


class FilterModule:
    """Called by Ansible."""

    def filters(self) -> dict[str, Any]:
        """The filters by name."""
        return {
            "certificate_names": certificate_names,
            "given_certificates": given_certificates,
            "verified_names": verified_names,
        }
