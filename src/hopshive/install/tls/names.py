"""Names and addresses that the certificate of a host is for. Needs no cryptography, so that filters and preflight can ask."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def certificate_names(host: str, values: Mapping[str, object]) -> list[str]:
    """Of a host by its name in the inventory, and the values of its variables. The first is the certificate's common name.

    These are `cluster_address`, the inventory name, `ansible_host` if it is an address, and `cluster_tls_names`.
    """
    reached, own = str(values.get("ansible_host") or host), values.get("cluster_tls_names")
    names = [str(values.get("cluster_address") or host), host, *([reached] if is_address(reached) else [])]
    return list(dict.fromkeys([*names, *(map(str, own) if isinstance(own, list | tuple) else ())]))


def is_address(name: str) -> bool:
    """Whether it is an address of IPv4 or IPv6, and no host name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
