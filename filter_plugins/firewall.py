"""The filter that says which ports a host opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from hopshive.services.firewall.ports import VARIABLES, openings


def firewall_openings(
    values: Mapping[str, Any], host: str, groups: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """The openings of a host for the components of its groups. `values`: ports by the name of their variable."""
    if lacking := [name for name in VARIABLES if name not in values]:
        raise AnsibleFilterError(f"firewall_openings: no value of {', '.join(lacking)}.")
    return [asdict(one) for one in openings(values, host, groups)]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"firewall_openings": firewall_openings}
