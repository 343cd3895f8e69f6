"""The addresses of the inventory's hosts, as one of them resolves their names."""

from __future__ import annotations

import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hopshive.services.firewall.rules import RuleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def resolve(members: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """IPv4 and IPv6 addresses of each host. `members`: by host, its names and addresses.

    Raises RuleError with all hosts that have a name without an address. A name of this host may stand for a loopback
    address, which no other host uses.
    """
    names = {name for given in members.values() for name in given}
    with ThreadPoolExecutor(max_workers=16) as pool:
        asked = {name: pool.submit(_addresses, name) for name in names}
        found = {name: answer.result() for name, answer in asked.items()}
    lacking = [f"{name} of {host}" for host, given in members.items() for name in given if not found[name]]
    if lacking:
        raise RuleError(
            f"The host cannot resolve {', '.join(lacking)}, so the firewall's rules would lack an address: correct"
            " cluster_address or cluster_firewall_addresses, or the DNS"
        )
    return {host: sorted({one for name in given for one in found[name]}) for host, given in members.items()}


def _addresses(name: str) -> list[str]:
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    found = {ipaddress.ip_address(str(address[0]).partition("%")[0]) for *_, address in answers}
    return [str(one) for one in sorted(found, key=str) if not one.is_loopback and not one.is_link_local]
