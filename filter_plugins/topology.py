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


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"addresses": addresses, "endpoints": endpoints}
