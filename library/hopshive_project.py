#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Bring the projects of a site to what its inventory says."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_project
short_description: Bring projects to what the inventory says of them
version_added: "0.2.0"
description:
  - "Makes for each project what it has on the whole cluster: two directories on HDFS with owner, ACL and quota, a database
    in Hive's metastore, directories for each account's temporary results and home, and the list of its members."
  - Accounts and groups of the operating system are not its matter. The NameNodes must know them already.
  - A person who is no longer a member loses the project at once. A person who is new comes in when all else is done.
  - Starts no JVM. Only the first run of a project, and a change of O(projects.readers), walks over the project's files.
extends_documentation_fragment:
  - login
options:
  projects:
    description: Projects by name.
    type: dict
    required: true
  removed:
    description:
      - Names of projects that are no longer in O(projects). Their directories go to the trash, and the metastore follows.
      - The module refuses to drop a project with members that this list does not name.
    type: list
    elements: str
    default: []
  url:
    description: URLs of the NameNodes, C(http://namenode:9870).
    type: list
    elements: str
    required: true
  authority:
    description: >-
      File with the certificates of the authority (CA) that vouches for NameNodes and DataNodes, where O(url) is C(https://).
      The default is those of the system.
    type: path
  uri:
    description: The file system, as locations of tables name it (C(fs.defaultFS)).
    type: str
    required: true
  user:
    description: The superuser of HDFS.
    type: str
    default: hdfs
  service:
    description: The account that the metastore has on HDFS. It owns the directories of projects.
    type: str
    default: hive
  external:
    description: Directory of external databases on HDFS.
    type: str
    required: true
  managed:
    description: Directory of managed databases on HDFS.
    type: str
    required: true
  scratch:
    description: Directory on HDFS where each account has its temporary results (C(hive.exec.scratchdir)).
    type: str
    required: true
  home:
    description: Directory on HDFS where each account has its home.
    type: str
    default: /user
  metastores:
    description: Each metastore's C(host:port).
    type: list
    elements: str
    required: true
  database:
    description: Name of the metastore's database.
    type: str
    default: metastore
  state_schema:
    description: Name of the schema with hopshive's own tables.
    type: str
    default: hopshive
  login_user:
    description: A user of the database who may change hopshive's own tables.
    type: str
    default: ""
  timeout:
    description: Seconds to wait for a NameNode that cannot answer yet.
    type: int
    default: 60
notes:
  - "Role that uses this module: C(projects)."
  - The page of documentation is C(docs/tenancy.md).
seealso:
  - module: hopshive_authenticator
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Reads HDFS, the metastore and the database, and foretells.
  diff_mode:
    support: full
    description: What changes, by project.
  idempotent:
    support: full
    description: Writes nothing as long as all is as wanted.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Bring the projects to their state
  hopshive_project:
    projects:
      sales:
        id: 20000
        members:
          alice: {id: 30000, role: owner}
          bob: {id: 30001}
        space_quota: 10T
        readers: [plans]
      plans:
        id: 20002
        members:
          alice: {id: 30002, role: owner}
    url: [http://namenode1:9870, http://namenode2:9870]
    uri: hdfs://warehouse
    external: /warehouse/external
    managed: /warehouse/managed
    scratch: /tmp/hive
    metastores: [metastore1:9083]
    login_user: hopshive
    login_password: "{{ cluster_cleaner_db_password }}"
"""

RETURN = r"""
changes:
  description: What changed, by project.
  returned: success
  type: dict
  sample:
    sales: ["database sales made", "alice: owner"]
"""

from ansible.module_utils.hopshive_module import LOGIN, importing, login, start

with importing:
    from hopshive.config import ConfigError
    from hopshive.database import Database, DatabaseError, Names, Server
    from hopshive.hdfs.wanted import WebHdfsError
    from hopshive.tenancy.hive_database import HiveDatabaseError, Metastores
    from hopshive.tenancy.projects import read
    from hopshive.tenancy.site import ProjectError, Site, bring


def main() -> None:
    module = start(
        argument_spec={
            **LOGIN,
            "projects": {"type": "dict", "required": True},
            "removed": {"type": "list", "elements": "str", "default": []},
            "url": {"type": "list", "elements": "str", "required": True},
            "authority": {"type": "path"},
            "uri": {"type": "str", "required": True},
            "user": {"type": "str", "default": "hdfs"},
            "service": {"type": "str", "default": "hive"},
            "external": {"type": "str", "required": True},
            "managed": {"type": "str", "required": True},
            "scratch": {"type": "str", "required": True},
            "home": {"type": "str", "default": "/user"},
            "metastores": {"type": "list", "elements": "str", "required": True},
            "database": {"type": "str", "default": "metastore"},
            "state_schema": {"type": "str", "default": "hopshive"},
            "timeout": {"type": "int", "default": 60},
        },
    )
    given = module.params
    try:
        projects = read(given["projects"])
        site = Site(
            urls=tuple(given["url"]),
            authority=given["authority"] or "",
            uri=given["uri"].rstrip("/"),
            external=given["external"],
            managed=given["managed"],
            scratch=given["scratch"],
            home=given["home"],
            metastores=Metastores(given["metastores"], given["service"]),
            user=given["user"],
            service=given["service"],
            timeout=given["timeout"],
        )
        server = Server(database=given["database"], **login(given))
        database = Database(server, Names(state=given["state_schema"]))
        try:
            changes = bring(site, projects, database, given["removed"], dry=module.check_mode)
        finally:
            database.close()
    except (ConfigError, DatabaseError, HiveDatabaseError, ProjectError, WebHdfsError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(changes), changes=changes, diff={"before": {}, "after": changes})


if __name__ == "__main__":
    main()
