#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Bring the firewall of a host to what the inventory says."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_firewall
short_description: Let a host accept the connections that the inventory names, and no others
version_added: "0.2.0"
description:
  - Renders rules of nftables, which stand in a table of their own, C(inet hopshive). All other tables stay as they are.
  - Loads the rules on trial. Ansible then comes back over a new connection, and the file O(path) is written.
  - If Ansible does not get through within O(rollback) seconds, the host loads the former rules again by itself, and the
    task fails.
  - Connections that are open stay open, whatever the rules say.
  - Needs the command C(nft) on the host, and the right to change its network.
notes:
  - "Role that uses this module: C(firewall)."
  - The page of documentation is C(docs/security.md).
seealso:
  - module: hopshive_host_info
options:
  state:
    description: V(absent) removes the table and the file.
    type: str
    choices: [present, absent]
    default: present
  members:
    description: By host of the inventory, the names and addresses from which it opens connections.
    type: dict
    default: {}
  networks:
    description: By source (V(clients), V(pages), V(monitoring), V(ssh)), its networks.
    type: dict
    default: {}
  openings:
    description: What the filter C(firewall_openings) returns.
    type: list
    elements: dict
    default: []
  ssh_ports:
    description: Ports of SSH. The port of the connection that Ansible uses takes their place.
    type: list
    elements: str
    default: ["22"]
  extra:
    description: Further openings, each with C(port), C(from), and optionally C(protocol) and C(what).
    type: list
    elements: dict
    default: []
  heading:
    description: The first line of the file.
    type: str
    default: ""
  path:
    description: The file that the host loads when it starts.
    type: path
    default: /etc/nftables.d/hopshive.nft
  runtime:
    description: Directory of the trial, which a start of the host empties.
    type: path
    default: /run/hopshive-firewall
  rollback:
    description: Seconds of the trial.
    type: int
    default: 30
  step:
    description: A part of the work. The action of this module sets it.
    type: str
    choices: [try, keep, tell]
    default: try
attributes:
  check_mode:
    support: full
    description: Has nft check the rules, and loads none.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Let the hosts of the inventory, and SSH, in
  hopshive_firewall:
    members: {master1: [master1.example.com], worker1: [10.0.0.12]}
    networks: {ssh: [0.0.0.0/0]}
    openings: [{ports: "9083", source: cluster, what: "metastore", protocol: tcp}]
"""

RETURN = r"""
trial:
  description: Whether rules are loaded that the host may put back.
  returned: always
  type: bool
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.services.firewall.host import Firewall, FirewallError, ssh_connection
    from hopshive.services.firewall.names import resolve
    from hopshive.services.firewall.ports import Opening
    from hopshive.services.firewall.rules import RuleError, Rules, render


def text_of(module: AnsibleModule) -> str:
    """The file for this host."""
    given = module.params
    return render(
        Rules(
            members=resolve(given["members"]),
            networks=given["networks"],
            openings=[Opening(**one) for one in given["openings"]],
            ssh_ports=given["ssh_ports"],
            connection=ssh_connection(),
            heading=given["heading"],
            extra=given["extra"],
        )
    )


def try_out(module: AnsibleModule, firewall: Firewall) -> None:
    """Load the rules on trial, unless they are loaded and kept."""
    before = firewall.kept()
    if module.params["state"] == "absent":
        changed = firewall.remove(dry=module.check_mode)
        difference = {"before": before, "after": ""}
        module.exit_json(changed=changed, trial=False, diff=difference)
    after = text_of(module)
    changed = firewall.differs(after)
    if changed and module.check_mode:
        firewall.check(after)
    elif changed:
        firewall.try_out(after, module.params["rollback"])
    difference = {"before": before, "after": after, "before_header": module.params["path"]}
    module.exit_json(changed=changed, trial=changed and not module.check_mode, diff=difference)


def main() -> None:
    module = start(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "members": {"type": "dict", "default": {}},
            "networks": {"type": "dict", "default": {}},
            "openings": {"type": "list", "elements": "dict", "default": []},
            "ssh_ports": {"type": "list", "elements": "str", "default": ["22"]},
            "extra": {"type": "list", "elements": "dict", "default": []},
            "heading": {"type": "str", "default": ""},
            "path": {"type": "path", "default": "/etc/nftables.d/hopshive.nft"},
            "runtime": {"type": "path", "default": "/run/hopshive-firewall"},
            "rollback": {"type": "int", "default": 30},
            "step": {"type": "str", "choices": ["try", "keep", "tell"], "default": "try"},
        },
    )
    firewall = Firewall(Path(module.params["path"]), Path(module.params["runtime"]))
    try:
        if module.params["step"] == "keep":
            firewall.keep()
        elif module.params["step"] == "try":
            try_out(module, firewall)
        module.exit_json(changed=False, trial=firewall.on_trial())
    except (FirewallError, RuleError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
