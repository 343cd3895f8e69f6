"""The servers of a benchmark, started when a row first asks for them: MariaDB, HDFS, metastores, a HiveServer2, the daemon.

They have the settings of the roles where those count: the database's buffer pool and its flush at every commit, the JVMs'
compilers and heaps, the metastore's connections.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml

from hopshive.consistency import schema
from hopshive.daemon import request
from hopshive.database import Database
from hopshive.services.health import Target, wait_for
from tests.bench.directories import Directories
from tests.bench.thrift_metastore import ThriftMetastore
from tests.support.jdbc_driver import build_driver
from tests.support.metastore_db import Metastore, drop, own_names, stock_metastore
from tests.support.servers import (
    QUICK,
    Hdfs,
    MariaDB,
    connect,
    free_port,
    hadoop_classpath,
    require_java_compiler,
    run_hdfs,
    run_java,
    run_mariadb,
    unpack,
    write_site,
)
from tests.warehouse.hiveserver2 import HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopshive.daemon.request import Request, RequestKind
    from hopshive.hdfs.namenode import NameNode

MARIADB = [
    "--innodb-buffer-pool-size=256M",
    "--transaction-isolation=READ-COMMITTED",
    "--character-set-server=utf8mb4",
    "--skip-name-resolve",
    "--max-connections=200",
]
NAMENODE = {
    "dfs.namenode.handler.count": 20,
    "dfs.namenode.inotify.max.events.per.rpc": 10_000,
    "dfs.namenode.edit.log.autoroll.multiplier.threshold": 0.005,
    "dfs.namenode.edit.log.autoroll.check.interval.ms": 10_000,
}
USER = "hive"
UNBOUND = "SELECT COUNT(*) FROM SDS WHERE PARTITION_ID IS NULL AND PARENT_ID IS NULL AND NAME IS NULL"


@dataclass(frozen=True)
class Jvms:
    """The arguments of each server's JVM for compiler, collector and heap.

    `compiler`: those that a JVM with the settings of the roles gets besides.
    """

    namenode: Sequence[str]
    metastore: Sequence[str]
    server2: Sequence[str]
    compiler: Sequence[str] = ()


MEASURED = Jvms(["-Xmx1g"], ["-Xmx1g"], ["-Xmx2g"])
# For tests that measure nothing: the servers start in half of the processor time.
UNMEASURED = Jvms(
    [*QUICK, *MEASURED.namenode],
    [*QUICK, *MEASURED.metastore],
    [*QUICK, *MEASURED.server2],
    compiler=["-XX:TieredStopAtLevel=1"],
)


@dataclass(frozen=True)
class Daemon:
    """A running `hopshive cleaner run`."""

    process: subprocess.Popen[bytes]
    log: Path

    def peak_mb(self) -> float:
        """The most memory that it has had until now (VmHWM)."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:  # noqa: PTH123
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        raise ValueError("no VmHWM")

    def cpu_s(self) -> float:
        """Seconds of processor that it has used until now."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
            values = stat.read().rpartition(")")[2].split()
        return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


class Rig:
    """All servers of one benchmark, until `stack` is closed."""

    def __init__(self, directory: Path, stack: ExitStack, jvms: Jvms = MEASURED) -> None:
        self.directory = directory
        self.stack = stack
        self.jvms = jvms

    def place(self, name: str) -> Path:
        """A directory of one server."""
        path = self.directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @cached_property
    def mariadb(self) -> MariaDB:
        """The database server of all metastores."""
        server = self.stack.enter_context(run_mariadb(self.place("mariadb"), MARIADB))
        server.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY '{USER}'", f"GRANT ALL ON *.* TO {USER}@'%'")
        return server

    @cached_property
    def hadoop(self) -> Path:
        """The Hadoop product."""
        return unpack("hadoop", self.directory)

    @cached_property
    def hive(self) -> Path:
        """The Hive product."""
        return unpack("hive", self.directory)

    @cached_property
    def connector(self) -> Path:
        """The database driver."""
        return unpack("mysql-connector", self.directory)

    @cached_property
    def driver(self) -> Path:
        """The classes between Hive and it."""
        require_java_compiler()
        home = self.place("jdbc-driver")
        build_driver(self.connector, home)
        return home

    @cached_property
    def hdfs(self) -> Hdfs:
        """A NameNode out of safe mode and a DataNode."""
        hdfs = self.stack.enter_context(run_hdfs(self.place("hdfs"), self.hadoop, NAMENODE, self.jvms.namenode))
        connect(hdfs).close()
        return hdfs

    @cached_property
    def namenode(self) -> NameNode:
        """A client of the NameNode."""
        return self.stack.enter_context(connect(self.hdfs, timeout=60))

    @cached_property
    def directories(self) -> Directories:
        """Makes and deletes directories."""
        found = Directories(self.hdfs)
        self.stack.callback(found.close)
        return found

    @property
    def uri(self) -> str:
        """fs.defaultFS."""
        return f"hdfs://127.0.0.1:{self.hdfs.rpc_port}"

    # --- metastores ---------------------------------------------------------------------------------------------------

    @contextmanager
    def database(self, name: str, *, consistent: bool = True) -> Iterator[Metastore]:
        """A metastore's database until the block's end, with the consistency schema or stock."""
        server = stock_metastore(self.mariadb, self.hive, name)
        metastore = Metastore(self.mariadb, server, own_names(name))
        try:
            if consistent:
                schema.apply(server, metastore.names)
            yield metastore
        finally:
            drop(self.mariadb, name)

    def site(self, database: str, port: int, server2: int = 0) -> Path:
        """A configuration directory for a metastore and its HiveServer2."""
        conf = self.place(f"conf.{database}")
        write_site(conf / "core-site.xml", {"fs.defaultFS": self.uri, "hadoop.tmp.dir": self.directory / "tmp"})
        write_site(conf / "hdfs-site.xml", {"dfs.replication": 1})
        write_site(
            conf / "hive-site.xml",
            {
                "javax.jdo.option.ConnectionURL": f"jdbc:mysql+strict://127.0.0.1:{self.mariadb.port}/{database}?useSSL=false"
                "&characterEncoding=UTF-8&connectionCollation=utf8mb4_bin",
                "javax.jdo.option.ConnectionDriverName": "hopshive.StrictDriver",
                "javax.jdo.option.ConnectionUserName": USER,
                "javax.jdo.option.ConnectionPassword": USER,
                "datanucleus.schema.autoCreateAll": "false",
                "datanucleus.connectionPool.maxPoolSize": 8,
                # What runs by the clock would be measured in some rounds and not in others.
                "metastore.housekeeping.threads.on": "false",
                "hive.metastore.uris": f"thrift://127.0.0.1:{port}",
                "hive.metastore.warehouse.dir": "/warehouse/managed",
                "hive.metastore.warehouse.external.dir": "/warehouse/external",
                "hive.metastore.event.db.notification.api.auth": "false",
                "hive.notification.event.poll.interval": "0",
                "hive.server2.materializedviews.registry.impl": "DUMMY",
                "hive.server2.thrift.port": server2,
                "hive.server2.webui.port": "0",
                "hive.server2.enable.doAs": "false",
                "hive.execution.engine": "mr",
                "hive.support.concurrency": "true",
                "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
                "hive.exec.scratchdir": "/scratch",
                "hive.async.log.enabled": "false",
                "hive.exec.local.scratchdir": self.directory / "local",
                "hive.downloaded.resources.dir": self.directory / "resources",
            },
        )
        return conf

    @contextmanager
    def metastore(self, database: str) -> Iterator[int]:
        """A metastore on a database; its port, once it answers."""
        port = free_port()
        conf = self.site(database, port)
        name, log = "org.apache.hadoop.hive.metastore.HiveMetaStore", self.directory / f"metastore.{database}.log"
        with run_java(
            name,
            self.classpath(conf),
            log,
            ["-p", str(port)],
            environment=self.environment(conf),
            jvm=self.jvms.metastore,
        ):
            wait_for(Target("metastore", "127.0.0.1", port), 120)
            yield port

    @contextmanager
    def client(self, port: int) -> Iterator[ThriftMetastore]:
        """A client of a metastore."""
        found = ThriftMetastore(port, self.hdfs.user)
        try:
            yield found
        finally:
            found.close()

    @contextmanager
    def server2(self, database: str, port: int) -> Iterator[HiveSession]:
        """A session in a HiveServer2 that uses a running metastore."""
        own = free_port()
        conf = self.site(database, port, own)
        name, log = "org.apache.hive.service.server.HiveServer2", self.directory / f"server2.{database}.log"
        with run_java(name, self.classpath(conf), log, environment=self.environment(conf), jvm=self.jvms.server2):
            session = HiveSession("127.0.0.1", own, self.hdfs.user, timeout=3600)
            session.wait(180)
            yield session
            session.close()

    def classpath(self, conf: Path) -> list[str]:
        """Of a metastore or a HiveServer2."""
        hive = [f"{self.hive}/lib/*", f"{self.connector}/*", str(self.driver)]
        return [str(conf), *hive, *hadoop_classpath(self.hadoop, logging=False)]

    def environment(self, conf: Path) -> dict[str, str]:
        """Of the same."""
        return {
            "HADOOP_USER_NAME": self.hdfs.user,
            "HADOOP_CONF_DIR": str(conf),
            "HIVE_CONF_DIR": str(conf),
            "HIVE_HOME": str(self.hive),
        }

    # --- the daemon ---------------------------------------------------------------------------------------------------

    def config(self, metastore: Metastore, **mirror: Any) -> Path:
        """The daemon's configuration for a metastore: grace 0 and a fuse that a benchmark does not blow, and `mirror`."""
        names = metastore.names
        path = self.place(f"conf.{metastore.server.database}") / "hopshive.yml"
        content = {
            "database": {
                "unix_socket": metastore.server.unix_socket,
                "user": metastore.server.user,
                "metastore": metastore.server.database,
                "state": names.state,
                "inodes": names.inodes,
            },
            "hdfs": {"uris": [self.uri], "namenodes": [f"127.0.0.1:{self.hdfs.rpc_port}"], "user": self.hdfs.user},
            "mirror": {"grace": 0, "unbound_grace": 2, "max_removals": 1_000_000, **mirror},
            "metrics": {"port": 0},
            "lease": 5,
        }
        path.write_text(yaml.safe_dump(content))
        return path

    @contextmanager
    def daemon(self, metastore: Metastore, config: Path) -> Iterator[Daemon]:
        """`hopshive cleaner run` until the block's end."""
        log = self.directory / f"cleaner.{metastore.server.database}.log"
        command = [sys.executable, "-m", "hopshive.cli", "cleaner", "run", "--config", str(config)]
        with log.open("ab") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield Daemon(process, log)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def open_rig(directory: Path | None) -> Iterator[Rig]:
    """A rig with its servers and logs in that directory, which is kept, or in a temporary one.

    Raises:
        click.ClickException: what tests are skipped without is not there; a benchmark has nothing to say then.
    """
    with ExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hopshive-bench-")))
        directory.mkdir(parents=True, exist_ok=True)
        try:
            yield Rig(directory, stack)
        except pytest.skip.Exception as missing:
            raise click.ClickException(str(missing.msg)) from None


def ask(metastore: Metastore, kind: RequestKind, seconds: float = 1800) -> Request:
    """Ask the leader for something without an argument; the request, once it is over."""
    database = metastore.database()
    try:
        with database.transaction() as tx:
            number = request.ask(tx, kind, {}, "bench")
        deadline = time.monotonic() + seconds
        while True:
            with database.reading() as tx:
                found = request.read(tx, number)
            if found is not None and found.over:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{kind} is not over after {seconds:.0f} s: {found}")
            time.sleep(0.05)
    finally:
        database.close()


def wait_for_value(
    metastore: Metastore, sql: str, expected: object, seconds: float = 600, pause: float = 0.02
) -> float:
    """Ask a database until a query's one value is as expected; the seconds that it took."""
    began = time.perf_counter()
    database: Database = metastore.database()
    try:
        while True:
            with database.reading() as tx:
                found = tx.value(sql)
            passed = time.perf_counter() - began
            if found == expected:
                return passed
            if passed > seconds:
                raise TimeoutError(f"{sql}: {found} instead of {expected} after {seconds:.0f} s")
            time.sleep(pause)
    finally:
        database.close()


def wait_until_bound(metastore: Metastore, seconds: float = 600) -> float:
    """Until nothing waits to be looked at by the mirror; the seconds that it took."""
    return wait_for_value(metastore, UNBOUND, 0, seconds)
