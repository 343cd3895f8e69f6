"""A HiveServer2 whose people log in through the login service, registered by the module hopshive_authenticator.

The HiveServer2, its metastore and its HDFS have configurations that hopshive's roles did not write. The login service is one
that a test can break.
"""

from __future__ import annotations

import getpass
import subprocess
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.hdfs.wanted import MakeDirectory, SetMode
from hopshive.hdfs.webhdfs import WebHdfs
from hopshive.tenancy.projects import read
from tests.bench import rig as rigs
from tests.bench.rig import UNMEASURED, Rig
from tests.support.login_stub import LoginStub, run_login_stub
from tests.support.modules import run_module
from tests.support.servers import (
    ROOT,
    free_port,
    require_java_compiler,
    run_java,
    site_properties,
)
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.metastore_db import Metastore

SOURCES = ROOT / "roles/server2/files/login"
ALICE, PASSWORD = "alice@example.org", "pässwörd:日本"
BOB = "bob@example.org"
WRONG = "The name, the password or the one-time code is wrong."
# With HADOOP_USER_NAME in its environment Hive makes every scratch directory as that user.
SERVICE_USER = getpass.getuser()
PROJECTS: dict[str, Any] = {
    "sales": {
        "id": 20000,
        "members": {"alice": {"id": 30000, "role": "owner"}, "bob": {"id": 30001, "role": "reader"}},
        "name_quota": 1000,
    },
    "plans": {"id": 20002, "members": {"alice": {"id": 30002, "role": "owner"}}},
}
# A project that is made of a database which is there before.
LATER: dict[str, Any] = {"old": {"id": 20006, "members": {"alice": {"id": 30006, "role": "owner"}}}}
CHECKER, CHECKER_PASSWORD = "checker", "c" * 32
RECHECK_SECONDS = 1.0
TIMEOUT_SECONDS, DEADLINE_SECONDS = 1.0, 2.0


@dataclass(frozen=True)
class Server2:
    """A running HiveServer2 with both of its ports, and the login service that it asks."""

    rig: Rig
    hdfs: WebHdfs
    database: Metastore
    login: LoginStub
    metastore: int
    port: int
    http_port: int
    conf: Path
    log: Path

    def session(
        self, name: str = ALICE, password: str = PASSWORD, database: str = "", more: dict[str, str] | None = None
    ) -> HiveSession:
        configuration = ({"use:database": database} if database else {}) | (more or {})
        return HiveSession("127.0.0.1", self.port, name, password=password, configuration=configuration)

    def user(self, name: str = ALICE, password: str = PASSWORD, database: str = "") -> str:
        """The user of a new session."""
        session = self.session(name, password, database)
        try:
            ((user,),) = session.execute("SELECT current_user()")
        finally:
            session.close()
        return str(user)

    def refusal(
        self, name: str = ALICE, password: str = PASSWORD, database: str = "", more: dict[str, str] | None = None
    ) -> str:
        """What a login that must fail is answered."""
        session = self.session(name, password, database, more)
        with pytest.raises(HiveError) as refused:
            session.execute("SELECT 1")
        session.close()
        return str(refused.value)


def project_arguments(rig: Rig, database: Metastore, metastore: int, **changed: Any) -> dict[str, Any]:
    """Arguments of hopshive_project for these servers."""
    return {
        "projects": PROJECTS,
        "url": [rig.hdfs.url],
        "uri": rig.uri,
        "user": rig.hdfs.user,
        "external": "/warehouse/external",
        "managed": "/warehouse/managed",
        "scratch": "/scratch",
        "metastores": [f"127.0.0.1:{metastore}"],
        "database": database.server.database,
        "state_schema": database.names.state,
        "login_unix_socket": database.server.unix_socket,
        "login_user": database.server.user,
        **changed,
    }


def compile_jar(rig: Rig, conf: Path, directory: Path) -> Path:
    """The jar as the role server2 builds it."""
    require_java_compiler()
    classes, jar = directory / "classes", directory / "login.jar"
    sources = [str(source) for source in (*sorted(SOURCES.glob("*.java")), SOURCES.parent / "Confinement.java")]
    classpath = ":".join(rig.classpath(conf))
    subprocess.run(["javac", "--release=17", "-proc:none", "-cp", classpath, "-d", str(classes), *sources], check=True)
    subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."], check=True)
    return jar


@contextmanager
def run_server2(directory: Path) -> Iterator[Server2]:
    """A HiveServer2, with what it needs, in a directory; it answers."""
    members = {name: set(project["members"]) for name, project in {**PROJECTS, **LATER}.items()}
    stub = LoginStub({ALICE: PASSWORD, BOB: "b"}, members)
    accounts = {
        user: [name, *([project.writers_group] if user in project.writers else [])]
        for name, project in read({**PROJECTS, **LATER}).items()
        for user in project.users
    }
    rules = {f"hadoop.proxyuser.{SERVICE_USER}.hosts": "*", f"hadoop.proxyuser.{SERVICE_USER}.groups": "*"}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        groups = ";".join(f"{user}={','.join(names)}" for user, names in {**accounts, "hive": ["hadoop"]}.items())
        patch.setitem(rigs.NAMENODE, "hadoop.user.group.static.mapping.overrides", groups)
        for name, value in rules.items():
            patch.setitem(rigs.NAMENODE, name, value)
        stack.enter_context(run_login_stub(stub))
        rig = Rig(directory, stack, UNMEASURED)
        database = stack.enter_context(rig.database("login"))
        assert rig.namenode
        places = ["/warehouse", "/warehouse/managed", "/warehouse/external", "/scratch", "/tmp"]  # noqa: S108 - of HDFS
        hdfs = stack.enter_context(closing(WebHdfs([rig.hdfs.url], rig.hdfs.user)))
        for place in places:
            hdfs.apply(MakeDirectory(place))
            hdfs.apply(SetMode(place, "1777"))
        metastore = stack.enter_context(rig.metastore("login"))
        made = run_module("hopshive_project", project_arguments(rig, database, metastore))
        assert set(made.get("changes", ())) == set(PROJECTS), made
        port, http_port = free_port(), free_port()
        conf = rig.site("login", metastore, port)
        library = directory / "library"
        library.mkdir()
        site = conf / "hive-site.xml"
        more = {
            "hive.semantic.analyzer.hook": "hopshive.Confinement",
            "hive.users.in.admin.role": CHECKER,
            "hive.server2.transport.mode": "all",
            "hive.server2.thrift.http.port": http_port,
            # hadoop.security.credential.clear-text-fallback is on, as it is upstream.
            "hopshive.login.service.password": CHECKER_PASSWORD,
        }
        site.write_text(site.read_text().replace("</configuration>", site_properties(more) + "</configuration>"))
        registered = run_module(
            "hopshive_authenticator",
            {
                "configuration": str(conf),
                "urls": ["http://127.0.0.1:1", stub.url],
                "jar": str(compile_jar(rig, conf, directory)),
                "library": str(library),
                "timeout": TIMEOUT_SECONDS,
                "deadline": DEADLINE_SECONDS,
                "recheck": RECHECK_SECONDS,
                "service_account": CHECKER,
            },
        )
        assert registered.get("changed"), registered
        # Where Hive's own settings for logs write to.
        log = directory / "hive.log"
        environment = {name: value for name, value in rig.environment(conf).items() if name != "HADOOP_USER_NAME"}
        classpath = [*rig.classpath(conf), f"{library}/*"]
        stack.enter_context(
            run_java(
                "org.apache.hive.service.server.HiveServer2",
                classpath,
                directory / "server2.out",
                properties={"hive.log.dir": directory},
                environment=environment,
                jvm=rig.jvms.server2,
            )
        )
        found = Server2(rig, hdfs, database, stub, metastore, port, http_port, conf, log)
        session = found.session()
        session.wait(180)
        session.close()
        yield found
