"""An inventory: its groups, and the variables that its hosts get."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hopshive.services.components import COMPONENTS

# What Ansible's filter `bool` takes for true.
_TRUE = frozenset({"true", "yes", "on", "1", "t", "y"})


@dataclass(frozen=True)
class HostVariables:
    """The variables of one host.

    `values` has the effective values, defaults included. `given` has the names that the user set. `broken` has the
    reasons for variables that cannot be computed, and `invalid` for those that the role or its daemon would refuse.
    A variable of a role that the host does not have is in `given` only.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    broken: Mapping[str, str] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """The value as a whole number; None if it is unset or not a whole number."""
        return whole_number(self.values.get(name))

    def true(self, name: str, *, unset: bool = False) -> bool:
        """Whether the value is true, in any spelling that the command line takes; `unset` is the value of an unset one."""
        return str(self.values.get(name, unset)).lower() in _TRUE


@dataclass(frozen=True)
class Inventory:
    """The groups with their hosts (children's included), the direct children of `hopshive`, and each host's variables.

    `directory`: the path of the inventory, for advice. `roles`: roles whose prefix no other variable may have.
    `named`: the names of files and directories below `group_vars` and `host_vars`.
    """

    groups: Mapping[str, tuple[str, ...]]
    components: tuple[str, ...]
    hosts: Mapping[str, HostVariables]
    directory: str = "inventories/prod"
    roles: tuple[str, ...] = ("cluster",)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def members(self, component: str) -> tuple[str, ...]:
        """The hosts of a component."""
        return self.groups.get(component, ())

    def components_of(self, host: str) -> list[str]:
        """The components placed on a host, in the order of the table of components."""
        return [name for name in COMPONENTS if host in self.members(name)]


def component_of(variable: str, ending: str) -> str | None:
    """The component of a variable such as `cluster_metastore_port` (ending `port`); None if its name has none."""
    for name in COMPONENTS:
        if re.fullmatch(rf"cluster_{name}_(?:\w+_)?{ending}", variable):
            return name
    return None


def ports_of(inventory: Inventory, host: str, names: Iterable[str]) -> dict[str, int]:
    """The ports that the components placed on a host listen on: variable and port."""
    placed = set(inventory.components_of(host))
    ports = {}
    for name in names:
        port = inventory.hosts[host].number(name)
        if port is not None and component_of(name, "port") in placed:
            ports[name] = port
    return ports


def whole_number(value: object) -> int | None:
    """The value as a whole number; None if it is not one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d+", value.strip()):
        return int(value)
    return None
