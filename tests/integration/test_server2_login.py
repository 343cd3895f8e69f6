"""Logins and sessions of a HiveServer2 that asks the login service."""

from __future__ import annotations

import base64
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.hdfs.wanted import SetMode
from hopshive.metastore.thrift import TType
from tests.support.login_stub import NEVER, Answer, said
from tests.support.modules import run_module
from tests.support.patience import within
from tests.support.server2_site import (
    ALICE,
    BOB,
    CHECKER,
    CHECKER_PASSWORD,
    DEADLINE_SECONDS,
    LATER,
    PASSWORD,
    PROJECTS,
    RECHECK_SECONDS,
    WRONG,
    Server2,
    project_arguments,
    run_server2,
)
from tests.warehouse.hiveserver2 import PROTOCOL_V10, HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hopshive.metastore.thrift import Fields


@pytest.fixture(scope="module")
def server2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server2]:
    with run_server2(tmp_path_factory.mktemp("login")) as found:
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
    before = server2.session(CHECKER, CHECKER_PASSWORD)
    before.execute("CREATE DATABASE old")
    for table in ("kept", "dropped"):
        before.execute(f"CREATE EXTERNAL TABLE old.{table} STORED AS ORC AS SELECT 7 AS a")
    # Collected from another database, as docs/tenancy.md says.
    before.execute("CREATE DATABASE earlier")
    for name in ("earlier", "old"):
        server2.hdfs.apply(SetMode(f"/warehouse/managed/{name}.db", "777"))
    before.execute("CREATE TABLE earlier.moved (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    before.execute("INSERT INTO earlier.moved VALUES (1)")
    before.execute("ALTER TABLE earlier.moved RENAME TO old.moved")
    before.close()
    arguments = project_arguments(server2.rig, server2.database, server2.metastore, projects={**PROJECTS, **LATER})
    done = run_module("hopshive_project", arguments)
    assert "owner of the database old: group old" in done["changes"]["old"], done
    assert run_module("hopshive_project", arguments)["changed"] is False
    alice = server2.session(database="old")
    assert alice.execute("SELECT current_user(), a FROM kept") == [("old__alice", 7)]
    alice.execute("INSERT INTO kept VALUES (8)")
    assert sorted(alice.execute("SELECT a FROM kept")) == [(7,), (8,)]
    alice.execute("INSERT INTO moved VALUES (2)")
    assert sorted(alice.execute("SELECT a FROM moved")) == [(1,), (2,)]
    assert server2.hdfs.directories("/warehouse/managed/old.db") == ["/warehouse/managed/old.db/moved"]
    alice.execute("ALTER TABLE dropped SET TBLPROPERTIES ('external.table.purge'='true')")
    alice.execute("DROP TABLE dropped")
    assert server2.hdfs.directories("/warehouse/external/old.db") == ["/warehouse/external/old.db/kept"]
    alice.close()
    # The account that made the tables is in no project.
    account = server2.session(CHECKER, CHECKER_PASSWORD)
    with pytest.raises(HiveError, match=f"Permission denied: user={CHECKER}"):
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


# --- what sessions refuse ---------------------------------------------------------------------------------------------


def test_a_session_is_for_the_person_who_opened_it(server2: Server2) -> None:
    alice, bob = server2.session(database="sales"), server2.session(BOB, "b", "sales")
    bob.execute("SELECT 1")
    request = {1: alice.handle, 2: (TType.STRING, "SELECT current_user()"), 4: (TType.BOOL, False)}
    with pytest.raises(HiveError, match="The session is another person's"):
        bob.call("ExecuteStatement", request)
    again = server2.session(database="sales")
    again.execute("SELECT 1")
    assert again.call("ExecuteStatement", request)
    for session in (alice, bob, again):
        session.close()


class Connection(HiveSession):
    """A connection over the binary port, of which no session was opened."""

    def ask(self, method: str, request: Fields) -> dict[int, Any]:
        """A call as it stands. Raises HiveError."""
        if self._stream is None:
            self._stream = self._connect()
        return self._call(method, request)


@pytest.mark.parametrize("opens", [False, True])
def test_a_login_that_was_not_accepted_uses_no_session(server2: Server2, opens: bool) -> None:
    """A login over the binary port is checked when its session opens. Its name alone is no proof until then."""
    alice = server2.session(database="sales")
    request = {1: alice.handle, 2: (TType.STRING, "SELECT current_user()"), 4: (TType.BOOL, False)}
    thief = Connection("127.0.0.1", server2.port, ALICE, password="wrong")
    if opens:
        with pytest.raises(HiveError, match=WRONG):
            thief.ask("OpenSession", {1: (TType.I32, PROTOCOL_V10), 2: (TType.STRING, ALICE)})
    # CloseSession is left out: HiveServer2 forgets a session before the session may refuse.
    for method in ("ExecuteStatement", "GetTypeInfo"):
        with pytest.raises((HiveError, OSError), match=r"another person's|closed"):
            thief.ask(method, request)
    assert alice.execute("SELECT current_user()") == [("sales__alice",)]
    for one in (thief, alice):
        one.close()


def test_a_session_takes_one_call_of_the_login_service(server2: Server2) -> None:
    server2.login.asked.clear()
    assert server2.user(database="sales") == "sales__alice"
    assert [(one["database"], one["from"]) for one in server2.login.asked] == [("sales", "127.0.0.1")]


@pytest.mark.parametrize("statement", ["SET system:a.b=1", "set\n system:a.b = 1", "-- c\nset system:a.b=1"])
def test_no_session_sets_a_property_of_the_jvm(server2: Server2, statement: str) -> None:
    session = server2.session(database="sales")
    with pytest.raises(HiveError, match="A session sets no system properties"):
        session.execute(statement)
    assert session.execute("SET system:user.name")
    session.close()


def test_no_url_sets_a_property_of_the_jvm(server2: Server2) -> None:
    assert "A session sets no system properties" in server2.refusal(more={"set:system:a.b": "1"})


PLACE = "Statements name places in the file system of the warehouse"
OPERATOR = "The operator makes and removes databases and connectors"
ENDS = "The operator ends transactions, compactions and queries by their number"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE EXTERNAL TABLE no (a STRING) LOCATION 'file:///{directory}'", PLACE),
        ("CREATE EXTERNAL TABLE no (a STRING) LOCATION 'HTTP://192.0.2.1/x'", PLACE),
        ("INSERT OVERWRITE DIRECTORY 'file:///{directory}' SELECT 1", PLACE),
        ("INSERT OVERWRITE LOCAL DIRECTORY 'file:///{directory}' SELECT 1", PLACE),
        ("LOAD DATA INPATH 'file:///{directory}/secret' INTO TABLE placed", PLACE),
        ("ALTER TABLE placed SET LOCATION 'file:///{directory}'", PLACE),
        ("ALTER TABLE placed ADD PARTITION (day='x') LOCATION 'file:///{directory}'", PLACE),
        ("ALTER TABLE placed SET TBLPROPERTIES ('avro.schema.url'='file:///{directory}/secret')", PLACE),
        ("EXPORT TABLE placed TO 'file:///{directory}'", PLACE),
        ("ALTER DATABASE sales SET LOCATION 'hdfs:///elsewhere'", OPERATOR),
        ("ALTER DATABASE sales SET MANAGEDLOCATION 'hdfs:///elsewhere'", OPERATOR),
        ("ALTER DATABASE sales SET OWNER USER sales__alice", OPERATOR),
        ("DROP DATABASE sales CASCADE", OPERATOR),
        ("CREATE DATABASE another", OPERATOR),
        ("ABORT TRANSACTIONS 1", ENDS),
        ("ABORT COMPACTIONS 1", ENDS),
        ("KILL QUERY 'hive_1'", ENDS),
    ],
)
def test_statements_stay_in_the_warehouse(server2: Server2, tmp_path: Path, statement: str, message: str) -> None:
    (tmp_path / "secret").write_text("secret\n")
    session = server2.session(database="sales")
    session.execute(
        "CREATE EXTERNAL TABLE IF NOT EXISTS placed (a STRING) PARTITIONED BY (day STRING) STORED AS TEXTFILE"
    )
    with pytest.raises(HiveError, match=message):
        session.execute(statement.format(directory=tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]
    session.close()


def test_lists_of_locks_and_compactions_are_those_of_the_own_database(server2: Server2) -> None:
    """Compactions and locks that were asked for by number, by state and for all databases."""
    session = server2.session(database="sales")
    session.execute("CREATE TABLE changing (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.execute("INSERT INTO changing VALUES (1)")
    session.execute("ALTER TABLE changing COMPACT 'major'")
    other = server2.session(BOB, "b")
    for statement in (
        "SHOW COMPACTIONS",
        "SHOW COMPACTIONS TYPE 'MAJOR'",
        "SHOW COMPACTIONS DATABASE sales",
        "SHOW COMPACTIONS changing",
        "SHOW COMPACTIONS sales.changing",
    ):
        found = session.execute(statement)
        assert [row[1:3] for row in found if row[1] != "Database"] == [("sales", "changing")], (statement, found)
    assert not [row for row in other.execute("SHOW COMPACTIONS") if row[1] != "Database"]
    for statement in ("SHOW LOCKS", "SHOW LOCKS EXTENDED", "SHOW LOCKS DATABASE sales", "SHOW LOCKS changing"):
        session.execute(statement)
    assert session.execute("SHOW TABLE EXTENDED LIKE 'chang%'")
    for one in (session, other):
        one.close()


def test_values_and_comments_are_no_places(server2: Server2) -> None:
    session = server2.session(database="sales")
    session.execute(
        "CREATE EXTERNAL TABLE words (a STRING) PARTITIONED BY (day STRING) TBLPROPERTIES ('see'='http://x/')"
    )
    session.execute("ALTER TABLE words ADD PARTITION (day='file:x') LOCATION '/warehouse/external/sales.db/words/x'")
    assert session.execute("SELECT 'file:///etc'") == [("file:///etc",)]
    session.execute("DROP TABLE words")
    session.close()


def test_a_table_of_links_is_not_read(server2: Server2, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    session = server2.session(database="sales")
    session.execute("CREATE EXTERNAL TABLE places (a STRING) STORED AS TEXTFILE")
    session.execute(f"INSERT INTO places VALUES ('file://{tmp_path}/secret')")
    session.execute(
        "CREATE EXTERNAL TABLE links (a STRING) STORED AS"
        " INPUTFORMAT 'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat'"
        " OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'"
        " LOCATION '/warehouse/external/sales.db/places'"
    )
    with pytest.raises(HiveError, match="Such tables are refused"):
        session.execute("SELECT * FROM links")
    for table in ("links", "places"):
        session.execute(f"DROP TABLE {table}")
    session.close()
