"""A HiveServer2 whose people log in through the login service, registered by the module hopshive_authenticator.

The HiveServer2, its metastore and its HDFS have configurations that hopshive's roles did not write. The login service is one
that a test can break.
"""

from __future__ import annotations

import base64
import getpass
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.hdfs.wanted import MakeDirectory, SetMode
from hopshive.hdfs.webhdfs import WebHdfs
from hopshive.tenancy.projects import read
from tests.bench import rig as rigs
from tests.bench.rig import UNMEASURED, Rig
from tests.support.login_stub import NEVER, Answer, LoginStub, run_login_stub, said
from tests.support.modules import run_module
from tests.support.patience import within
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
    sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
    classpath = ":".join(rig.classpath(conf))
    subprocess.run(["javac", "--release=17", "-proc:none", "-cp", classpath, "-d", str(classes), *sources], check=True)
    subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."], check=True)
    return jar


@pytest.fixture(scope="module")
def server2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server2]:
    directory = tmp_path_factory.mktemp("login")
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


@pytest.fixture(autouse=True)
def mended(server2: Server2) -> Iterator[None]:
    yield
    server2.login.broken = None
    server2.login.revoked.clear()


def test_the_database_of_the_session_is_the_project(server2: Server2) -> None:
    assert server2.user(database="sales") == "sales__alice"
    assert server2.user(database="plans") == "plans__alice"
    assert server2.user(f"{ALICE}#sales") == "sales__alice"
    assert server2.user() == "alice"


def test_a_table_belongs_to_the_project_user_on_hdfs_and_in_the_metastore(server2: Server2) -> None:
    session = server2.session(database="sales")
    session.execute("CREATE EXTERNAL TABLE owned STORED AS ORC AS SELECT 1 AS a")
    shown = {str(row[0]).strip(): str(row[1]).strip() for row in session.execute("DESCRIBE FORMATTED owned")}
    assert shown["Owner:"] == "sales__alice"
    found = server2.hdfs.entries("/warehouse/external/sales.db/owned")
    assert {entry.owner for entry in found} == {"sales__alice"}
    session.close()


def test_a_reader_reads_and_does_not_write(server2: Server2) -> None:
    alice, bob = server2.session(database="sales"), server2.session(BOB, "b", "sales")
    alice.execute("CREATE EXTERNAL TABLE shown STORED AS ORC AS SELECT 7 AS a")
    assert bob.execute("SELECT a FROM shown") == [(7,)]
    with pytest.raises(HiveError, match="Permission denied: user=sales__bob"):
        bob.execute("INSERT INTO shown VALUES (8)")
    for session in (alice, bob):
        session.close()


def test_another_project_sees_no_row(server2: Server2) -> None:
    session = server2.session(database="plans")
    session.execute("CREATE EXTERNAL TABLE secret STORED AS ORC AS SELECT 7 AS a")
    session.close()
    bob = server2.session(BOB, "b", "sales")
    with pytest.raises(HiveError, match="Permission denied: user=sales__bob"):
        bob.execute("SELECT a FROM plans.secret")
    bob.close()


def test_projects_are_made_once_and_shared_and_removed(server2: Server2) -> None:
    def run(*, check: bool = False, **changed: Any) -> dict[str, Any]:
        arguments = project_arguments(server2.rig, server2.database, server2.metastore, **changed)
        return run_module("hopshive_project", arguments, check=check)

    assert run()["changed"] is False
    more = {**PROJECTS, "gone": {"id": 20004, "members": {"bob": {"id": 30004, "role": "owner"}}}}
    foretold = run(projects=more, check=True)
    done = run(projects=more)
    assert set(done["changes"]) == {"gone"}
    assert set(foretold["changes"]) == {"gone"}
    assert {"database gone made", "bob: owner"} <= set(foretold["changes"]["gone"]) & set(done["changes"]["gone"])
    refused = run()
    assert refused["failed"]
    assert "projects no longer has gone, which has members" in refused["msg"]
    assert run(removed=["gone"])["changes"]["gone"][0] == "bob: no longer a member"
    assert server2.hdfs.status("/user/hdfs/.Trash/Current/warehouse/external/gone.db")
    assert run(removed=["gone"])["changed"] is False
    wrong = run(projects={"sales": {"id": 1}})
    assert "projects.sales.members must hold people" in wrong["msg"]


def test_a_database_of_before_becomes_a_project_with_its_tables(server2: Server2) -> None:
    before = server2.session()
    before.execute("CREATE DATABASE old")
    for table in ("kept", "dropped"):
        before.execute(f"CREATE EXTERNAL TABLE old.{table} STORED AS ORC AS SELECT 7 AS a")
    before.close()
    arguments = project_arguments(server2.rig, server2.database, server2.metastore, projects={**PROJECTS, **LATER})
    done = run_module("hopshive_project", arguments)
    assert "owner of the database old: group old" in done["changes"]["old"], done
    assert run_module("hopshive_project", arguments)["changed"] is False
    alice = server2.session(database="old")
    assert alice.execute("SELECT current_user(), a FROM kept") == [("old__alice", 7)]
    alice.execute("INSERT INTO kept VALUES (8)")
    assert sorted(alice.execute("SELECT a FROM kept")) == [(7,), (8,)]
    alice.execute("ALTER TABLE dropped SET TBLPROPERTIES ('external.table.purge'='true')")
    alice.execute("DROP TABLE dropped")
    assert server2.hdfs.directories("/warehouse/external/old.db") == ["/warehouse/external/old.db/kept"]
    alice.close()
    # The account that made the tables is in no project.
    account = server2.session()
    with pytest.raises(HiveError, match="Permission denied: user=alice"):
        account.execute("SELECT a FROM old.kept")
    account.close()
    run_module("hopshive_project", project_arguments(server2.rig, server2.database, server2.metastore, removed=["old"]))


def test_a_refusal_reaches_the_client_as_a_sentence(server2: Server2) -> None:
    assert WRONG in server2.refusal(password="wrong")
    assert WRONG in server2.refusal("nobody@example.org")
    message = server2.refusal(BOB, "b", database="plans")
    assert f"{BOB} is not a member of the project plans, or there is none." in message


def test_a_token_is_a_password(server2: Server2) -> None:
    assert server2.user(ALICE, f"token of {ALICE}", database="sales") == "sales__alice"
    assert WRONG in server2.refusal(BOB, f"token of {ALICE}")


@pytest.mark.parametrize("name", ["", "alice\0bob", "a" * 10_000])
def test_a_strange_name_is_refused(server2: Server2, name: str) -> None:
    assert server2.refusal(name)


@pytest.mark.parametrize("password", ["", "x\0" + PASSWORD, "p" * 10_000])
def test_a_strange_password_is_refused(server2: Server2, password: str) -> None:
    assert server2.refusal(password=password)


def test_a_session_acts_as_no_other_person(server2: Server2) -> None:
    assert "proxy user" in server2.refusal(BOB, "b", more={"hive.server2.proxy.user": "alice"}).lower()


def test_the_account_of_health_checks_needs_no_login_service(server2: Server2) -> None:
    server2.login.broken = (500, b"{}")
    assert server2.user(CHECKER, CHECKER_PASSWORD) == CHECKER
    for wrong in ("", "c", CHECKER_PASSWORD + "c", PASSWORD):
        assert server2.refusal(CHECKER, wrong)
    assert CHECKER not in {request["name"] for request in server2.login.asked}


NO_ANSWER = "The login service does not answer. No login is possible until it does."


@pytest.mark.wall_time
@pytest.mark.parametrize(
    ("broken", "message", "logged"),
    [
        ((200, b"welcome"), NO_ANSWER, "the answer is no JSON, status 200"),
        ((200, b"{}"), NO_ANSWER, "the answer has no user"),
        ((200, b'{"user": 1, "token": "t"}'), NO_ANSWER, "the answer has no user"),
        ((302, b"{}"), NO_ANSWER, "status 302"),
        ((500, b"{}"), NO_ANSWER, "status 500"),
        ((401, b"<html>"), NO_ANSWER, "the answer is no JSON, status 401"),
        (said(503, "unavailable", "The platform does not answer."), "The platform does not answer.", "The platform"),
        (NEVER, NO_ANSWER, "no answer within 1000 ms"),
    ],
)
def test_a_broken_service_lets_no_client_in_and_answers_in_time(
    server2: Server2, broken: Answer, message: str, logged: str
) -> None:
    size = server2.log.stat().st_size
    server2.login.broken = broken
    with within(DEADLINE_SECONDS + 1):
        assert message in server2.refusal()
    assert logged in server2.log.read_text()[size:]
    server2.login.broken = None
    assert server2.user() == "alice"


# --- HTTP -------------------------------------------------------------------------------------------------------------


def post(server2: Server2, name: str, password: str) -> tuple[int, str]:
    """The status and body of a request that calls nothing: only its login counts."""
    secret = base64.b64encode(f"{name}:{password}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{server2.http_port}/cliservice",
        data=b"",
        headers={"Authorization": f"Basic {secret}", "Content-Type": "application/x-thrift"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - of this test
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def logins(server2: Server2, password: str) -> int:
    return sum(request["password"] == password for request in server2.login.asked)


def test_a_password_over_http_is_checked_once(server2: Server2) -> None:
    server2.login.asked.clear()
    for _ in range(3):
        status, body = post(server2, ALICE, PASSWORD)
        assert status != 401, body
    assert logins(server2, PASSWORD) == 1
    assert server2.login.asked[0]["from"] == "127.0.0.1"


def test_a_revocation_counts_over_http_after_the_recheck(server2: Server2) -> None:
    assert post(server2, BOB, "b")[0] != 401
    server2.login.revoked.add(BOB)
    server2.login.passwords[BOB] = "changed"
    time.sleep(RECHECK_SECONDS + 0.1)
    status, body = post(server2, BOB, "b")
    server2.login.passwords[BOB] = "b"
    assert (status, WRONG in body) == (401, True)


def test_a_wrong_password_over_http_is_refused_beside_a_right_one(server2: Server2) -> None:
    assert post(server2, ALICE, PASSWORD)[0] != 401
    status, body = post(server2, ALICE, "wrong")
    assert (status, WRONG in body) == (401, True)
