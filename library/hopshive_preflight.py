#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Documentation of the action of this name (action_plugins/), which runs on the controller alone.

An action, and no module, because only there are the variables of all hosts available as the roles will get them,
under --limit too, and because no password has to be handed to another process.
"""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_preflight
short_description: Refuse an inventory or hosts that cannot work
version_added: "0.1.0"
description:
  - Checks the inventory, or the hosts of the run, and fails with all problems at once, each a sentence that names the
    variable or the group and what to do. Changes nothing, and asks no host.
notes:
  - "Role that uses this module: C(preflight)."
  - The page of documentation is C(docs/hosts.md).
seealso:
  - module: hopshive_host_info
options:
  check:
    description: What is checked. V(hosts) needs O(found).
    type: str
    required: true
    choices: [inventory, hosts]
  found:
    description: What M(hopshive_host_info) returned for each host of the run.
    type: dict
    default: {}
  disk_mb:
    description: Free space that each file system of ours must have, in MiB.
    type: int
    default: 5120
  memory_ratio:
    description: Share of a host's memory that what is placed on it may take.
    type: float
    default: 1.0
  shared_host:
    description: Whether all hosts of the inventory share the memory of one machine.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Changes nothing.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Check the inventory
  hopshive_preflight:
    check: inventory
  run_once: true
"""

RETURN = r"""
hosts:
  description: The variables of each host of the inventory that M(hopshive_host_info) is asked with.
  returned: success
  type: dict
  sample:
    worker1: {java_home: /usr/lib/jvm/java-17-openjdk-amd64, paths: [/opt/hopshive, /var/lib/hopshive]}
"""
