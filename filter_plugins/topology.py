"""Filters that turn the inventory's groups into addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def addresses(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The name by which others reach each host: its `cluster_address` in the inventory, or its inventory name."""
    return [str(hostvars[host].get("cluster_address", host)) for host in hosts]


def endpoints(names: Iterable[str], port: int | str, scheme: str = "") -> list[str]:
    """`name:port` for each name, behind an optional scheme such as `thrift://`."""
    return [f"{scheme}{name}:{port}" for name in names]


def own_first(hosts: Iterable[str], own: str) -> list[str]:
    """A host itself, if it is among them, and those that follow it, round to the one before it.

    So that clients on hosts without one of their own, and those whose own has gone, do not all go to the same.
    """
    listed = list(hosts)
    at = listed.index(own) if own in listed else sum(own.encode()) % max(1, len(listed))
    return listed[at:] + listed[:at]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"addresses": addresses, "endpoints": endpoints, "own_first": own_first}
