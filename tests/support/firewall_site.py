"""What the role firewall makes of an inventory, host by host."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# With the variables that tasks of the role see.
PLAY = """
- hosts: hopshive
  gather_facts: false
  vars_files: [ROLES/cluster/defaults/main.yml, ROLES/cluster/vars/main.yml, ROLES/firewall/defaults/main.yml,
    ROLES/firewall/vars/main.yml]
  tasks:
    - ansible.builtin.copy:
        dest: "DIRECTORY/{{ inventory_hostname }}.json"
        content: "{{ {'groups': group_names, 'members': __firewall_members, 'networks': __firewall_networks,
          'unit': __firewall_unit, 'ports': __firewall_ports,
          'openings': __firewall_ports | firewall_openings(inventory_hostname, groups)} | to_json }}"
"""


def rendered(inventory: Path, directory: Path, variables: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """By host: its `groups`, `members`, `networks`, `openings` as the module gets them, `ports` by variable, and `unit`."""
    play = directory / "play.yml"
    play.write_text(PLAY.replace("ROLES", str(ROOT / "roles")).replace("DIRECTORY", str(directory)))
    given = {"ansible_connection": "local", "ansible_become": False, **(variables or {})}
    argv = ["ansible-playbook", "-i", str(inventory), str(play), "-e", json.dumps(given)]
    # inventories/lab_ha asks for the tarball of NDB Cluster, of which nothing is needed here.
    environment = {**os.environ, "HOPSHIVE_NDB_TARBALL": "/none", "HOPSHIVE_NDB_SHA256": "0"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.stem: json.loads(path.read_text()) for path in directory.glob("*.json")}
