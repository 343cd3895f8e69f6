#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""A backup of NDB Cluster: taken on a management node, sealed and counted on each data node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_ndb_backup
short_description: Take a backup of NDB Cluster, and look after what each data node has of it
version_added: "0.1.0"
description:
  - With O(state=taken), on a host with C(ndb_mgm), all data nodes write a backup while they work, and the module waits until
    it is completed.
  - With O(state=sealed), on a data node's host, its part must be there; the module notes what belongs to it and removes
    backups that are older than the newest O(keep).
  - With O(state=whole), its part must be as it was sealed, and of a cluster with the same data nodes.
notes:
  - "Roles that use this module: C(ndb_data), C(ndb_management)."
  - The page of documentation is C(docs/ndb.md).
seealso:
  - module: hopshive_ndb_restore
options:
  state:
    description: What is asked for.
    type: str
    choices: [taken, sealed, whole]
    required: true
  connect:
    description: Of O(state=taken), host and port of the management nodes.
    type: str
    default: localhost:1186
  launchers:
    description: Of O(state=taken), the directory with C(ndb_mgm).
    type: path
    default: /usr/local/bin
  timeout:
    description: Of O(state=taken), seconds that it may take.
    type: int
    default: 7200
  backup:
    description: The backup's number. A new one gets the seconds since 1970.
    type: int
  directory:
    description: Of the other states, the node's C(BackupDataDir).
    type: path
  node:
    description: Of the other states, the node's number.
    type: int
  nodes:
    description: Of the other states, the numbers of all data nodes.
    type: list
    elements: int
  keep:
    description: Of O(state=sealed), how many backups stay; 0 keeps all. Those that were taken by hand always stay.
    type: int
    default: 0
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: partial
    description: No backup is taken, sealed or removed.
  diff_mode:
    support: none
    description: A backup has nothing to compare.
  idempotent:
    support: partial
    description: Each O(state=taken) is another backup.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Take a backup
  hopshive_ndb_backup:
    state: taken
    connect: "{{ cluster_ndb_connect }}"

- name: Look whether this node has its part, and keep seven
  hopshive_ndb_backup:
    state: sealed
    backup: 1795318580
    directory: "{{ cluster_ndb_backup_dir }}"
    node: 11
    nodes: [11, 12]
    keep: 7
"""

RETURN = r"""
backup:
  description: The backup's number.
  returned: success
  type: int
  sample: 1795318580
records:
  description: Rows of all nodes.
  returned: state=taken
  type: int
  sample: 1300454
bytes:
  description: With O(state=taken), of rows and changes on all nodes; else of the files of this node.
  returned: success
  type: int
  sample: 87284
path:
  description: The directory of this node's part.
  returned: state=sealed or state=whole
  type: str
  sample: /var/lib/hopshive/ndb_backup/BACKUP/BACKUP-1795318580
files:
  description: The files of this node's part, below RV(path).
  returned: state=sealed or state=whole
  type: list
  elements: str
  sample: [BACKUP-1795318580.11.ctl]
removed:
  description: Numbers of the backups that were removed.
  returned: state=sealed
  type: list
  elements: int
  sample: [1795232180]
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.operations.ndb import backup
    from hopshive.operations.ndb.tools import NdbError, Tools


def main() -> None:
    module = start(
        argument_spec={
            "state": {"type": "str", "choices": ["taken", "sealed", "whole"], "required": True},
            "connect": {"type": "str", "default": "localhost:1186"},
            "launchers": {"type": "path", "default": "/usr/local/bin"},
            "timeout": {"type": "int", "default": 7200},
            "backup": {"type": "int"},
            "directory": {"type": "path"},
            "node": {"type": "int"},
            "nodes": {"type": "list", "elements": "int"},
            "keep": {"type": "int", "default": 0},
        },
        required_if=[("state", state, ["backup", "directory", "node", "nodes"]) for state in ("sealed", "whole")],
    )
    given = module.params
    if given["state"] == "taken" and module.check_mode:
        module.exit_json(changed=True, backup=given["backup"] or 0, records=0, bytes=0)
    try:
        result = _taken(given) if given["state"] == "taken" else _part(given, changes=not module.check_mode)
    except NdbError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def _taken(given: dict[str, Any]) -> dict[str, Any]:
    done = backup.start(Tools(Path(given["launchers"]), given["connect"]), given["backup"], given["timeout"])
    return {"changed": True, "backup": done.id, "records": done.records, "bytes": done.bytes}


def _part(given: dict[str, Any], *, changes: bool) -> dict[str, Any]:
    directory, keep = Path(given["directory"]), given["keep"]
    sealing = given["state"] == "sealed" and changes
    part = (backup.seal if sealing else backup.check)(directory, given["backup"], given["node"], given["nodes"])
    removed = backup.prune(directory, keep) if sealing else []
    return {
        "changed": sealing,
        "backup": part.id,
        "bytes": part.bytes,
        "path": part.path,
        "files": [*part.files, *([backup.SEAL] if sealing else [])],
        "removed": removed,
    }


if __name__ == "__main__":
    main()
