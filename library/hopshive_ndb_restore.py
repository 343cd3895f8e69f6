#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""The metastore's databases back from a backup of NDB Cluster, a step at a time."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_ndb_restore
short_description: Bring the metastore's databases back from a backup of NDB Cluster
version_added: "0.1.0"
description:
  - One step of a restore; C(playbooks/ndb_restore.yml) has them in their order, each on the host where it belongs.
  - On an SQL node V(idle) fails if one of O(users) is connected, V(tables) counts tables, V(empty) drops and
    recreates the databases, V(discover) lets the node learn of the tables, V(begin_anew) asks the cleaner for a full comparison.
  - On a data node's host V(metadata) makes the tables, V(data) writes the rows of this node's part, and V(indexes) makes
    indexes and foreign keys.
  - Triggers and users are in no backup.
extends_documentation_fragment:
  - login
notes:
  - "Roles that use this module: C(ndb_data), C(ndb_sql)."
  - The page of documentation is C(docs/ndb.md).
seealso:
  - module: hopshive_ndb_backup
options:
  step:
    description: What is done.
    type: str
    choices: [idle, tables, empty, metadata, data, indexes, discover, begin_anew]
    required: true
  databases:
    description: The databases. Nothing else of the backup is restored.
    type: list
    elements: str
    default: []
  users:
    description: Of O(step=idle), who must not be connected.
    type: list
    elements: str
    default: []
  state_schema:
    description: Of O(step=begin_anew), the schema of hopshive's own tables.
    type: str
    default: hopshive
  timeout:
    description: Of O(step=discover), seconds that it may take.
    type: int
    default: 600
  connect:
    description: On a data node, host and port of the management nodes.
    type: str
    default: localhost:1186
  launchers:
    description: On a data node, the directory with C(ndb_restore).
    type: path
    default: /usr/local/bin
  backup:
    description: On a data node, the backup's number.
    type: int
  directory:
    description: On a data node, its C(BackupDataDir).
    type: path
  node:
    description: On a data node, its number.
    type: int
  nodes:
    description: On a data node, the numbers of all of them.
    type: list
    elements: int
  login_user:
    description: A user who may drop and create the databases, see all connections and set global variables.
    type: str
    default: ""
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: partial
    description: V(idle) and V(tables) look; of the others nothing is done.
  diff_mode:
    support: none
    description: What is restored is not shown.
  idempotent:
    support: none
    description: Tables that are there are never overwritten, so V(metadata) fails the second time.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Write this node's rows
  hopshive_ndb_restore:
    step: data
    databases: [metastore, hopshive, hops]
    backup: 1795318580
    directory: "{{ cluster_ndb_backup_dir }}"
    connect: "{{ cluster_ndb_connect }}"
    node: 11
    nodes: [11, 12]
"""

RETURN = r"""
tables:
  description: How many tables each database has; none without any.
  returned: step=tables or step=discover
  type: dict
  sample: {metastore: 83, hopshive: 8, hops: 1}
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.hopshive_module import LOGIN, importing, login, start

with importing:
    from hopshive.database import Server
    from hopshive.operations.ndb import backup, restore
    from hopshive.operations.ndb.tools import NdbError, Tools

LOOKS = ("idle", "tables")
ON_DATA_NODE = ("metadata", "data", "indexes")


def main() -> None:
    module = start(
        argument_spec={
            "step": {
                "type": "str",
                "choices": ["idle", "tables", "empty", "metadata", "data", "indexes", "discover", "begin_anew"],
                "required": True,
            },
            "databases": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "list", "elements": "str", "default": []},
            "state_schema": {"type": "str", "default": "hopshive"},
            "timeout": {"type": "int", "default": 600},
            "connect": {"type": "str", "default": "localhost:1186"},
            "launchers": {"type": "path", "default": "/usr/local/bin"},
            "backup": {"type": "int"},
            "directory": {"type": "path"},
            "node": {"type": "int"},
            "nodes": {"type": "list", "elements": "int"},
            **LOGIN,
        },
        required_if=[("step", step, ["backup", "directory", "node", "nodes", "databases"]) for step in ON_DATA_NODE],
    )
    step = module.params["step"]
    if module.check_mode and step not in LOOKS:
        module.exit_json(changed=True, tables={})
    try:
        found = _on_data_node(module.params) if step in ON_DATA_NODE else _on_sql_node(module.params)
    except NdbError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=step not in LOOKS, tables=found)


def _on_data_node(given: dict[str, Any]) -> dict[str, int]:
    tools = Tools(Path(given["launchers"]), given["connect"])
    part = backup.check(Path(given["directory"]), given["backup"], given["node"], given["nodes"])
    done = {"metadata": restore.metadata, "data": restore.data, "indexes": restore.indexes}
    done[given["step"]](tools, part, given["databases"])
    return {}


def _on_sql_node(given: dict[str, Any]) -> dict[str, int]:
    server, databases = Server(database="", **login(given)), given["databases"]
    step = given["step"]
    if step == "idle":
        restore.idle(server, given["users"])
    elif step == "tables":
        return restore.tables(server, databases)
    elif step == "discover":
        return restore.discover(server, databases, given["timeout"])
    elif step == "empty":
        restore.empty(server, databases)
    else:
        restore.begin_anew(server, given["state_schema"])
    return {}


if __name__ == "__main__":
    main()
