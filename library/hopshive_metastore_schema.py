#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""The schema of the metastore's database."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_metastore_schema
short_description: Make or upgrade the schema of the Hive metastore's database
version_added: "0.1.0"
description:
  - Makes the schema in an empty database, upgrades an older one, and leaves one of the installed Hive's version alone.
    C(schematool) does that; what is to be done is read from the database.
  - Refuses a schema that is newer or of an unknown version, and tables without a version, which an interrupted
    C(schematool -initSchema) leaves. Nothing is changed then.
  - Before an upgrade the database is dumped to O(dump_dir) and the dump is read back. If the upgrade fails, the message tells
    how to load it, and no other upgrade is tried until that was done.
  - Adds the rows of C(AUX_TABLE) that the metastore's housekeeping tasks lock. Without them the tasks deadlock on MariaDB.
  - Run it on one host, while no metastore runs if an upgrade may be due.
extends_documentation_fragment:
  - login
notes:
  - "Role that uses this module: C(metastore)."
  - The page of documentation is C(docs/availability.md).
seealso:
  - module: hopshive_consistency_schema
options:
  database:
    description: The metastore's database. It must be there.
    type: str
    default: metastore
  login_user:
    description: A user with all privileges on O(database).
    type: str
    default: ""
  schematool:
    description: The command line tool.
    type: path
    default: /usr/local/bin/schematool
  config_dir:
    description: Directory of the C(hive-site.xml) that tells O(schematool) of the database; given to it as C(HIVE_CONF_DIR).
    type: path
    required: true
  scripts_dir:
    description:
      - C(scripts/metastore/upgrade/mysql) of the installed Hive. Its C(upgrade.order.mysql) names the versions that can be
        upgraded, and the installed one.
    type: path
    required: true
  dump_dir:
    description: Directory for dumps; made with mode 0700 when one is due.
    type: path
    required: true
  dump_command:
    description: What dumps the database.
    type: str
    default: mariadb-dump
requirements:
  - the hopshive package in the Python that runs the module
  - Debian's mariadb-client, for upgrades
attributes:
  check_mode:
    support: full
    description: Reads the database and foretells the action.
  diff_mode:
    support: full
    description: The version of the schema, and the rows of C(AUX_TABLE).
  idempotent:
    support: full
    description: An up-to-date schema costs three queries and no JVM.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Make or upgrade the metastore's schema
  hopshive_metastore_schema:
    database: "{{ cluster_metastore_database }}"
    login_host: "{{ cluster_mariadb_address }}"
    login_port: "{{ cluster_mariadb_port }}"
    login_user: "{{ cluster_metastore_database_user }}"
    login_password: "{{ cluster_metastore_database_password }}"
    config_dir: /etc/hive/conf.metastore
    scripts_dir: "{{ cluster_hive_home }}/scripts/metastore/upgrade/mysql"
    dump_dir: "{{ cluster_data_dir }}/metastore/dumps"
  run_once: true
"""

RETURN = r"""
action:
  description: V(none), V(init) or V(upgrade).
  returned: success
  type: str
  sample: upgrade
version_before:
  description: Version of the schema before; empty if there was none.
  returned: success
  type: str
  sample: 3.1.0
version:
  description: Version of the schema now.
  returned: success
  type: str
  sample: 4.0.0
consistent:
  description: Whether hopshive's own schema fits that version.
  returned: success
  type: bool
  sample: true
dump:
  description: Path of the dump; empty without an upgrade, and in check mode.
  returned: success
  type: str
  sample: /var/lib/hopshive/metastore/dumps/metastore-3.1.0-20250101T120000Z.sql.gz
mutex_rows:
  description: Keys that were added to C(AUX_TABLE).
  returned: success
  type: list
  elements: str
  sample: [Initiator, Cleaner]
"""

from ansible.module_utils.hopshive_module import LOGIN, importing, login, start

with importing:
    from hopshive.consistency.schema.wanted import HIVE_SCHEMA
    from hopshive.database import Server
    from hopshive.metastore import schematool


def main() -> None:
    module = start(
        argument_spec={
            "database": {"type": "str", "default": "metastore"},
            **LOGIN,
            "schematool": {"type": "path", "default": "/usr/local/bin/schematool"},
            "config_dir": {"type": "path", "required": True},
            "scripts_dir": {"type": "path", "required": True},
            "dump_dir": {"type": "path", "required": True},
            "dump_command": {"type": "str", "default": "mariadb-dump"},
        },
    )
    parameters = module.params
    server = Server(database=parameters["database"], **login(parameters))
    tool = schematool.SchemaTool(parameters["schematool"], parameters["config_dir"])
    path = ""
    try:
        todo = schematool.plan(server, parameters["scripts_dir"], parameters["dump_dir"], parameters["dump_command"])
        if not module.check_mode:
            path = schematool.carry_out(todo, server, tool, parameters["dump_dir"], parameters["dump_command"])
    except schematool.SchemaError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=todo.action != "none" or bool(todo.mutex_rows),
        action=todo.action,
        version_before=todo.before,
        version=todo.target,
        consistent=todo.target == HIVE_SCHEMA,
        dump=path,
        mutex_rows=list(todo.mutex_rows),
        diff={
            "before": {"schema_version": todo.before, "missing_mutex_rows": list(todo.mutex_rows)},
            "after": {"schema_version": todo.target, "missing_mutex_rows": []},
        },
    )


if __name__ == "__main__":
    main()
