#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Take a HiveServer2 out of the discovery."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_discovery
short_description: Take a HiveServer2 out of the discovery
version_added: "0.1.0"
description:
  - Removes what a HiveServer2 has registered in ZooKeeper. It sees that, gets no new sessions from clients that ask ZooKeeper,
    and ends with its last session. Its next start registers it again.
notes:
  - "Role that uses this module: C(server2)."
  - The page of documentation is C(docs/availability.md).
seealso:
  - module: hopshive_restart
options:
  command:
    description: The command line of ZooKeeper's client, to which C(ls) and C(delete) are added.
    type: list
    elements: str
    required: true
  namespace:
    description: The znode below which HiveServer2s register, without the first slash.
    type: str
    required: true
  host:
    description: The address with which this one has registered.
    type: str
    required: true
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Asks ZooKeeper, and removes nothing.
  diff_mode:
    support: none
    description: O(ignore:removed) says it all.
  idempotent:
    support: full
    description: One that is not registered stays as it is.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Remove HiveServer2 from the discovery
  hopshive_discovery:
    command: [/usr/bin/zkCli, -server, "zk1:2181"]
    namespace: hiveserver2
    host: master1
"""

RETURN = r"""
removed:
  description: The znodes that were removed, or would be.
  returned: success
  type: list
  elements: str
  sample: ["serverUri=master1:10000;version=4.0.1;sequence=0000000003"]
"""

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.services import draining, health


def main() -> None:
    module = start(
        argument_spec={
            "command": {"type": "list", "elements": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "host": {"type": "str", "required": True},
        },
    )
    parameters = module.params
    discovery = draining.Discovery(parameters["command"], parameters["namespace"], parameters["host"])
    take = draining.registered if module.check_mode else draining.leave
    try:
        removed = take(discovery, module.run_command)
    except health.NoAnswer as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(removed), removed=removed)


if __name__ == "__main__":
    main()
