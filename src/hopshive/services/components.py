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
    needed by every warehouse. A component that is not `replicated` has one host. `beside` are units that its hosts run as well.
    """

    group: str
    unit: str = ""
    required: bool = True
    replicated: bool = True
    beside: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[str, ...]:
        """All units of its hosts."""
        return (*((self.unit,) if self.unit else ()), *self.beside)


COMPONENTS: Mapping[str, Component] = {
    component.group: component
    for component in (
        # One of the two databases is needed: hopshive.install.preflight.database.
        Component("mariadb", "mariadb", required=False, replicated=False),
        Component("ndb_management", "ndb-management", required=False, replicated=False),
        Component("ndb_data", "ndb-data", required=False),
        Component("ndb_sql", "ndb-sql", required=False, beside=("ndb-sql-watchdog",)),
        Component("zookeeper", "zookeeper"),
        # The edits of several NameNodes, and beside each of those its failover controller.
        Component("journalnode", "hadoop-hdfs-journalnode", required=False),
        Component("namenode", "hadoop-hdfs-namenode", beside=("hadoop-hdfs-zkfc", "hadoop-hdfs-namenode-watchdog")),
        Component("datanode", "hadoop-hdfs-datanode"),
        Component("resourcemanager", "hadoop-yarn-resourcemanager", beside=("hadoop-yarn-resourcemanager-watchdog",)),
        Component("nodemanager", "hadoop-yarn-nodemanager"),
        Component("metastore", "hive-metastore", beside=("hive-metastore-watchdog",)),
        Component("cleaner", "hopshive-cleaner", required=False),
        Component("server2", "hive-server2", beside=("hive-server2-watchdog",)),
        Component("client", required=False),
    )
}
