"""The service components: each is a group of the inventory, a role and, mostly, a systemd unit on its hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# The group that holds the component groups, and nothing else.
ROOT_GROUP = "hopshive"


@dataclass(frozen=True)
class Component:
    """One group of the inventory.

    `unit` is the systemd unit without `.service`; a component without one runs no daemon. `required` components are
    needed by every warehouse. A component that is not `replicated` has one host.
    """

    group: str
    unit: str = ""
    required: bool = True
    replicated: bool = True


COMPONENTS: Mapping[str, Component] = {
    component.group: component
    for component in (
        # One of the two databases is needed: hopshive.preflight.inventory.
        Component("mariadb", "mariadb", required=False, replicated=False),
        Component("ndb_management", "ndb-management", required=False, replicated=False),
        Component("ndb_data", "ndb-data", required=False),
        Component("ndb_sql", "ndb-sql", required=False),
        Component("zookeeper", "zookeeper"),
        Component("namenode", "hadoop-hdfs-namenode", replicated=False),
        Component("datanode", "hadoop-hdfs-datanode"),
        Component("resourcemanager", "hadoop-yarn-resourcemanager", replicated=False),
        Component("nodemanager", "hadoop-yarn-nodemanager"),
        Component("metastore", "hive-metastore"),
        Component("cleaner", "hopshive-cleaner", required=False),
        Component("server2", "hive-server2"),
        Component("client", required=False),
    )
}
