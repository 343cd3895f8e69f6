#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Restart one replica of a service."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_restart
short_description: Restart one replica of a service, if the others answer, and wait until it answers
version_added: "0.1.0"
description:
  - For handlers and rolling restarts, with C(throttle) 1. Refuses while another replica is down; so when one does not come
    back, those after it stay as they are.
  - An SQL node (V(kind=ndb_sql)) is not restarted before O(login_user) has left it from all other hosts, where a metastore works
    whose own node was away. That is waited for, for two minutes; not with O(degraded).
  - A unit that does not run is only started. What follows asks it.
notes:
  - Most roles use this module.
  - The page of documentation is C(docs/availability.md).
seealso:
  - module: hopshive_answers
  - module: hopshive_discovery
extends_documentation_fragment:
  - service
options:
  unit:
    description: The systemd unit, without C(.service).
    type: str
    required: true
  kind:
    description: What is asked, as of M(hopshive_answers). Without it O(own_command) and O(others_command) tell.
    type: str
    default: ""
  port:
    description: Where this replica listens; of the daemons of HDFS and YARN that is the HTTP port.
    type: int
    default: 0
  own_command:
    description: A command that exits with 0 when this replica works, and waits for that itself.
    type: list
    elements: str
    default: []
  others_command:
    description: A command that exits with 0 when all other replicas work.
    type: list
    elements: str
    default: []
  others:
    description: The other replicas, C(host:port) each.
    type: list
    elements: str
    default: []
  namenode:
    description:
      - As of M(hopshive_answers).
      - Of V(kind=journalnode), the URLs of the NameNodes. If one of them is active, it begins a segment of edits before and
        afterwards, and must write it to all JournalNodes.
    type: list
    elements: str
    default: []
  users:
    description:
      - Units of the same host that work with this one, replicas themselves. Those that run are stopped before and started
        afterwards, so that their clients go to the others and see no failed call. With O(degraded) they are left alone.
    type: list
    elements: dict
    default: []
    suboptions:
      unit:
        description: As O(unit).
        type: str
        required: true
      kind:
        description: As O(kind).
        type: str
        required: true
      port:
        description: As O(port).
        type: int
        required: true
      others:
        description: As O(others). Without one, this unit is left alone.
        type: list
        elements: str
        required: true
  may_be_down:
    description: How many of O(others) may be down, because they are restarted at the same time.
    type: int
    default: 0
  degraded:
    description: Whether to restart it even though another one is down. A NameNode need not find an active one afterwards then.
    type: bool
    default: false
  drain:
    description:
      - Of V(kind=server2), for how many seconds its statements are waited for before the restart. 0 does not wait.
      - With O(others), and without O(degraded), it is taken out of O(discovery) before.
      - The transactions of statements that are cut off are aborted.
    type: int
    default: 0
  drain_port:
    description: Of V(kind=server2), the port of its web UI, which lists the statements.
    type: int
    default: 0
  drain_host:
    description: Of V(kind=server2), the address of its web UI. By default it is O(host).
    type: str
    default: ""
  drain_tls:
    description: Of V(kind=server2), whether its web UI has TLS where the service has. One that only this host reaches needs none.
    type: bool
    default: true
  impersonates:
    description: Of V(kind=server2), whether sessions act as the people who opened them. Transactions then have their names.
    type: bool
    default: false
  discovery:
    description: As of M(hopshive_discovery).
    type: dict
    suboptions:
      command:
        description: As O(discovery) of M(hopshive_discovery).
        type: list
        elements: str
        required: true
      namespace:
        description: As of M(hopshive_discovery).
        type: str
        required: true
  metastores:
    description: Of V(kind=server2), where the metastores are, which abort transactions. C(host:port) each, or
      C(tls://host:port/<file of certificates>) with TLS.
    type: list
    elements: str
    default: []
  timeout:
    description: How long it may take until it answers, in seconds.
    type: int
    default: 180
requirements:
  - the hopshive package in the Python that runs the module
  - systemd
attributes:
  check_mode:
    support: full
    description: Says that it would be restarted.
  diff_mode:
    support: none
    description: There is nothing to compare.
  idempotent:
    support: none
    description: Restarts each time.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Restart metastore
  hopshive_restart:
    unit: hive-metastore
    kind: metastore
    host: master1
    port: 9083
    others: ["master2:9083"]
  throttle: 1
"""

RETURN = r"""
started:
  description: Whether it did not run, and was started and not waited for.
  returned: success
  type: bool
  sample: false
cut_off:
  description: The statements of a HiveServer2 that the restart ended, since they ran longer than O(drain). A warning names each.
  returned: if it ran
  type: list
  elements: str
  sample: []
waited:
  description: Seconds from the restart until it answered.
  returned: if it ran
  type: float
  sample: 6.5
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ansible.module_utils.hopshive_module import SERVICE, importing, start

with importing:
    from hopshive.services import draining, edits, health, rolling

# Seconds in which a metastore has returned to its own SQL node: twice as long as it keeps a connection (hikaricp.maxLifetime).
LEAVE = 120.0


def edits_checks(target: health.Target) -> dict[str, rolling.Check]:
    """Of a JournalNode, that the others take edits, and then all."""
    if target.kind != "journalnode" or not target.namenode:
        return {}

    def others(timeout: float) -> None:
        edits.wait_taken(target.namenode, timeout, besides=edits.addresses(target.host), authority=target.authority)

    def own(timeout: float) -> None:
        edits.wait_taken(target.namenode, timeout, authority=target.authority)

    return {"others_check": others, "own_check": own}


def unused_check(target: health.Target, others: Sequence[str]) -> Callable[[], None] | None:
    """Of an SQL node, that no metastore of another one's host works with it, since its own one was away."""
    hosts = [other.rpartition(":")[0] for other in others]
    return (lambda: health.wait_unused(target, hosts, LEAVE)) if target.kind == "ndb_sql" else None


def drain_of(parameters: dict[str, Any], run: rolling.Run) -> draining.Server2 | None:
    """Of a HiveServer2, how its statements come to their end."""
    if not parameters["drain_port"]:
        return None
    found = parameters["discovery"]
    return draining.Server2(
        host=parameters["host"],
        web_port=parameters["drain_port"],
        port=parameters["port"],
        limit=parameters["drain"],
        run=run,
        discovery=draining.Discovery(found["command"], found["namespace"], parameters["host"]) if found else None,
        metastores=parameters["metastores"],
        authority=(parameters["authority"] or "") if parameters["drain_tls"] else "",
        web_host=parameters["drain_host"],
        impersonates=parameters["impersonates"],
    )


def main() -> None:
    module = start(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "kind": {"type": "str", "default": ""},
            **SERVICE,
            "port": {"type": "int", "default": 0},
            "own_command": {"type": "list", "elements": "str", "default": []},
            "others_command": {"type": "list", "elements": "str", "default": []},
            "others": {"type": "list", "elements": "str", "default": []},
            "users": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "unit": {"type": "str", "required": True},
                    "kind": {"type": "str", "required": True},
                    "port": {"type": "int", "required": True},
                    "others": {"type": "list", "elements": "str", "required": True},
                },
            },
            "may_be_down": {"type": "int", "default": 0},
            "degraded": {"type": "bool", "default": False},
            "drain": {"type": "int", "default": 0},
            "drain_port": {"type": "int", "default": 0},
            "drain_host": {"type": "str", "default": ""},
            "drain_tls": {"type": "bool", "default": True},
            "impersonates": {"type": "bool", "default": False},
            "discovery": {
                "type": "dict",
                "options": {
                    "command": {"type": "list", "elements": "str", "required": True},
                    "namespace": {"type": "str", "required": True},
                },
            },
            "metastores": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 180},
        },
    )
    parameters = module.params
    if module.check_mode:
        module.exit_json(changed=True, started=False)
    target = health.Target(
        kind=parameters["kind"],
        host=parameters["host"],
        port=parameters["port"],
        user=parameters["login_user"],
        password=parameters["login_password"],
        # The others may be down, or answer with TLS while this one does not.
        namenode=[] if parameters["degraded"] and parameters["kind"] == "namenode" else parameters["namenode"],
        resourcemanager=parameters["resourcemanager"],
        authority=parameters["authority"] or "",
    )
    users = {}
    for user in parameters["users"]:
        own = replace(target, kind=user["kind"], port=user["port"])
        users[user["unit"]] = rolling.Questions(own, [health.at(own, other) for other in user["others"]])
    drain = drain_of(parameters, module.run_command)
    failed = ""
    try:
        rolled = rolling.restart(
            parameters["unit"],
            rolling.Questions(
                own=target if target.kind else None,
                others=[health.at(target, other) for other in parameters["others"]],
                own_command=parameters["own_command"],
                others_command=parameters["others_command"],
                **edits_checks(target),
                unused=unused_check(target, parameters["others"]),
                drain=drain,
            ),
            module.run_command,
            parameters["timeout"],
            users=users,
            may_be_down=parameters["may_be_down"],
            degraded=parameters["degraded"],
        )
    except rolling.RollError as error:
        failed = str(error)
    for sentence in drain.messages if drain else ():
        module.warn(sentence)
    if failed:
        module.fail_json(msg=failed)
    cut_off = [str(statement) for statement in drain.cut_off] if drain else []
    answer = {"waited": rolled.answer.waited, "facts": rolled.answer.facts} if rolled.answer else {}
    module.exit_json(changed=True, started=rolled.started, cut_off=cut_off, **answer)


if __name__ == "__main__":
    main()
