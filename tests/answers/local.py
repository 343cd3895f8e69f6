"""A HiveServer2 beside a lab's own, with its configuration and hooks, which runs the tasks of Tez in its own process.

A statement takes a fraction of the time, since nothing is started on YARN for it: thousands of small ones become possible.
One at a time: tasks find their input by names in static maps, and would read that of another statement.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.servers import site_properties
from tests.warehouse import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warehouse import Lab
    from tests.warehouse.hosts import Host

CONF = "/etc/hive/conf.server2"
UNIT = "answers-server2"
HOME = f"/var/lib/hopshive/{UNIT}"
PORT = 10009
# Hadoop starts a chmod for each file that a task gets.
JVM = "-Xmx2g\n-Djdk.lang.Process.launchMechanism=VFORK"
STARTED = 180.0
HIVE = {
    "hive.server2.thrift.port": str(PORT),
    "hive.server2.webui.port": "0",
    # Clients of the lab do not find it, and it takes no work from its compactors.
    "hive.server2.support.dynamic.service.discovery": "false",
    "hive.server2.tez.initialize.default.sessions": "false",
    "hive.compactor.worker.threads": "0",
    "hive.exec.local.scratchdir": f"{HOME}/scratch",
    "hive.downloaded.resources.dir": f"{HOME}/resources",
    "hive.querylog.location": f"{HOME}/querylog",
    "hive.server2.logging.operation.log.location": f"{HOME}/operations",
    # What Hive gives tasks as its own jar, if it does not see in which jar its class DagUtils lies.
    "hive.jar.path": f"file:{HOME}/empty.jar",
}
# Tez copies Hive's jar of 83 MB from HDFS for each task, which has its classes already.
_NO_JAR = """
import glob, sys, zipfile
with zipfile.ZipFile(*glob.glob("/opt/hopshive/hive/current/lib/hive-exec-*.jar")) as jar:
    names = [name for name in jar.namelist() if name.startswith("org/apache/hadoop/hive/ql/exec/tez/DagUtils")]
    jar.extractall(sys.argv[1] + "/conf", names)
zipfile.ZipFile(sys.argv[1] + "/empty.jar", "w").close()
"""
TEZ = {
    "tez.local.mode": "true",
    "tez.local.mode.without.network": "true",
    "tez.runtime.optimize.local.fetch": "true",
    "tez.ignore.lib.uris": "true",
    # Buffers are filled with zeros for each edge of a statement, whatever goes through it.
    "tez.runtime.io.sort.mb": "16",
    "tez.runtime.unordered.output.buffer.size-mb": "8",
    # How long tasks rest before they ask for work and for what others have written: at most, in milliseconds.
    "tez.task.get-task.sleep.interval-ms.max": "10",
    "tez.task.am.heartbeat.interval-ms.max": "10",
}
# Each task has a page of lines about itself, which would go to the journal.
LOG = "hive-log4j2.properties"


@contextmanager
def local_server(lab: Lab) -> Iterator[tuple[str, int]]:
    """Address and port, while it runs. Raises HiveError with the end of its journal if it does not start."""
    host = lab.one("server2")
    _end(host)
    host.run("install", "-d", "-o", "hive", "-g", "hive", "-m", "0700", HOME)
    host.run("cp", "-r", CONF, f"{HOME}/conf")
    host.run("python3", "-c", _NO_JAR, HOME)
    host.run("chown", "-R", "hive:", HOME)
    for name, properties in {"hive-site.xml": HIVE, "tez-site.xml": TEZ}.items():
        site = host.run("cat", f"{CONF}/{name}").stdout
        _write(host, name, site.replace("</configuration>", f"{site_properties(properties)}</configuration>"))
    log = host.run("cat", f"{CONF}/{LOG}").stdout
    _write(host, LOG, log.replace("rootLogger.level = INFO", "rootLogger.level = WARN"))
    # Tez's application master wants log4j's own class for the words of its log, which Hive's bridge does not have.
    (log4j,) = host.run("sh", "-c", "ls /opt/hopshive/tez/current/logging/reload4j-*.jar").stdout.split()
    arguments = host.run("cat", f"{CONF}/jvm.args").stdout.strip().removesuffix('"').replace(CONF, f"{HOME}/conf")
    _write(host, "jvm.args", f'{arguments}:{log4j}"\n{JVM}\n')
    java = host.run(
        "sh", "-c", "systemctl cat hive-server2 | sed -n 's/^ExecStart=\\([^ ]*\\) .*/\\1/p'"
    ).stdout.strip()
    environment = [f"--setenv={name}={HOME}/conf" for name in ("HADOOP_CONF_DIR", "HIVE_CONF_DIR")]
    try:
        host.run(
            "systemd-run", f"--unit={UNIT}", "--uid=hive", "--gid=hive", "--setenv=LANG=C.UTF-8", *environment,
            f"--property=WorkingDirectory={HOME}", "--property=LimitNOFILE=64000", "--property=SuccessExitStatus=143",
            java, f"@{HOME}/conf/jvm.args", "org.apache.hive.service.server.HiveServer2",
        )  # fmt: skip
        session = HiveSession(host.address, PORT)
        try:
            session.wait(STARTED)
        except HiveError as error:
            said = host.run("journalctl", "--no-pager", "--lines=40", f"--unit={UNIT}").stdout
            raise HiveError(f"{UNIT} of {host.name} does not answer: {error}\n{said}") from error
        finally:
            session.close()
        yield host.address, PORT
    finally:
        _end(host)


def _end(host: Host) -> None:
    """Also that of a run that was killed."""
    host.run("systemctl", "stop", UNIT, check=False)
    host.run("systemctl", "reset-failed", UNIT, check=False)
    host.run("rm", "-rf", HOME)


def _write(host: Host, name: str, content: str) -> None:
    host.run("tee", f"{HOME}/conf/{name}", user="hive", stdin=content)
