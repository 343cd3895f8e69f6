#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Wait until a service answers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_answers
short_description: Wait until a service of the warehouse answers in its own protocol
version_added: "0.1.0"
description:
  - Asks a service something that it can only answer when it does its work, twice a second, until it answers.
  - "ZooKeeper: C(srvr), so it is part of a quorum. MariaDB: C(SELECT 1). JournalNode: its JMX.
    NameNode: out of safe mode. DataNode: up, and live for the NameNode. ResourceManager: started. NodeManager: healthy,
    and running for the ResourceManager. Metastore: Thrift C(get_catalogs), so its database answers as well. HiveServer2: a
    session, and with O(statement) a statement. Cleaner: it leads and can do its work, or waits. Login service: it reaches
    its database and its back end. Gateway: it refuses a client without a certificate."
  - "V(kind=datanode_leaving) and V(kind=nodemanager_leaving): with O(host) and O(port) of its data or RPC port, that the
    NameNode or the ResourceManager has decommissioned it."
  - An answer that waiting cannot better, such as a refused login, fails at once.
  - Starts no JVM.
notes:
  - Most roles use this module.
seealso:
  - module: hopshive_restart
extends_documentation_fragment:
  - service
options:
  kind:
    description: What is asked.
    type: str
    required: true
    choices:
      - zookeeper
      - mariadb
      - ndb_sql
      - journalnode
      - namenode
      - zkfc
      - datanode
      - datanode_leaving
      - resourcemanager
      - nodemanager
      - nodemanager_leaving
      - metastore
      - server2
      - cleaner
      - login
      - gateway
  port:
    description:
      - Where it listens; of the daemons of HDFS and YARN that is the HTTP port.
      - Defaults to the port that the service has unless it is told otherwise.
    type: int
  timeout:
    description: How long to wait, in seconds.
    type: int
    default: 60
  namenode:
    description: >-
      Of V(kind=datanode), the URLs of the NameNodes, one of which must list it as live; of V(kind=namenode) and V(kind=zkfc),
      those of all of them, one of which must be active.
    type: list
    elements: str
    default: []
  cleaners:
    description: Of V(kind=cleaner), the URLs of all of them, exactly one of which must lead.
    type: list
    elements: str
    default: []
  login_unix_socket:
    description: Of V(kind=mariadb) and V(kind=ndb_sql), the socket to use instead of O(host) and O(port).
    type: path
  statement:
    description: Of V(kind=server2), a statement that must succeed within ten seconds, such as C(SELECT 1).
    type: str
    default: ""
  safe_mode:
    description: Of V(kind=namenode), whether one in safe mode counts as well, as before its DataNodes are up.
    type: bool
    default: false
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Asks once; no answer is a warning then, since what starts the service may not have run.
  diff_mode:
    support: none
    description: Changes nothing.
  idempotent:
    support: full
    description: Changes nothing.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Wait until the metastore answers
  hopshive_answers:
    kind: metastore
    host: "{{ cluster_address }}"
    port: "{{ cluster_metastore_port }}"
    timeout: "{{ cluster_check_timeout }}"

- name: Wait until the DataNode is live
  hopshive_answers:
    kind: datanode
    host: worker1
    namenode: http://namenode:9870

- name: Wait until HiveServer2 compiles a statement
  hopshive_answers:
    kind: server2
    host: server2
    login_user: hive
    statement: SELECT 1
"""

RETURN = r"""
facts:
  description:
    - What the service said of itself.
    - C(version) of all but NameNode, cleaner, login service and gateway; C(mode) of ZooKeeper; C(state), which is active
      or standby, of NameNode and ResourceManager, leading or standby of the cleaner, with its C(epoch); C(live_datanodes) of the
      NameNode; C(name) of DataNode and NodeManager; C(catalogs) of the metastore; C(rows) of a statement; C(keys) of the
      login service, whose tokens it accepts.
  returned: success
  type: dict
  sample: {version: 4.0.1, catalogs: [hive]}
waited:
  description: Seconds until it answered.
  returned: success
  type: float
  sample: 3.5
attempts:
  description: How often it was asked.
  returned: success
  type: int
  sample: 8
"""

from ansible.module_utils.hopshive_module import SERVICE, importing, start

with importing:
    from hopshive.services import health


def main() -> None:
    module = start(
        argument_spec={
            "kind": {
                "type": "str",
                "required": True,
                "choices": [
                    "zookeeper",
                    "mariadb",
                    "ndb_sql",
                    "journalnode",
                    "namenode",
                    "zkfc",
                    "datanode",
                    "datanode_leaving",
                    "resourcemanager",
                    "nodemanager",
                    "nodemanager_leaving",
                    "metastore",
                    "server2",
                    "cleaner",
                    "login",
                    "gateway",
                ],
            },
            **SERVICE,
            "port": {"type": "int"},
            "timeout": {"type": "int", "default": 60},
            "cleaners": {"type": "list", "elements": "str", "default": []},
            "login_unix_socket": {"type": "path"},
            "safe_mode": {"type": "bool", "default": False},
            "statement": {"type": "str", "default": ""},
        },
    )
    parameters = module.params
    target = health.Target(
        kind=parameters["kind"],
        host=parameters["host"],
        port=parameters["port"] or health.QUESTIONS[parameters["kind"]].port,
        user=parameters["login_user"],
        password=parameters["login_password"],
        unix_socket=parameters["login_unix_socket"] or "",
        statement=parameters["statement"],
        namenode=parameters["namenode"],
        resourcemanager=parameters["resourcemanager"],
        cleaners=parameters["cleaners"],
        authority=parameters["authority"] or "",
        safe_mode=parameters["safe_mode"],
    )
    try:
        answer = health.wait_for(target, 0 if module.check_mode else parameters["timeout"])
    except (health.NoAnswer, health.WrongAnswer) as error:
        if module.check_mode:
            module.warn(str(error))
            module.exit_json(changed=False)
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, facts=answer.facts, waited=answer.waited, attempts=answer.attempts)


if __name__ == "__main__":
    main()
