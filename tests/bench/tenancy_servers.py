"""Two HiveServer2s beside those of a lab with logins: one as the lab's own, one without login, authorization and TLS.

Both are processes of their own on the first host of the group `server2`, with the settings of the lab's own, and are as old as
each other. The second asks a metastore without TLS and without authorization, the first one with both; the two are started
beside the lab's own. All have the lab's JVM options. What stays with both: TLS of MariaDB, the hooks of answers, HDFS, YARN.
"""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET  # files that the roles wrote

from tests.warehouse import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.warehouse import Host, Lab
    from tests.warehouse.people import PeopleLab

HOMES = "/var/lib/hopshive"
# On a busy machine a JVM takes minutes to start.
STARTED = 600.0
LONGEST_LINE = 300
# Labs leave out the second compiler, which production has, and which alone takes the processor's instructions for AES.
ONE_COMPILER = "-XX:TieredStopAtLevel=1"
# Of the metastore with TLS, and of the one without.
METASTORE_PORTS = (9093, 9094)
ON_PORTS = (10019, 10021)
OFF_PORTS = (10029, 10031)
# What projects, logins and TLS add to a HiveServer2 and a metastore; `hive.conf.restricted.list` and the lists of commands and
# functions stand in a HiveServer2 with authorization only.
SECURITY = (
    "hive.security.",
    "hive.conf.restricted.list",
    "hive.server2.builtin.udf.blacklist",
    "hive.server2.keystore.",
    "hive.server2.use.SSL",
    "hive.server2.webui.use.ssl",
    "hive.server2.webui.keystore.",
    "hive.metastore.use.SSL",
    "hive.metastore.keystore.",
    "hive.metastore.truststore.",
    "hive.metastore.pre.event.listeners",
)
# Hooks that keep people from each other; those of answers stay.
SECURITY_HOOKS = ("hopshive.Confinement", "hopshive.SessionRules")
# Nothing but what the benchmark asks for runs in these processes.
QUIET_SERVER2 = {
    "hive.server2.webui.port": "0",
    "hive.server2.support.dynamic.service.discovery": "false",
    "hive.server2.tez.initialize.default.sessions": "false",
    "hive.compactor.worker.threads": "0",
}
QUIET_METASTORE = {
    "hive.metastore.housekeeping.threads.on": "false",
    "hive.compactor.initiator.on": "false",
    "hive.compactor.cleaner.on": "false",
    "hive.server2.support.dynamic.service.discovery": "false",
}


def edited(site: str, put: Mapping[str, str], without: tuple[str, ...] = (), hooks: tuple[str, ...] = ()) -> str:
    """A site file with other properties; `without` begins names that go, `hooks` are classes that lists no longer name."""
    root = ET.fromstring(site)  # noqa: S314
    for one in list(root):
        name, value = one.findtext("name") or "", one.findtext("value") or ""
        if name in put or name.startswith(without):
            root.remove(one)
        elif hooks and any(hook in value.split(",") for hook in hooks):
            left = [hook for hook in value.split(",") if hook not in hooks]
            if left:
                _value(one, ",".join(left))
            else:
                root.remove(one)
    for name, value in put.items():
        one = ET.SubElement(root, "property")
        ET.SubElement(one, "name").text = name
        _value(one, value)
    return ET.tostring(root, encoding="unicode")


def _value(one: ET.Element, value: str) -> None:
    found = one.find("value")
    (ET.SubElement(one, "value") if found is None else found).text = value


@dataclass(frozen=True)
class Copy:
    """A process beside a service of a lab. `sites`: what is edited in its files; None takes the file away."""

    host: Host
    service: str
    unit: str
    main: tuple[str, ...]
    sites: Mapping[str, Callable[[str], str] | None] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """Directory of its configuration and of what it writes."""
        return f"{HOMES}/{self.unit}"

    def start(self, *, both_compilers: bool = False) -> None:
        """Copy the service's configuration and run its main class with it, with the JVM's compilers of a lab or of production."""
        self.end()
        shown = self.host.run("systemctl", "show", "--property=Environment,ExecStart", self.service).stdout
        directory = _between(shown, "HIVE_CONF_DIR=")
        java = _between(shown, "path=")
        self.host.run("install", "-d", "-o", "hive", "-g", "hive", "-m", "0700", self.home, f"{self.home}/spare")
        self.host.run("cp", "-r", directory, f"{self.home}/conf")
        self.host.run("chown", "-R", "hive:", self.home)
        for name, edit in self.sites.items():
            path = f"{self.home}/conf/{name}"
            if edit is None:
                self.host.run("rm", "-f", path)
                continue
            self._write(path, edit(self.host.run("cat", path).stdout))
        arguments = f"{self.home}/conf/jvm.args"
        text = self.host.run("cat", arguments).stdout.replace(f"{directory}:", f"{self.home}/conf:")
        if both_compilers:
            text = text.replace(f"{ONE_COMPILER}\n", "")
        self._write(arguments, f"{text}\n-Djava.io.tmpdir={self.home}/spare\n")
        environment = [f"--setenv={name}={self.home}/conf" for name in ("HADOOP_CONF_DIR", "HIVE_CONF_DIR")]
        self.host.run(
            "systemd-run", f"--unit={self.unit}", "--uid=hive", "--gid=hive", "--setenv=LANG=C.UTF-8", *environment,
            f"--property=WorkingDirectory={self.home}", "--property=LimitNOFILE=64000",
            "--property=SuccessExitStatus=143", java, f"@{arguments}", *self.main,
        )  # fmt: skip

    def end(self) -> None:
        """End it, also that of a run that was killed, and leave nothing."""
        self.host.run("systemctl", "stop", self.unit, check=False)
        self.host.run("systemctl", "reset-failed", self.unit, check=False)
        self.host.run("rm", "-rf", self.home)

    def said(self) -> str:
        """The end of its log, without the class path."""
        lines = self.host.run("journalctl", "--no-pager", "--lines=40", f"--unit={self.unit}").stdout.splitlines()
        return "\n".join(line[:LONGEST_LINE] for line in lines)

    def _write(self, path: str, content: str) -> None:
        self.host.run("tee", path, user="hive", stdin=content)


def server2(lab: Lab, *, on: bool) -> Copy:
    """As the lab's own, or without login, authorization and TLS."""
    unit = f"bench-server2-{'on' if on else 'off'}"
    home = f"{HOMES}/{unit}"
    binary, http = ON_PORTS if on else OFF_PORTS
    put = QUIET_SERVER2 | {
        "hive.metastore.uris": f"thrift://{lab.one('metastore').name}:{METASTORE_PORTS[not on]}",
        "hive.server2.thrift.port": str(binary),
        "hive.server2.transport.mode": "all",
        "hive.server2.thrift.http.port": str(http),
        "hive.exec.local.scratchdir": f"{home}/scratch",
        "hive.downloaded.resources.dir": f"{home}/resources",
        "hive.querylog.location": f"{home}/querylog",
        "hive.server2.logging.operation.log.location": f"{home}/operations",
    }
    if on:
        sites: dict[str, Callable[[str], str] | None] = {"hive-site.xml": lambda site: edited(site, put)}
    else:
        sites = {
            "hive-site.xml": lambda site: edited(site, put, SECURITY, SECURITY_HOOKS),
            "hiveserver2-site.xml": None,
        }
    return Copy(lab.one("server2"), "hive-server2", unit, ("org.apache.hive.service.server.HiveServer2",), sites)


def metastore(lab: Lab, *, on: bool) -> Copy:
    """As the lab's own, or without TLS and authorization."""
    port = str(METASTORE_PORTS[not on])
    main = ("org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", port)
    put = QUIET_METASTORE | {"hive.metastore.port": port}
    sites = {"hive-site.xml": lambda site: edited(site, put, () if on else SECURITY)}
    return Copy(lab.one("metastore"), "hive-metastore", f"bench-metastore-{'on' if on else 'off'}", main, sites)


@contextmanager
def pair(people: PeopleLab, *, both_compilers: bool) -> Iterator[None]:
    """Both HiveServer2s, until the block ends. Raises HiveError, with the end of the log, if one does not answer."""
    lab = people.lab
    check = (people.state / "secrets/server2_check_password").read_text().strip()
    copies = [make(lab, on=on) for make in (metastore, server2) for on in (False, True)]
    try:
        for copy in copies:
            copy.start(both_compilers=both_compilers)
        address = lab.one("server2").address
        _wait(copies[2], HiveSession(address, OFF_PORTS[0]))
        _wait(
            copies[3], HiveSession(address, ON_PORTS[0], "hopshive-check", password=check, authority=people.authority)
        )
        yield
    finally:
        for copy in reversed(copies):
            with contextlib.suppress(Exception):
                copy.end()


def _wait(copy: Copy, session: HiveSession) -> None:
    try:
        session.wait(STARTED)
    except HiveError as error:
        raise HiveError(f"{copy.unit} of {copy.host.name} does not answer: {error}\n{copy.said()}") from error
    finally:
        session.close()


def _between(shown: str, before: str) -> str:
    """What stands after the text, up to a space."""
    found = shown.partition(before)[2].split()
    if not found:
        raise HiveError(f"systemctl show has no {before!r}: {shown}")
    return found[0].strip('";')
