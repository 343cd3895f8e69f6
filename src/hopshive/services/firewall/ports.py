"""The ports on which the components listen, and who may open connections to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Sources of connections. The hosts of the inventory may reach each port of this table.
CLUSTER = "cluster"
CLIENTS = "clients"
PAGES = "pages"
MONITORING = "monitoring"


@dataclass(frozen=True)
class Port:
    """A variable with a port, or with a list of ports and ranges, of the hosts of a group.

    `sources`: who may open connections beside the hosts of the inventory. `several`: only a group of several hosts
    listens there. `caller`: only an inventory with hosts of that group has a listener there.
    """

    variable: str
    group: str
    sources: tuple[str, ...] = ()
    several: bool = False
    caller: str = ""


PORTS = (
    Port("cluster_mariadb_port", "mariadb"),
    Port("cluster_ndb_management_port", "ndb_management"),
    Port("cluster_ndb_data_port", "ndb_data"),
    Port("cluster_ndb_sql_port", "ndb_sql"),
    # It has no passwords: clients from outside name a HiveServer2 in their URL, and do not look for one here.
    Port("cluster_zookeeper_client_port", "zookeeper"),
    Port("cluster_zookeeper_peer_port", "zookeeper", several=True),
    Port("cluster_zookeeper_election_port", "zookeeper", several=True),
    Port("cluster_journalnode_rpc_port", "journalnode"),
    Port("cluster_journalnode_http_port", "journalnode"),
    Port("cluster_namenode_rpc_port", "namenode"),
    # WebHDFS, which takes any name, is on this port beside the pages.
    Port("cluster_namenode_http_port", "namenode"),
    Port("cluster_namenode_failover_port", "namenode", several=True),
    Port("cluster_datanode_port", "datanode"),
    Port("cluster_datanode_ipc_port", "datanode"),
    Port("cluster_datanode_http_port", "datanode"),
    Port("cluster_resourcemanager_port", "resourcemanager"),
    Port("cluster_resourcemanager_scheduler_port", "resourcemanager"),
    Port("cluster_resourcemanager_tracker_port", "resourcemanager"),
    Port("cluster_resourcemanager_admin_port", "resourcemanager"),
    # Its REST interface starts applications under any name.
    Port("cluster_resourcemanager_http_port", "resourcemanager"),
    Port("cluster_nodemanager_port", "nodemanager"),
    Port("cluster_nodemanager_localizer_port", "nodemanager"),
    Port("cluster_nodemanager_http_port", "nodemanager"),
    Port("cluster_nodemanager_shuffle_port", "nodemanager"),
    # Application masters, executors, and drivers that run in containers.
    Port("cluster_firewall_job_ports", "nodemanager"),
    Port("cluster_metastore_port", "metastore"),
    Port("cluster_cleaner_port", "cleaner", (MONITORING,)),
    Port("cluster_login_port", "login", (CLIENTS, MONITORING)),
    Port("cluster_server2_port", "server2", (CLIENTS,)),
    # Clients with a certificate come through a gateway.
    Port("cluster_server2_thrift_http_port", "server2", caller="gateway"),
    Port("cluster_server2_http_port", "server2", (PAGES,)),
    Port("cluster_gateway_port", "gateway", (CLIENTS,)),
    # Spark's drivers, to which executors connect, and their pages, to which the ResourceManager connects.
    Port("cluster_firewall_job_ports", "client"),
    Port("cluster_firewall_driver_pages", "client"),
)
# Each variable of the table once.
VARIABLES = tuple(dict.fromkeys(port.variable for port in PORTS))


@dataclass(frozen=True)
class Opening:
    """`ports` (a number, or a range as `4040-4055`) to which `source` may open connections. `what`: for whom it is."""

    ports: str
    source: str
    what: str
    protocol: str = "tcp"


def openings(values: Mapping[str, object], host: str, groups: Mapping[str, Sequence[str]]) -> list[Opening]:
    """What a host opens for its components. `values`: the variables of the table, by name."""
    found: dict[tuple[str, str], Opening] = {}
    for port in PORTS:
        members = groups.get(port.group, ())
        if host not in members or (port.several and len(members) < 2):
            continue
        if port.caller and not groups.get(port.caller):
            continue
        for number in _listed(values[port.variable]):
            for source in (CLUSTER, *port.sources):
                what = f"{port.group}: {port.variable}"
                found.setdefault((source, number), Opening(number, source, what))
    return sorted(found.values(), key=lambda one: (one.source, int(one.ports.partition("-")[0])))


def _listed(value: object) -> Iterable[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
