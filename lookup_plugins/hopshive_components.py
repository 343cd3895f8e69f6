"""Lookup: the service components, with their units, launchers and paths on a host."""

from __future__ import annotations

from typing import Any

from ansible.plugins.lookup import LookupBase

from hopshive.services.components import COMPONENTS, HOST_PATHS, HOST_UNITS
from hopshive.services.firewall.ports import VARIABLES

DOCUMENTATION = """
name: hopshive_components
author: The hopshive authors
short_description: What the components have on a host
description:
  - Of all components, whether the inventory has a host for them or not.
options:
  _terms:
    description:
      - V(with_unit), the components that run a unit, in the order of their start.
      - V(unit_files), the units whose files hopshive writes, in the order of their stop.
      - V(ports), the variables with the ports on which components listen.
      - V(launchers), the names of the commands that hopshive installs.
      - V(paths), the files and directories elsewhere that hopshive writes.
    required: true
    type: list
    elements: str
"""

EXAMPLES = """
- name: Name the units
  ansible.builtin.debug:
    msg: "{{ query('hopshive_components', 'unit_files') }}"
"""

RETURN = """
_raw:
  description: Names or paths.
  type: list
  elements: str
"""


class LookupModule(LookupBase):  # type: ignore[misc]  # Ansible has no types
    """Answers from the list in the package."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        del variables, kwargs
        components = list(COMPONENTS.values())
        answers = {
            "with_unit": [one.group for one in components if one.unit],
            "unit_files": [*(unit for one in reversed(components) for unit in one.unit_files), *HOST_UNITS],
            "ports": [*VARIABLES],
            "launchers": [name for one in components for name in one.launchers],
            "paths": [*(path for one in components for path in one.paths), *HOST_PATHS],
        }
        return [name for term in terms for name in answers[term]]
