"""A real NDB Cluster in a temporary directory, for tests: a management node, two data nodes, and SQL nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.servers import ROOT, MariaDB, extract, free_port, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROLE = ROOT / "roles/ndb_management"
DATA_SETTINGS: dict[str, object] = yaml.safe_load((ROLE / "vars/main.yml").read_text())[
    "__ndb_management_data_settings"
]
# Enough for the metastore's schema with what a few tests beside each other need of it.
DATA_NODES: dict[str, object] = {
    "NoOfReplicas": 2,
    "DataMemory": "256M",
    "SharedGlobalMemory": "64M",
    "RedoBuffer": "8M",
    "FragmentLogFileSize": "8M",
    "NoOfFragmentLogFiles": 4,
    "ThreadConfig": DATA_SETTINGS["ThreadConfig"],
    "Numa": 0,
    "MaxNoOfConcurrentOperations": "64K",
    "MaxNoOfConcurrentTransactions": 1024,
    "MaxNoOfTables": 1024,
    "MaxNoOfOrderedIndexes": 2048,
    "MaxNoOfUniqueHashIndexes": 1024,
    "MaxNoOfAttributes": 8000,
    "MaxNoOfTriggers": 16000,
}
CONFIG = """
[ndbd default]
{data}
HostName = 127.0.0.1
[ndb_mgmd]
NodeId = 1
HostName = 127.0.0.1
PortNumber = {port}
DataDir = {directory}/1
[ndbd]
NodeId = 11
DataDir = {directory}/11
[ndbd]
NodeId = 12
DataDir = {directory}/12
{sql}
"""
# As the role sets a SQL node: all tables are in the cluster, whatever a script says.
SQL_NODE = [
    "--ndbcluster",
    "--default-storage-engine=ndbcluster",
    "--disabled-storage-engines=InnoDB,MyISAM",
    "--sql-mode=STRICT_TRANS_TABLES",
    "--ndb-autoincrement-prefetch-sz=1",
    "--log-bin-trust-function-creators=1",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=32M",
]
# As the role sets it for who follows the binary log.
BINLOG = [
    *SQL_NODE,
    "--log-bin=binlog",
    "--ndb-log-bin=ON",
    "--ndb-log-updated-only=OFF",
    "--binlog-row-metadata=FULL",
    "--binlog-do-db=metastore",
]


@dataclass(frozen=True)
class Ndb:
    """A running cluster; `sql` are its SQL nodes, alike but for their triggers."""

    directory: Path
    home: Path
    connect: str
    sql: tuple[MariaDB, ...]
    # What is started afterwards, and ends with it.
    later: ExitStack

    @property
    def environment(self) -> dict[str, str]:
        """Of each program of it."""
        return _environment(self.home)


def _environment(home: Path) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(home / "lib/private")}


def unpack_ndb(directory: Path) -> Path:
    """Unpack the tarball that HOPSHIVE_NDB_TARBALL names; skips the test without one."""
    tarball = os.environ.get("HOPSHIVE_NDB_TARBALL")
    if not tarball:
        pytest.skip("no NDB Cluster: set HOPSHIVE_NDB_TARBALL (docs/ndb.md)")
    extract(Path(tarball), directory)
    (home,) = directory.iterdir()
    return home


@contextmanager
def killed(cluster: Ndb, number: int) -> Iterator[None]:
    """One of the SQL nodes is killed, is away for the block, and is there again afterwards until the cluster ends."""
    node = cluster.sql[number]
    pid = int((node.directory / "pid").read_text())
    argv = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    os.kill(pid, signal.SIGKILL)
    log = node.directory / "log"
    wait_until(lambda: not node.answers(), "the end of the SQL node", log)
    # Names a process that exists until its parent asks how it ended.
    Path(f"{node.socket}.lock").unlink()
    try:
        yield
    finally:
        cluster.later.enter_context(running(argv, log, cluster.environment))
        wait_until(lambda: joined(node), "the SQL node", log, 120)


@contextmanager
def restarting(cluster: Ndb, number: int) -> Iterator[Callable[[], bool]]:
    """A data node is killed and started again, and takes part again after the block. Yields whether it is still starting."""
    waiter = [str(cluster.home / "bin/ndb_waiter"), f"--ndb-connectstring={cluster.connect}", "--timeout=180"]
    mine = f"--ndb-nodeid={number}"
    for directory in Path("/proc").iterdir():
        with suppress(OSError):
            argv = (directory / "cmdline").read_text().split("\0")[:-1] if directory.name.isdigit() else []
            if mine in argv and f"--ndb-connectstring={cluster.connect}" in argv and argv[0].endswith("ndbmtd"):
                os.kill(int(directory.name), signal.SIGKILL)
                again = argv
    time.sleep(1)
    cluster.later.enter_context(running(again, cluster.directory / f"{number}.log", cluster.environment))
    with subprocess.Popen(waiter, env={**os.environ, **cluster.environment}, stdout=subprocess.DEVNULL) as waiting:
        yield lambda: waiting.poll() is None
        assert waiting.wait(180) == 0


def joined(node: MariaDB) -> bool:
    """Whether an SQL node takes part in the cluster."""
    return node.answers() and node.execute(
        "SELECT COUNT(*) FROM information_schema.ENGINES WHERE ENGINE = 'ndbcluster' AND SUPPORT IN ('YES', 'DEFAULT')"
    ) == [(1,)]


@contextmanager
def run_ndb(
    directory: Path,
    home: Path,
    *,
    sql_nodes: int = 1,
    data: Mapping[str, object] = DATA_NODES,
    settings: Sequence[str] = SQL_NODE,
) -> Iterator[Ndb]:
    """A new cluster on 127.0.0.1; about a quarter of a minute to start. About 2 GiB of memory.

    `data` are settings of the data nodes, `settings` arguments of each SQL node.
    """
    port = free_port()
    numbers = range(51, 51 + sql_nodes)
    for name in ("1", "11", "12", "management"):
        (directory / name).mkdir()
    sql = "\n".join(f"[mysqld]\nNodeId = {number}\nHostName = 127.0.0.1" for number in numbers)
    config = directory / "config.ini"
    of_data = "\n".join(f"{name} = {value}" for name, value in data.items())
    config.write_text(CONFIG.format(port=port, directory=directory, data=of_data, sql=f"{sql}\n[api]\n[api]\n"))
    connect = f"127.0.0.1:{port}"
    environment = _environment(home)
    with ExitStack() as stack:

        def start(name: str, argv: Sequence[str]) -> Path:
            log = directory / f"{name}.log"
            stack.enter_context(running([str(home / "bin" / argv[0]), *argv[1:]], log, environment))
            return log

        start(
            "1",
            [
                "ndb_mgmd",
                "--nodaemon",
                "--initial",
                f"--config-file={config}",
                f"--configdir={directory / 'management'}",
            ],
        )
        for number in (11, 12):
            log = start(
                str(number), ["ndbmtd", "--foreground", f"--ndb-connectstring={connect}", f"--ndb-nodeid={number}"]
            )
        waiter = [str(home / "bin/ndb_waiter"), f"--ndb-connectstring={connect}", "--timeout=90"]
        subprocess.run(waiter, check=True, env={**os.environ, **environment}, stdout=log.open("ab"))
        servers = [stack.enter_context(_run_sql_node(directory, home, connect, number, settings)) for number in numbers]
        yield Ndb(directory, home, connect, tuple(servers), stack)


@contextmanager
def _run_sql_node(directory: Path, home: Path, connect: str, number: int, settings: Sequence[str]) -> Iterator[MariaDB]:
    place = directory / str(number)
    place.mkdir()
    user = ["--user=root"] if os.geteuid() == 0 else []
    server = [str(home / "bin/mysqld"), "--no-defaults", *user, f"--basedir={home}", f"--datadir={place / 'data'}"]
    environment = _environment(home)
    log = place / "log"
    with log.open("wb") as output:
        subprocess.run(
            [*server, "--initialize-insecure"],
            check=True,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
        )
    found = MariaDB(place, str(place / "s"), free_port())
    argv = [
        *server,
        *settings,
        f"--ndb-connectstring={connect}",
        f"--ndb-nodeid={number}",
        f"--server-id={number}",
        f"--socket={found.socket}",
        "--bind-address=127.0.0.1",
        f"--port={found.port}",
        f"--pid-file={place / 'pid'}",
    ]

    with running(argv, log, environment):
        wait_until(lambda: joined(found), "the SQL node", log, 90)
        yield found
