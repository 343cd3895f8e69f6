"""Documentation of the options of `hopshive_module.SERVICE`, for all modules that ask a service whether it works."""

from __future__ import annotations


class ModuleDocFragment:
    """Read by `ansible-doc`. A module describes O(namenode) itself, with the kinds that need it."""

    DOCUMENTATION = r"""
options:
  host:
    description: Address on which the service listens.
    type: str
    default: localhost
  namenode:
    description: URLs of the NameNodes.
    type: list
    elements: str
    default: []
  resourcemanager:
    description: Of V(kind=nodemanager), the URLs of the ResourceManagers, one of which must list it as running.
    type: list
    elements: str
    default: []
  authority:
    description: >-
      A file of certificates that the service's own is verified against. Without it, a metastore, a HiveServer2, a database
      and a cleaner are asked without TLS, V(kind=login) and V(kind=gateway) with the certificates of the operating system.
    type: path
  login_user:
    description:
      - Of V(kind=mariadb), V(kind=ndb_sql) and V(kind=server2), the user that asks.
      - The default is the user of the operating system for a database, and V(anonymous) for HiveServer2.
    type: str
    default: ""
  login_password:
    description: Of V(kind=mariadb), V(kind=ndb_sql) and V(kind=server2), the password of O(login_user).
    type: str
    default: ""
"""
