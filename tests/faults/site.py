"""The warehouse under test: its services, who of them is active, and what they answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode import NameNode
from hopshive.services import health
from hopshive.services.components import COMPONENTS
from hopshive.services.resourcemanager import Master, ResourceManager
from tests.warehouse.cleaner import Cleaner
from tests.warehouse.service import Service

if TYPE_CHECKING:
    from tests.warehouse.hosts import Host, Lab

# The port at which each component is asked, as in roles/cluster.
PORTS = {
    "mariadb": 3306,
    "ndb_sql": 3306,
    "zookeeper": 2181,
    "journalnode": 8480,
    "namenode": 9870,
    "datanode": 9864,
    "resourcemanager": 8088,
    "nodemanager": 8042,
    "metastore": 9083,
    "cleaner": 9853,
    "server2": 10000,
}
# Where a NameNode listens for HDFS clients; its port above answers people.
NAMENODE_RPC = 8020


class Site:
    """The services of a lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def service(self, component: str, host: Host) -> Service:
        """The service of a component on a host."""
        return Service(host, COMPONENTS[component].unit)

    def target(self, component: str, host: Host) -> health.Target:
        """The question whether it answers."""
        namenodes = [f"http://{one.address}:9870" for one in self.lab.group("namenode")]
        return health.Target(
            component,
            host.address,
            PORTS[component],
            namenode=namenodes if component in ("namenode", "datanode") else (),
            resourcemanager=[f"http://{one.address}:8088" for one in self.lab.group("resourcemanager")]
            if component == "nodemanager"
            else (),
            cleaners=[f"http://{one.address}:9853" for one in self.lab.group("cleaner")]
            if component == "cleaner"
            else (),
        )

    def wait_healthy(self, timeout: float) -> float:
        """Until every service answers; the seconds that it took. Raises NoAnswer with the sentence of the first that does not."""
        begin = time.monotonic()
        for component in PORTS:
            for host in self.lab.group(component):
                # A database wants a password: that clients work reports it.
                if component in ("mariadb", "ndb_sql"):
                    continue
                health.wait_for(self.target(component, host), max(1.0, timeout - (time.monotonic() - begin)))
        return time.monotonic() - begin

    def active(self, component: str) -> Host:
        """Of several replicas the one that leads: NameNode, ResourceManager, ZooKeeper, cleaner. Raises NoAnswer."""
        wanted = {"namenode": "active", "resourcemanager": "active", "zookeeper": "leader", "cleaner": "leading"}[
            component
        ]
        for host in self.lab.group(component):
            try:
                answer = health.QUESTIONS[component].ask(self.target(component, host), 5)
            except health.NoAnswer:
                continue
            if wanted in (answer.get("state"), answer.get("mode")):
                return host
        raise health.NoAnswer(f"no {component} is {wanted}")

    def masters(self) -> set[Master]:
        """The application masters, as the active ResourceManager tells. Raises NoAnswer."""
        host = self.active("resourcemanager")
        return set(ResourceManager(f"{host.address}:{PORTS['resourcemanager']}").masters())

    def namenode(self) -> NameNode:
        """A client of the active NameNode."""
        return NameNode([(host.address, NAMENODE_RPC) for host in self.lab.group("namenode")], user="hive")

    def cleaners(self) -> list[Cleaner]:
        """The daemons."""
        return [Cleaner(host) for host in self.lab.group("cleaner")]
