"""Real servers in temporary directories, for tests: a MariaDB, and daemons of the products that `make artifacts` caches."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pymysql
import pytest

from hopshive.hdfs.namenode import NameNode, NameNodeUnavailable
from hopshive.install.artifacts.catalogue import Catalogue, default_artifacts, default_cache
from tests.support.patience import until

ROOT = Path(__file__).parents[2]
# What Hadoop 3.3 and Hive 4.0 reach into on JDK 17.
OPENS = [
    f"--add-opens={package}=ALL-UNNAMED"
    for package in (
        "java.base/java.lang",
        "java.base/java.lang.reflect",
        "java.base/java.io",
        "java.base/java.net",
        "java.base/java.nio",
        "java.base/java.util",
        "java.base/java.util.concurrent",
        "java.base/java.util.concurrent.atomic",
        "java.base/java.util.regex",
        "java.base/java.time",
        "java.base/java.text",
        "java.base/sun.nio.ch",
        "java.sql/java.sql",
    )
]
QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx384m"]


def free_port() -> int:
    """A TCP port that no process listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(answers: Callable[[], bool], what: str, log: Path, seconds: float = 30) -> None:
    """Ask until the answer is true; fails with the log's end."""
    until(answers, seconds, lambda: f"{what} did not start: {log.read_text(errors='replace')[-3000:]}", look=0.05)


# --- MariaDB ----------------------------------------------------------------------------------------------------------

# For tests, which never look at what a crash of the machine left.
SMALL = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=64M",
    "--sync-frm=0",
]


@dataclass(frozen=True)
class MariaDB:
    """A running server; root has no password on the socket and on 127.0.0.1."""

    directory: Path
    socket: str
    port: int

    def execute(self, *statements: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run statements as root; the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with (
            pymysql.connect(unix_socket=self.socket, user="root", database=database, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            self.execute("SELECT 1")
        except pymysql.MySQLError:
            return False
        return True


@contextmanager
def run_mariadb(directory: Path, settings: Sequence[str] = SMALL) -> Iterator[MariaDB]:
    """A new MariaDB on a socket and a free port of 127.0.0.1; about a second to start."""
    install, server = (
        shutil.which("mariadb-install-db"),
        shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin"),
    )
    if not install or not server:
        pytest.skip("no MariaDB: apt-get install mariadb-server-core mariadb-client")
    user = ["--user=root"] if os.geteuid() == 0 else []
    data, log, temporary = directory / "data", directory / "log", directory / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    # A server that starts, the installing one too, removes temporary tables of others from the directory that they share.
    own = f"--tmpdir={temporary}"
    made = subprocess.run(
        [
            install,
            "--no-defaults",
            *user,
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            own,
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    found = MariaDB(directory, str(directory / "s"), free_port())
    argv = [
        server,
        "--no-defaults",
        *user,
        f"--datadir={data}",
        f"--socket={found.socket}",
        "--bind-address=127.0.0.1",
        f"--port={found.port}",
        f"--pid-file={directory / 'pid'}",
        own,
        *settings,
    ]
    with running(argv, log, {}):
        wait_until(found.answers, "MariaDB", log)
        yield found


@contextmanager
def run_leaving_mariadb(directory: Path) -> Iterator[tuple[MariaDB, Callable[[], AbstractContextManager[None]]]]:
    """A new MariaDB that keeps what was committed, as in production.

    The second value makes a block in which the server is away: kill -9 at its beginning, a start on its data at its end.
    """
    with run_mariadb(directory, ["--innodb-buffer-pool-size=64M"]) as server, ExitStack() as later:
        pid_file, log = directory / "pid", directory / "log"
        argv = _of_process(int(pid_file.read_text()), "cmdline").split("\0")[:-1]

        @contextmanager
        def away() -> Iterator[None]:
            pid = int(pid_file.read_text())
            os.kill(pid, signal.SIGKILL)
            # It holds its files until then.
            wait_until(lambda: _of_process(pid, "stat").rpartition(") ")[2].startswith("Z"), "the end of MariaDB", log)
            yield
            later.enter_context(running(argv, log, {}))
            wait_until(server.answers, "MariaDB", log)

        yield server, away


@contextmanager
def run_mortal_mariadb(directory: Path) -> Iterator[tuple[MariaDB, Callable[[], None]]]:
    """The same, and what kills it -9 and starts it again on its data."""
    with run_leaving_mariadb(directory) as (server, away):

        def strike() -> None:
            with away():
                pass

        yield server, strike


def _of_process(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


# --- products ---------------------------------------------------------------------------------------------------------


def unpack(product: str, directory: Path) -> Path:
    """The build of a product that the locks name, unpacked; skips if the cache does not have it or there is no Java."""
    if not shutil.which("java"):
        pytest.skip("no Java: apt-get install openjdk-17-jdk-headless")
    built = Catalogue(artifacts=default_artifacts(), cache=default_cache()).find(product)
    if built is None:
        pytest.skip(f"no archive of {product} in {default_cache()}: make artifacts")
    home = directory / product
    extract(built.archive, home)
    return home


def extract(tarball: Path, directory: Path) -> None:
    """Unpack a trusted tarball, with the filter for data where Python has it: Debian 12's has none."""
    with tarfile.open(tarball) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)  # noqa: S202 - a lock's or the user's own


def require_java_compiler() -> None:
    """Skip without one."""
    if subprocess.run(["javac", "-version"], capture_output=True, check=False).returncode:
        pytest.skip("no Java compiler: apt-get install openjdk-17-jdk-headless")


def hadoop_classpath(hadoop: Path, *, logging: bool = True) -> list[str]:
    """What a daemon of HDFS or YARN needs. Hive brings its own logging binding."""
    share = hadoop / "share/hadoop"
    common = ["common/lib/*", "common/*"] + (["common/logging/*"] if logging else [])
    rest = ["hdfs", "hdfs/lib/*", "hdfs/*", "yarn/lib/*", "yarn/*", "mapreduce/*"]
    return [str(share / directory) for directory in common + rest]


def site_properties(properties: Mapping[str, object]) -> str:
    """The lines of a Hadoop configuration file about some properties. Of two about one the later one holds."""
    return "".join(
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in properties.items()
    )


def write_site(path: Path, properties: Mapping[str, object]) -> None:
    """A Hadoop configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<configuration>\n{site_properties(properties)}</configuration>\n")


@contextmanager
def run_java(
    main_class: str,
    classpath: Sequence[str | Path],
    log: Path,
    arguments: Sequence[str] = (),
    properties: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    jvm: Sequence[str] = QUICK,
) -> Iterator[subprocess.Popen[bytes]]:
    """A JVM until the end of the block; `jvm` are its arguments for compiler, collector and heap."""
    options = [f"-D{name}={value}" for name, value in (properties or {}).items()]
    path = ":".join(str(entry) for entry in classpath)
    argv = ["java", *jvm, *OPENS, *options, "-cp", path, main_class, *arguments]
    with running(argv, log, environment or {}) as process:
        yield process


@contextmanager
def running(argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process until the block's end, which kills it."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            cwd=log.parent,
        )
    try:
        yield process
    finally:
        # Nothing of a temporary server is kept.
        process.kill()
        process.wait()


def write_script(path: Path, argv: Sequence[str]) -> Path:
    """A launcher: runs a command with the arguments that it is given."""
    path.write_text("#!/bin/sh\nexec " + " ".join(f'"{part}"' for part in argv) + ' "$@"\n')
    path.chmod(0o755)
    return path


# --- HDFS -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hdfs:
    """A NameNode and a DataNode; the user who runs the tests is HDFS's superuser."""

    hadoop: Path
    conf: Path
    url: str
    namenode_port: int
    datanode_port: int
    rpc_port: int
    user: str


@contextmanager
def run_hdfs(
    directory: Path,
    hadoop: Path,
    properties: Mapping[str, object] | None = None,
    jvm: Sequence[str] = QUICK,
    datanode_jvm: Sequence[str] = QUICK,
) -> Iterator[Hdfs]:
    """A new HDFS on free ports of 127.0.0.1. It may still be in safe mode, or have no DataNode yet.

    `properties` are for hdfs-site.xml, beside or instead of those of the tests; `jvm` and `datanode_jvm` are the
    arguments of NameNode and DataNode.
    """
    conf = directory / "conf"
    rpc, http, data, ipc, data_http = (free_port() for _ in range(5))
    write_site(
        conf / "core-site.xml",
        {"fs.defaultFS": f"hdfs://127.0.0.1:{rpc}", "hadoop.tmp.dir": directory / "tmp", "fs.trash.interval": 1440},
    )
    write_site(
        conf / "hdfs-site.xml",
        {
            "dfs.namenode.rpc-address": f"127.0.0.1:{rpc}",
            "dfs.namenode.http-address": f"127.0.0.1:{http}",
            "dfs.namenode.name.dir": f"file://{directory}/name",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.datanode.data.dir": f"file://{directory}/data",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.datanode.address": f"127.0.0.1:{data}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
            "dfs.datanode.http.address": f"127.0.0.1:{data_http}",
            "dfs.replication": 1,
            "dfs.permissions.superusergroup": "hadoop",
            # An image saved twice takes the edits before it away.
            "dfs.namenode.num.extra.edits.retained": 0,
            **(properties or {}),
        },
    )
    classpath = [str(conf), *hadoop_classpath(hadoop)]
    user = "hdfs"
    environment = {"HADOOP_USER_NAME": user}
    namenode = "org.apache.hadoop.hdfs.server.namenode.NameNode"
    log = directory / "namenode.log"
    with run_java(namenode, classpath, log, ["-format", "-nonInteractive"], environment=environment) as formatting:
        assert formatting.wait(30) == 0, log.read_text()
    datanode = "org.apache.hadoop.hdfs.server.datanode.DataNode"
    with (
        run_java(namenode, classpath, log, environment=environment, jvm=jvm),
        run_java(datanode, classpath, directory / "datanode.log", environment=environment, jvm=datanode_jvm),
    ):
        yield Hdfs(hadoop, conf, f"http://127.0.0.1:{http}", http, data_http, rpc, user)


def connect(hdfs: Hdfs, user: str | None = None, timeout: float = 10) -> NameNode:
    """A client of the NameNode, as soon as that is out of safe mode; to be closed."""
    namenode = NameNode([("127.0.0.1", hdfs.rpc_port)], user or hdfs.user, timeout)

    def answers() -> bool:
        try:
            return not namenode.safe_mode()
        except NameNodeUnavailable:
            return False

    wait_until(answers, "the NameNode", hdfs.conf.parent / "namenode.log")
    return namenode
