"""The service components. Each is a group of the inventory and a role; most have a systemd unit on their hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# The group that holds the component groups, and nothing else.
ROOT_GROUP = "hopshive"
# What every host gets, whatever its components are.
HOST_PATHS = (
    "/etc/hopshive-tls",
    "/etc/profile.d/hopshive.sh",
    "/etc/security/limits.d/hopshive.conf",
    "/etc/sysctl.d/60-hopshive.conf",
    "/etc/systemd/journald.conf.d/hopshive.conf",
    "/etc/nftables.d/hopshive.nft",
)
# Units of every host, without `.service`. The end of this one removes the rules that it loaded.
HOST_UNITS = ("hopshive-firewall",)


@dataclass(frozen=True)
class Component:
    """One group of the inventory.

    `unit`: the systemd unit without `.service`; a component without one runs no daemon. `required`: every warehouse
    needs it. A component that is not `replicated` has one host. `beside`: other units of its hosts.
    """

    group: str
    unit: str = ""
    required: bool = True
    replicated: bool = True
    beside: tuple[str, ...] = ()
    # Whether the unit is that of a package of the distribution.
    packaged: bool = False
    # The commands, and the paths below no directory of hopshive's own, that the component brings to its hosts.
    launchers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[str, ...]:
        """All units that the component runs on its hosts."""
        return (*((self.unit,) if self.unit else ()), *self.beside)

    @property
    def unit_files(self) -> tuple[str, ...]:
        """The units whose files hopshive writes, those beside first: a watchdog ends before what it watches."""
        return (*self.beside, *((self.unit,) if self.unit and not self.packaged else ()))


COMPONENTS: Mapping[str, Component] = {
    component.group: component
    for component in (
        # A warehouse needs one of the two databases: hopshive.install.preflight.database checks that.
        Component(
            "mariadb",
            "mariadb",
            required=False,
            replicated=False,
            packaged=True,
            paths=("/etc/systemd/system/mariadb.service.d/hopshive.conf", "/etc/mysql/mariadb.conf.d/70-hopshive.cnf"),
        ),
        Component(
            "ndb_management",
            "ndb-management",
            required=False,
            replicated=False,
            launchers=(
                "ndb_mgm",
                "ndb_waiter",
                "ndb_restore",
                "ndb_desc",
                "ndb_show_tables",
                "ndb_select_count",
                "ndb_error_reporter",
            ),
        ),
        Component("ndb_data", "ndb-data", required=False),
        Component("ndb_sql", "ndb-sql", required=False, beside=("ndb-sql-watchdog",)),
        Component("zookeeper", "zookeeper", paths=("/etc/zookeeper",)),
        # JournalNodes hold the edits of several NameNodes. A failover controller runs beside each of those.
        Component("journalnode", "hadoop-hdfs-journalnode", required=False),
        Component("namenode", "hadoop-hdfs-namenode", beside=("hadoop-hdfs-zkfc", "hadoop-hdfs-namenode-watchdog")),
        Component("datanode", "hadoop-hdfs-datanode"),
        Component("resourcemanager", "hadoop-yarn-resourcemanager", beside=("hadoop-yarn-resourcemanager-watchdog",)),
        Component("nodemanager", "hadoop-yarn-nodemanager"),
        Component(
            "metastore",
            "hive-metastore",
            beside=("hive-metastore-watchdog",),
            launchers=("schematool",),
            paths=("/etc/hive",),
        ),
        Component("cleaner", "hopshive-cleaner", required=False, launchers=("hopshive",), paths=("/etc/hopshive",)),
        Component(
            "login",
            "hopshive-login",
            required=False,
            launchers=("hopshive-login",),
            paths=("/etc/hopshive-login",),
        ),
        Component("server2", "hive-server2", beside=("hive-server2-watchdog",)),
        Component(
            "gateway",
            "hopshive-gateway",
            required=False,
            paths=(
                "/etc/hopshive-gateway",
                "/etc/systemd/system/hopshive-gateway-refresh.path",
                "/etc/systemd/system/hopshive-gateway-refresh.service",
                "/etc/systemd/system/hopshive-gateway-refresh.timer",
            ),
        ),
        Component(
            "client",
            required=False,
            launchers=(
                "hadoop",
                "hdfs",
                "yarn",
                "mapred",
                "beeline",
                "pyspark",
                "spark-submit",
                "spark-sql",
                "spark-shell",
            ),
            paths=(
                "/etc/spark",
                "/usr/local/share/jupyter/kernels/pyspark",
                "/etc/ssh/hopshive",
                "/etc/ssh/sshd_config.d/hopshive.conf",
            ),
        ),
    )
}
