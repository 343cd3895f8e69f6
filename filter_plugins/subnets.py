"""Filters over the addresses of the lab (src/hopshive/install/subnets.py)."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError

from hopshive.install import subnets


def nth_address(subnet: str, number: int | str) -> str:
    """The address at place `number` of `subnet`."""
    try:
        return subnets.nth_address(subnet, number)
    except ValueError as error:
        raise AnsibleFilterError(f"lab_subnet and lab_number: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"misplaced": subnets.misplaced, "nth_address": nth_address, "subnet_collisions": subnets.collisions}
