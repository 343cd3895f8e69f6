"""Filters over the containers that community.docker.docker_host_info lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any


def container_names(containers: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of containers, sorted, without the slash that Docker puts before each."""
    return sorted(str(name).removeprefix("/") for container in containers for name in container["Names"])


def foreign_containers(
    containers: Iterable[Mapping[str, Any]], label: str, value: str, hosts: Collection[str]
) -> list[str]:
    """The hosts that are the name of a container whose `label` is missing or has another value."""
    foreign = [container for container in containers if (container.get("Labels") or {}).get(label) != value]
    return [name for name in container_names(foreign) if name in hosts]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"container_names": container_names, "foreign_containers": foreign_containers}
