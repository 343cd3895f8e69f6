"""Addresses of the lab: each container's place in a subnet, and what such a subnet would collide with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any


def nth_address(subnet: str, number: int | str) -> str:
    """The address at place `number` of `subnet`: 10.0.0.0/24 and 11 make 10.0.0.11. ValueError outside of it."""
    network = _network(subnet)
    place = int(number) if str(number).isdecimal() else 0
    if not 1 < place < network.num_addresses - 1:
        raise ValueError(f"{subnet} has no place {number} for a container (the first is 2; 1 is the gateway)")
    return str(network[place])


def misplaced(places: Mapping[str, int | str], subnet: str) -> list[str]:
    """What is wrong with the subnet, or with the place in it of each host, a sentence each; none if all is well.

    `places`: lab_number by host, empty where the inventory has none.
    """
    try:
        _network(subnet)
    except ValueError as error:
        return [f"lab_subnet: {error}."]
    found: list[str] = []
    hosts: dict[str, str] = {}
    for host, number in places.items():
        if number == "":
            found.append(f"{host} has no lab_number: give it one of its own, its place in lab_subnet ({subnet}).")
            continue
        try:
            address = nth_address(subnet, number)
        except ValueError as error:
            found.append(f"{host} has the lab_number {number}: {error}.")
            continue
        if address in hosts:
            found.append(f"{host} has the lab_number of {hosts[address]} ({number}): give it one of its own.")
        hosts.setdefault(address, host)
    return found


def _network(subnet: str) -> IPv4Network:
    """ValueError, with a sentence, of what is no network."""
    if "/" not in subnet:
        raise ValueError(f"{subnet!r} has no mask, such as that of 10.213.96.0/24")
    try:
        return IPv4Network(subnet)
    except ValueError:
        pass
    try:
        whole = IPv4Network(subnet, strict=False)
    except ValueError:
        raise ValueError(f"{subnet!r} is no IPv4 network such as 10.213.96.0/24") from None
    raise ValueError(f"{subnet} is an address in a network: the network is {whole}")


def collisions(subnet: str, routes: Iterable[Mapping[str, Any]], networks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What of the controller already uses addresses of `subnet`, a phrase each.

    `routes` is the answer of `ip -j -4 route show`, `networks` that of the engine's `GET /networks`.
    """
    wanted = IPv4Network(subnet)
    found: list[str] = []
    taken_by_engine: set[str] = set()
    for network in networks:
        for config in (network.get("IPAM") or {}).get("Config") or []:
            other = config.get("Subnet", "")
            if _is_ipv4(other) and wanted.overlaps(IPv4Network(other, strict=False)):
                found.append(f"the Docker network {network['Name']} ({other})")
                taken_by_engine.add(other)
    for route in routes:
        other = str(route.get("dst", ""))
        if other in taken_by_engine or not _is_ipv4(other):
            continue
        if wanted.overlaps(IPv4Network(other, strict=False)):
            found.append(f"the route to {other} through {route.get('dev', 'an unnamed device')}")
    return found


def _is_ipv4(text: str) -> bool:
    address = text.partition("/")[0]
    try:
        IPv4Address(address)
    except ValueError:
        return False
    return address != "0.0.0.0"  # noqa: S104 - the default route, which overlaps with everything and takes nothing
