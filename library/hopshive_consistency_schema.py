#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""The consistency schema in the metastore's database."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_consistency_schema
short_description: Add the consistency schema to a metastore's database, or take it off
version_added: "0.1.0"
description:
  - Makes storage descriptors refer to the inodes of their directories and lets the foreign keys that lead from there cascade, so
    that metadata goes with its directory. Hive needs no change for it.
  - Makes the columns that hold what users write utf8mb4, on MariaDB. In the stock schema's latin1 other text becomes question
    marks. V(absent) refuses while a column holds what latin1 does not have, and names one of the rows.
  - The module reads from the database what to do. Each statement is atomic; the next run continues an interrupted one.
    V(absent) restores the stock schema.
  - The metastore may be at work. A statement waits for others for a second at most, steps back and tries again, for two
    minutes.
  - Refuses a schema of another version than 4.0.0, and tables of another engine than InnoDB. Nothing is changed then.
extends_documentation_fragment:
  - login
notes:
  - "Role that uses this module: C(metastore)."
  - The page of documentation is C(docs/consistency.md).
seealso:
  - module: hopshive_metastore_schema
options:
  state:
    description: Whether the schema is there. V(absent) is refused while one of hopshive's daemons leads.
    type: str
    choices: [present, absent]
    default: present
  database:
    description: The metastore's database, with the schema that C(schematool) made.
    type: str
    default: metastore
  state_schema:
    description: The schema of hopshive's own tables. It is made.
    type: str
    default: hopshive
  inode_table:
    description: The table of inodes, with its schema. It is made, unless O(inode_source) is V(hopsfs).
    type: str
    default: hops.hdfs_inodes
  inode_source:
    description: The writer of O(inode_table). V(hdfs), hopshive's daemon; V(hopsfs), the NameNodes of HopsFS.
    type: str
    choices: [hdfs, hopsfs]
    default: hdfs
  uris:
    description: What locations on the file system begin with. Needed with O(inode_source=hopsfs).
    type: list
    elements: str
    default: []
  orphans:
    description:
      - What is done with rows of C(KEY_CONSTRAINTS) that name a table which is not there. V(refuse) changes nothing and tells
        how many there are.
    type: str
    choices: [refuse, delete]
    default: refuse
  purge:
    description: With O(state=absent), drop O(state_schema) and hopshive's O(inode_table) too. The journal goes with them.
    type: bool
    default: false
  only_triggers:
    description:
      - With O(state=absent), take off the triggers alone. Each SQL node of NDB Cluster has its own; on all of them they go before
        one of them takes the columns that they name.
    type: bool
    default: false
  login_user:
    description: A user with all privileges on O(database), O(state_schema) and the schema of O(inode_table).
    type: str
    default: ""
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Reads the database and foretells the statements.
  diff_mode:
    support: full
    description: The statements.
  idempotent:
    support: full
    description: A schema that fits costs some queries of information_schema.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Let metadata follow their directories
  hopshive_consistency_schema:
    database: "{{ cluster_metastore_database }}"
    state_schema: "{{ cluster_state_schema }}"
    inode_table: "{{ cluster_inode_table }}"
    inode_source: "{{ cluster_inode_source }}"
    login_host: "{{ cluster_mariadb_address }}"
    login_port: "{{ cluster_mariadb_port }}"
    login_user: "{{ cluster_metastore_database_user }}"
    login_password: "{{ cluster_metastore_database_password }}"
  run_once: true

- name: Give back the stock schema
  hopshive_consistency_schema:
    state: absent
    login_unix_socket: /run/mysqld/mysqld.sock
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be.
  returned: success
  type: list
  elements: str
  sample: [ALTER TABLE DBS ADD COLUMN SD_ID bigint(20) NULL]
bound:
  description: With O(inode_source=hopsfs), rows from before that were bound to their inodes.
  returned: success
  type: int
  sample: 0
not_there:
  description: With O(inode_source=hopsfs), rows from before whose directory is not there.
  returned: success
  type: int
  sample: 0
"""

from ansible.module_utils.hopshive_module import LOGIN, importing, login, start

with importing:
    from hopshive.consistency import schema
    from hopshive.database import Names, Server


def main() -> None:
    module = start(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "database": {"type": "str", "default": "metastore"},
            "state_schema": {"type": "str", "default": "hopshive"},
            "inode_table": {"type": "str", "default": "hops.hdfs_inodes"},
            "inode_source": {"type": "str", "choices": ["hdfs", "hopsfs"], "default": "hdfs"},
            "uris": {"type": "list", "elements": "str", "default": []},
            "orphans": {"type": "str", "choices": ["refuse", "delete"], "default": "refuse"},
            "purge": {"type": "bool", "default": False},
            "only_triggers": {"type": "bool", "default": False},
            **LOGIN,
        },
    )
    parameters = module.params
    server = Server(database=parameters["database"], **login(parameters))
    names = Names(parameters["state_schema"], parameters["inode_table"])
    source = parameters["inode_source"]
    existing = schema.Existing()
    try:
        if parameters["state"] == "absent":
            statements = schema.remove(
                server,
                names,
                purge=parameters["purge"],
                only_triggers=parameters["only_triggers"],
                dry_run=module.check_mode,
            )
        else:
            statements = schema.apply(
                server,
                names,
                source=source,
                uris=parameters["uris"],
                delete_orphans=parameters["orphans"] == "delete",
                dry_run=module.check_mode,
            )
            if source == "hopsfs" and not module.check_mode:
                existing = schema.bind(server, names)
    except schema.SchemaError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(statements) or existing.done > 0,
        statements=statements,
        bound=existing.done,
        not_there=existing.not_there,
        diff={"before": "", "after": "".join(f"{statement};\n" for statement in statements)},
    )


if __name__ == "__main__":
    main()
