"""Two warehouses on one machine that differ in the metastore's database: MariaDB, and NDB Cluster with two data nodes.

Databases, metastores and HiveServer2s have the settings that the roles render (settings/render.yml); what is changed of them
stands here: places, ports, and what needs YARN or ZooKeeper. Both use one HDFS. The schema is the stock one with hopshive's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopshive.consistency import schema
from hopshive.services.health import Target, wait_for
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.ndb import run_ndb, unpack_ndb
from tests.support.servers import MariaDB, free_port, run_java, run_mariadb, unpack, write_site
from tests.warehouse.hiveserver2 import HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.rig import Rig

ROOT = Path(__file__).parents[2]
MARIADB, NDB = "MariaDB", "NDB"
USER = "hive"
# Metastores at most; on NDB each has an SQL node of its own, as on its own host.
REPLICAS = 3
# Of the settings of SQL nodes and data nodes: places, ports and names are those of tests.support.ndb.
_PLACES = {
    "basedir",
    "datadir",
    "socket",
    "pid-file",
    "bind-address",
    "port",
    "log-bin",
    "server-id",
    "ndbcluster",
    "ndb-connectstring",
    "ndb-nodeid",
}
_DATA_PLACES = {"DataDir", "BackupDataDir", "ServerPort"}
_MARIADB_PLACES = {"bind-address", "port"}


def role_settings(database: str, directory: Path) -> dict[str, Any]:
    """What the roles give to databases, metastores and HiveServer2s; `database` is a value of metastore_database."""
    path = directory / f"settings.{database}.json"
    place = ROOT / "tests" / "bench" / "settings"
    argv = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        "-i",
        str(place / "hosts.yml"),
        str(place / "render.yml"),
    ]
    extra = ["-e", f"metastore_database={database}", "-e", f"settings_file={path}"]
    done = subprocess.run([*argv, *extra], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the settings of the roles cannot be rendered: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _arguments(settings: dict[str, Any], without: set[str]) -> list[str]:
    return [f"--{name}={value}" for name, value in settings.items() if name not in without]


@dataclass
class Site:
    """One database with its metastores and HiveServer2."""

    name: str
    rig: Rig
    nodes: list[MariaDB]
    settings: dict[str, Any]

    @cached_property
    def metastore(self) -> Metastore:
        """Its database, with the consistency schema on each node."""
        server = stock_metastore(self.nodes[0], self.rig.hive, "metastore")
        made = Metastore(self.nodes[0], server, own_names("metastore"))
        for node in self.nodes:
            schema.apply(replace(server, unix_socket=node.socket), made.names)
        # With all privileges goes that of being known to all SQL nodes (NDB_STORED_USER).
        self.nodes[0].execute(f"CREATE USER {USER}@'%' IDENTIFIED BY '{USER}'", f"GRANT ALL ON *.* TO {USER}@'%'")
        return made

    def site(self, kind: str, number: int, port: int, metastore_port: int) -> Path:
        """A configuration directory for the metastore of that number, or for a HiveServer2."""
        rig, name = self.rig, f"{self.name}.{kind}.{number}"
        conf = rig.place(f"conf.{name}")
        # As a host takes its own SQL node first.
        nodes = self.nodes[number % len(self.nodes) :] + self.nodes[: number % len(self.nodes)]
        endpoints = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        properties: dict[str, Any] = {
            **self.settings[kind],
            "javax.jdo.option.ConnectionPassword": USER,
            # What runs by the clock would be measured in some rounds and not in others.
            "hive.metastore.housekeeping.threads.on": False,
            "hive.compactor.initiator.on": False,
            "hive.compactor.cleaner.on": False,
            # Two warehouses on one file system.
            "hive.metastore.warehouse.dir": f"/warehouse/{self.name}/managed",
            "hive.metastore.warehouse.external.dir": f"/warehouse/{self.name}/external",
            "hive.metastore.port": port,
            "hive.metastore.uris": f"thrift://127.0.0.1:{metastore_port}",
            "hive.metastore.event.db.notification.api.auth": False,
            "hive.notification.event.poll.interval": 0,
            "hive.server2.materializedviews.registry.impl": "DUMMY",
            # No YARN and no ZooKeeper: nothing is run, statements are planned.
            "hive.server2.tez.initialize.default.sessions": False,
            "hive.server2.support.dynamic.service.discovery": False,
            "hive.compactor.worker.threads": 0,
            "hive.server2.thrift.bind.host": "127.0.0.1",
            "hive.server2.thrift.port": port,
            "hive.server2.webui.port": 0,
            "hive.exec.scratchdir": f"/scratch/{name}",
            "hive.exec.local.scratchdir": rig.directory / name / "local",
            "hive.downloaded.resources.dir": rig.directory / name / "resources",
            "hive.querylog.location": rig.directory / name / "querylog",
            "hive.server2.logging.operation.log.location": rig.directory / name / "operations",
        }
        properties.pop("hadoop.security.credential.provider.path")
        url = "javax.jdo.option.ConnectionURL"
        properties[url] = properties[url].replace("DATABASE", endpoints)
        write_site(conf / "core-site.xml", {"fs.defaultFS": rig.uri, "hadoop.tmp.dir": rig.directory / "tmp"})
        write_site(conf / "hdfs-site.xml", {"dfs.replication": 1})
        write_site(conf / "hive-site.xml", {key: _text(value) for key, value in properties.items()})
        return conf

    @contextmanager
    def metastore_server(self, number: int) -> Iterator[int]:
        """A metastore; its port, once it answers."""
        assert self.metastore.server
        port = free_port()
        conf = self.site("metastore", number, port, port)
        name, log = (
            "org.apache.hadoop.hive.metastore.HiveMetaStore",
            self.rig.directory / f"metastore.{self.name}.{number}.log",
        )
        environment = self.rig.environment(conf)
        with run_java(
            name, self.rig.classpath(conf), log, ["-p", str(port)], environment=environment, jvm=self._jvm("metastore")
        ):
            wait_for(Target("metastore", "127.0.0.1", port), 180)
            yield port

    @contextmanager
    def server2(self, metastore_port: int) -> Iterator[int]:
        """A HiveServer2; its port, once it answers."""
        port = free_port()
        conf = self.site("server2", 0, port, metastore_port)
        name, log = "org.apache.hive.service.server.HiveServer2", self.rig.directory / f"server2.{self.name}.log"
        tez = unpack("tez", self.rig.place("tez"))
        classpath = [*self.rig.classpath(conf), f"{tez}/*", f"{tez}/lib/*"]
        with run_java(name, classpath, log, environment=self.rig.environment(conf), jvm=self._jvm("server2")):
            with self.session(port) as session:
                session.wait(180)
            yield port

    @contextmanager
    def session(self, port: int) -> Iterator[HiveSession]:
        """A session of its HiveServer2."""
        session = HiveSession("127.0.0.1", port, self.rig.hdfs.user, timeout=1800)
        try:
            yield session
        finally:
            session.close()

    def _jvm(self, kind: str) -> list[str]:
        return [f"-Xmx{self.settings['heap_mb'][kind]}m", *self.settings["jvm_options"][kind], *self.rig.jvms.compiler]


def _text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def start_mariadb(rig: Rig) -> Site:
    """The site on MariaDB, until the rig's end."""
    settings = role_settings("mariadb", rig.directory)
    arguments = _arguments(settings["mariadb"], _MARIADB_PLACES)
    server = rig.stack.enter_context(run_mariadb(rig.place("mariadb"), arguments))
    return Site(MARIADB, rig, [server], settings)


def start_ndb(rig: Rig) -> Site:
    """The site on NDB Cluster, until the rig's end."""
    settings = role_settings("ndb", rig.directory)
    home = unpack_ndb(rig.place("product"))
    data = {name: value for name, value in settings["ndb_data"].items() if name not in _DATA_PLACES}
    arguments = ["--ndbcluster", "--log-bin=binlog", *_arguments(settings["ndb_sql"], _PLACES)]
    cluster = rig.stack.enter_context(
        run_ndb(rig.place("ndb"), home, sql_nodes=REPLICAS, data=data, settings=arguments)
    )
    return Site(NDB, rig, list(cluster.sql), settings)
