"""Whose address counts: that of the client, behind the HiveServer2s and gateways that ask for it."""

from __future__ import annotations

import ipaddress
import logging
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

log = logging.getLogger(__name__)

# Characters of what is no address.
LONGEST = 64
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The networks whose X-Forwarded-For is believed."""

    def __init__(self, networks: Iterable[Network]) -> None:
        self._networks = tuple(networks)

    def client(self, peer: str, lines: Sequence[str]) -> str:
        """The address that asks. `lines`: of X-Forwarded-For; the last one in them counts that no proxy of ours has."""
        forwarded = [part.strip() for line in lines for part in line.split(",")]
        while forwarded and self._is_proxy(peer):
            peer = forwarded.pop()
        return plain_address(peer)

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(plain_address(address))
        except ValueError:
            return False
        return any(found in network for network in self._networks)


def resolved(proxies: Iterable[str]) -> Proxies:
    """Networks, addresses and host names. A name without an address is logged, and its host is not believed."""
    found: list[Network] = []
    for one in proxies:
        try:
            found.append(ipaddress.ip_network(one))
            continue
        except ValueError:
            pass
        try:
            addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(one, None, type=socket.SOCK_STREAM)}
        except OSError as error:
            log.warning(
                "%s (listen.proxies) has no address: %s. Wrong passwords behind it count as its own until a restart.",
                one,
                error.strerror or error,
            )
            continue
        # A link-local address names its interface behind a percent sign.
        found += [ipaddress.ip_network(address.partition("%")[0]) for address in sorted(addresses)]
    return Proxies(found)


def plain_address(address: str) -> str:
    """An IPv4 address that came over IPv6 as what it is; what is no address cut short."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:LONGEST]
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)
