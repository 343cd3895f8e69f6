"""The policy of rows and columns on a real HiveServer2, and ways around it.

Tests of a way around name what it would show. Bob sees patients of the EU, parts of their numbers, and no salary. The salary of
staff is refused to him without a filter, so that statistics could answer.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from hopshive.tenancy.policy import read, render
from tests.bench import rig as rigs
from tests.bench.rig import UNMEASURED, Rig
from tests.support.mirror_world import Files
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

SOURCES = ROOT / "roles/server2/files/policy"
ADMIN, ALICE, BOB = "hive", "sales__alice", "sales__bob"
POLICY = """
rules:
  - name: patients
    tables: ["sales.patients*"]
    to: {projects: [sales]}
    except: {users: [sales__alice]}
    filter: "region = 'eu'"
    masks: {ssn: last4, born: year, code: hash, visits: {sql: "{column} DIV 10 * 10"}}
    refused: [salary]
  - name: staff
    tables: [sales.staff]
    refused: [salary]
  - name: seen
    tables: [sales.seen]
    masks: {name: nullify}
"""
ROWS = (
    "(1, 'Ann', '123456789', DATE'1980-05-06', 'c1', 17, 1000, 'eu'), "
    "(2, 'Bea', '987654321', DATE'1990-07-08', 'c2', 23, 2000, 'us')"
)
TABLES = [
    "SET ROLE admin",
    "CREATE DATABASE sales",
    f"ALTER DATABASE sales SET OWNER USER {BOB}",
    "USE sales",
    "CREATE TABLE patients (id INT, name STRING, ssn STRING, born DATE, code STRING, visits INT, salary INT) "
    "PARTITIONED BY (region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    f"INSERT INTO patients VALUES {ROWS}",
    "CREATE TABLE staff STORED AS ORC TBLPROPERTIES ('transactional'='true') AS SELECT 1 AS id, 5000 AS salary",
    "ANALYZE TABLE staff COMPUTE STATISTICS FOR COLUMNS",
    "CREATE VIEW every AS SELECT * FROM patients",
    "CREATE VIEW shadowed AS WITH patients AS (SELECT 1 AS one) SELECT p.* FROM sales.patients p JOIN patients",
    "CREATE VIEW paid AS SELECT * FROM staff",
    "CREATE VIEW seen AS SELECT id, name FROM patients",
    "CREATE MATERIALIZED VIEW stored AS SELECT id, ssn, salary FROM patients WHERE id > 0",
    "CREATE TABLE mine (id INT, text STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    *(
        f"GRANT ALL ON {table} TO USER {user} WITH GRANT OPTION"
        for table in ("patients", "staff", "every", "shadowed", "paid", "seen", "stored", "mine")
        for user in (ALICE, BOB)
    ),
]
# Of a row of `patients`, what Bob must never see.
TEXTS = ("123456789", "987654321", "Bea", "1980-05-06")
SECRETS = (*TEXTS, "1000", "2000", "5000", "'us'")


# What the role sets; the name of the session is taken as it comes, where the login service would prove it.
PROPERTIES: dict[str, object] = {
    "hive.security.authorization.enabled": "true",
    "hive.security.authorization.manager": "hopshive.policy.PolicyAuthorizerFactory",
    "hive.security.authenticator.manager": "org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator",
    "hive.semantic.analyzer.hook": "hopshive.policy.PolicyHook",
    "hive.exec.pre.hooks": "hopshive.policy.PolicyHook",
    "hive.server2.builtin.udf.blacklist": "assert_true,assert_true_oom,in_file,java_method,reflect,reflect2",
    # The role switches it off; a way around must not open when a site switches it on.
    "hive.query.results.cache.enabled": "true",
}


class AdministeredRig(Rig):
    """Its metastore and HiveServer2 know the administrator, and HiveServer2 compacts."""

    def site(self, database: str, port: int, server2: int = 0) -> Path:
        conf = super().site(database, port, server2)
        compactor = {"hive.metastore.runworker.in": "hs2", "hive.compactor.worker.threads": 1}
        add_properties(conf, {"hive.users.in.admin.role": ADMIN, **compactor})
        return conf


@dataclass(frozen=True)
class Warehouse:
    """A HiveServer2 with Hive's SQL standard authorization and the policy."""

    port: int
    file: Path
    rig: Rig

    def session(self, user: str, *statements: str) -> HiveSession:
        """A session in the database, after these statements."""
        session = HiveSession("127.0.0.1", self.port, user, password="x")
        # Local tasks of map joins need a JVM of their own.
        for statement in ("SET hive.auto.convert.join=false", "USE sales", *statements):
            session.execute(statement)
        return session

    def rows(self, user: str, *statements: str) -> list[tuple[object, ...]]:
        """Of the last statement of a new session."""
        session = self.session(user, *statements[:-1])
        try:
            return session.execute(statements[-1])
        finally:
            session.close()

    def refusal(self, user: str, *statements: str) -> str:
        """Of the last statement of a new session."""
        with pytest.raises(HiveError) as refused:
            self.rows(user, *statements)
        return str(refused.value)

    def write(self, content: str) -> None:
        """Replace the policy, as the role does: at no moment is half of it there."""
        new = self.file.with_suffix(".new")
        new.write_text(content)
        new.replace(self.file)


def compile_classes(rig: Rig, conf: Path, directory: Path) -> Path:
    """The classes as the role builds them."""
    require_java_compiler()
    sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
    classpath = ":".join(rig.classpath(conf))
    argv = ["javac", "--release=17", "-proc:none", "-cp", classpath, "-d", str(directory), *sources]
    subprocess.run(argv, check=True)
    return directory


def add_properties(conf: Path, properties: dict[str, object]) -> None:
    site = conf / "hive-site.xml"
    site.write_text(site.read_text().replace("</configuration>", site_properties(properties) + "</configuration>"))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    directory = tmp_path_factory.mktemp("policy")
    file = directory / "policy.json"
    file.write_text(render(read(POLICY, "policy.yml")))
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # A compaction acts as the owner of the files, which is HiveServer2's own account here.
        for kind in ("hosts", "groups"):
            patch.setitem(rigs.NAMENODE, f"hadoop.proxyuser.hdfs.{kind}", "*")
        rig = AdministeredRig(directory, stack, UNMEASURED)
        stack.enter_context(rig.database("policy"))
        metastore = stack.enter_context(rig.metastore("policy"))
        files = Files(rig.hdfs)
        for place in ("/warehouse/managed", "/warehouse/external", "/scratch", "/tmp"):  # noqa: S108 - of HDFS
            files.mkdir(place)
        port = free_port()
        conf = rig.site("policy", metastore, port)
        add_properties(conf, PROPERTIES | {"hopshive.policy.file": file})
        classes = compile_classes(rig, conf, directory / "classes")
        stack.enter_context(
            run_java(
                "org.apache.hive.service.server.HiveServer2",
                [*rig.classpath(conf), str(classes)],
                directory / "server2.out",
                properties={"hive.log.dir": directory},
                environment=rig.environment(conf),
                jvm=rig.jvms.server2,
            )
        )
        session = HiveSession("127.0.0.1", port, ADMIN, timeout=600)
        session.wait(180)
        for statement in ("SET hive.auto.convert.join=false", *TABLES):
            session.execute(statement)
        session.close()
        yield Warehouse(port, file, rig)


@pytest.fixture(autouse=True)
def mended(warehouse: Warehouse) -> Iterator[None]:
    yield
    warehouse.write(render(read(POLICY, "policy.yml")))


REFUSED = "You may not read the column salary of sales.patients: the rule patients of the policy refuses it."
MASKED = (
    1,
    "Ann",
    "xxxxx6789",
    "1980-01-01",
    "d0f631ca1ddba8db3bcfcb9e057cdc98d0379f1bee00e75a545147a27dadd982",
    10,
    "eu",
)
COLUMNS = "id, name, ssn, born, code, visits, region"


def test_rows_and_values_are_hidden(warehouse: Warehouse) -> None:
    assert warehouse.rows(BOB, f"SELECT {COLUMNS} FROM patients") == [MASKED]


def test_who_is_excepted_and_administrators_see_all(warehouse: Warehouse) -> None:
    for user in (ALICE, ADMIN):
        found = warehouse.rows(user, "SELECT id, ssn, salary FROM patients ORDER BY id")
        assert found == [(1, "123456789", 1000), (2, "987654321", 2000)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT salary FROM patients",
        "SELECT SALARY FROM Sales.PATIENTS AS p",
        "SELECT `Salary` AS id FROM patients",
        "SELECT * FROM patients",
        "SELECT id FROM patients WHERE salary > 1",
        "SELECT id FROM patients ORDER BY salary",
        "SELECT max(salary) FROM patients",
        "SELECT a.id FROM patients a JOIN patients b ON a.salary = b.salary",
        "SELECT 1 FROM mine WHERE id IN (SELECT salary FROM patients)",
        "SELECT id FROM (SELECT id, salary FROM patients) x WHERE salary > 1",
        "WITH a AS (SELECT salary FROM patients) SELECT * FROM a",
        "CREATE TABLE copy AS SELECT * FROM patients",
        "INSERT INTO mine SELECT salary, name FROM patients",
        "CREATE VIEW copy AS SELECT salary FROM patients",
        "SELECT salary FROM every",
        "SELECT * FROM every",
        "SELECT id FROM every WHERE salary > 1",
        "SELECT max(salary) FROM every",
        "SELECT salary FROM shadowed",
    ],
)
def test_a_refused_column_is_read_in_no_way(warehouse: Warehouse, query: str) -> None:
    assert REFUSED in warehouse.refusal(BOB, query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, ssn FROM every", [(1, "xxxxx6789")]),
        ("SELECT ssn FROM shadowed", [("xxxxx6789",)]),
        ("SELECT * FROM (SELECT ssn FROM patients) x", [("xxxxx6789",)]),
        ("SELECT p.SSN FROM Patients p", [("xxxxx6789",)]),
        ("WITH a AS (SELECT ssn FROM patients) SELECT * FROM a", [("xxxxx6789",)]),
        ("SELECT ssn FROM patients UNION ALL SELECT ssn FROM every", [("xxxxx6789",)] * 2),
        ("SELECT b.ssn FROM patients a RIGHT JOIN patients b ON a.id = b.id", [("xxxxx6789",)]),
        ("SELECT id FROM patients WHERE ssn = '123456789'", []),
        ("SELECT id FROM patients WHERE ssn LIKE '%6789'", [(1,)]),
        ("SELECT ssn, ROW__ID.writeid FROM patients", [("xxxxx6789", 1)]),
        ("SELECT ssn FROM patients TABLESAMPLE (100 PERCENT)", [("xxxxx6789",)]),
        ("SELECT ssn FROM (SELECT ssn FROM patients) p LATERAL VIEW explode(array(1)) x AS y", [("xxxxx6789",)]),
        ("SELECT (SELECT max(ssn) FROM patients)", [("xxxxx6789",)]),
        ("SELECT max(ssn) OVER (PARTITION BY region) FROM patients", [("xxxxx6789",)]),
        ("SELECT count(*) FROM patients GROUP BY region HAVING max(ssn) > (SELECT min(ssn) FROM patients)", []),
        ("SELECT count(*) FROM patients", [(1,)]),
        ("SELECT count(*) FROM patients WHERE region = 'us'", [(0,)]),
        ("SELECT min(id), max(id), max(ssn) FROM patients", [(1, 1, "xxxxx6789")]),
        ("SELECT region FROM patients GROUP BY region", [("eu",)]),
        ("SELECT id, name FROM seen", [(1, None)]),
        ("SELECT id FROM staff", [(1,)]),
        ("SELECT id FROM paid", [(1,)]),
    ],
)
def test_each_way_to_a_row_passes_the_policy(
    warehouse: Warehouse, query: str, expected: list[tuple[object, ...]]
) -> None:
    assert warehouse.rows(BOB, query) == expected


def test_a_name_of_with_does_not_stand_for_a_table_of_another_database(warehouse: Warehouse) -> None:
    query = "WITH patients AS (SELECT 1 AS one) SELECT p.ssn FROM sales.patients p JOIN patients"
    assert warehouse.rows(BOB, "USE default", query) == [("xxxxx6789",)]


def test_a_materialized_cte_is_refused(warehouse: Warehouse) -> None:
    settings = (
        "SET hive.optimize.cte.materialize.threshold=1",
        "SET hive.optimize.cte.materialize.full.aggregate.only=false",
    )
    query = "WITH a AS (SELECT id, ssn FROM patients) SELECT x.ssn FROM a x JOIN a y ON x.id = y.id"
    assert "FAILED: SemanticException" in warehouse.refusal(BOB, *settings, query)


@pytest.mark.parametrize("query", ["SELECT max(salary) FROM staff", "SELECT max(salary) FROM paid"])
def test_statistics_answer_no_refused_column(warehouse: Warehouse, query: str) -> None:
    message = warehouse.refusal(BOB, "SET hive.compute.query.using.stats=true", query)
    assert "the rule staff of the policy refuses it" in message


@pytest.mark.parametrize("query", ["SELECT salary FROM every", f"SELECT {COLUMNS}, salary FROM every"])
def test_nothing_is_shown_without_cbo(warehouse: Warehouse, query: str) -> None:
    """Hive does not say then what a view reads, so the refused column is NULL."""
    shown = str(warehouse.rows(BOB, "SET hive.cbo.enable=false", query))
    assert not [secret for secret in SECRETS if secret in shown]


def test_copies_hold_what_was_seen(warehouse: Warehouse) -> None:
    session = warehouse.session(BOB, "CREATE TABLE copied STORED AS ORC AS SELECT id, ssn FROM every")
    session.execute("INSERT INTO copied SELECT id, ssn FROM patients")
    session.execute("FROM patients INSERT INTO copied SELECT id, ssn")
    assert session.execute("SELECT * FROM copied") == [(1, "xxxxx6789")] * 3
    session.close()


def test_a_view_holds_no_mask_of_its_maker(warehouse: Warehouse) -> None:
    warehouse.rows(BOB, "CREATE VIEW made AS SELECT id, ssn FROM patients")
    assert warehouse.rows(BOB, "SELECT * FROM made") == [(1, "xxxxx6789")]
    assert warehouse.rows(ADMIN, "SET ROLE admin", "SELECT count(*) FROM made WHERE ssn LIKE '12345%'") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT id, ssn FROM stored", "Querying directly materialized view contents is not supported"),
        ("UPDATE patients SET name = ssn", "not supported for query involving ACID operations"),
        ("DELETE FROM patients WHERE ssn LIKE '1%'", "not supported for query involving ACID operations"),
        (
            "MERGE INTO patients c USING (SELECT 1 AS id) p ON c.id = p.id WHEN MATCHED THEN UPDATE SET name = c.ssn",
            "not supported for query involving ACID operations",
        ),
        (
            "MERGE INTO mine c USING patients p ON c.id = p.id WHEN NOT MATCHED THEN INSERT VALUES (p.id, p.ssn)",
            "not supported for query involving ACID operations",
        ),
        ("WITH patients AS (SELECT 1 AS one) SELECT * FROM patients", "WITH cannot give its name"),
        (
            "SELECT b.ssn FROM (WITH patients AS (SELECT 1 AS one) SELECT one FROM patients) a JOIN patients b",
            "WITH cannot give its name",
        ),
        ("WITH `sales.patients` AS (SELECT 1 AS one) SELECT ssn FROM sales.patients", "A name of WITH has no dot"),
        ("WITH `Sales.Patients` (one) AS (SELECT 1) SELECT ssn FROM sales.patients", "A name of WITH has no dot"),
        ("WITH Patients (one) AS (SELECT 1) SELECT * FROM patients", "WITH cannot give its name"),
        ("DESCRIBE FORMATTED patients salary", "statistics of its columns are refused"),
        ("DESCRIBE FORMATTED sales.staff Salary", "statistics of its columns are refused"),
        ("SHOW PARTITIONS patients", "SHOWPARTITIONS is refused on sales.patients"),
        ("ANALYZE TABLE patients COMPUTE STATISTICS FOR COLUMNS", "ANALYZE_TABLE is refused on sales.patients"),
        ("CREATE MATERIALIZED VIEW kept AS SELECT id, ssn FROM patients", "CREATE_MATERIALIZED_VIEW is refused"),
        ("SELECT reflect('java.lang.System', 'getProperty', 'user.dir')", "UDF reflect is not allowed"),
        ("SELECT id FROM patients WHERE assert_true(id = 1) IS NULL", "UDF assert_true is not allowed"),
        ("dfs -ls /", "ADMIN PRIVILEGE"),
        ("SET ROLE admin", "doesn't belong to role admin"),
        ("SET hopshive.policy.file=/x", "Cannot modify hopshive.policy.file"),
        ("SET hive.users.in.admin.role=sales__bob", "Cannot modify hive.users.in.admin.role"),
        ("SET hive.security.authorization.enabled=false", "Cannot modify hive.security.authorization.enabled"),
        ("SET hive.exec.pre.hooks=", "Cannot modify hive.exec.pre.hooks"),
        ("SET hive.semantic.analyzer.hook=", "Cannot modify hive.semantic.analyzer.hook"),
        ("CREATE TEMPORARY MACRO sha2(s STRING, n INT) concat(s, n)", "ADMIN PRIVILEGE"),
        ("CREATE TEMPORARY FUNCTION sha2 AS 'org.apache.hadoop.hive.ql.udf.UDFHex'", "ADMIN PRIVILEGE"),
    ],
)
def test_a_way_around_is_refused(warehouse: Warehouse, statement: str, message: str) -> None:
    assert message in warehouse.refusal(BOB, statement)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM patients GROUP BY id, (SELECT max(ssn) FROM patients)",
        "SELECT id FROM patients ORDER BY (SELECT max(ssn) FROM patients)",
        "SELECT id FROM patients SORT BY (SELECT max(ssn) FROM patients)",
        "SELECT rank() OVER (ORDER BY (SELECT max(ssn) FROM patients)) FROM patients",
    ],
)
def test_hive_plans_no_query_where_it_looks_for_no_table(warehouse: Warehouse, query: str) -> None:
    assert "FAILED" in warehouse.refusal(BOB, query)


def test_a_prepared_query_is_not_kept_over_a_change(warehouse: Warehouse) -> None:
    prepare = "PREPARE kept FROM SELECT id, ssn FROM patients WHERE id > ?"
    assert "EXECUTE is refused" in warehouse.refusal(BOB, prepare, "EXECUTE kept USING 0")


def test_an_owner_does_not_take_a_table_out_of_its_rule(warehouse: Warehouse) -> None:
    session = warehouse.session(BOB, "CREATE TABLE patients_own (id INT, ssn STRING) STORED AS ORC")
    for statement in ("RENAME TO free", "CHANGE ssn open STRING", "SET TBLPROPERTIES ('a'='b')"):
        with pytest.raises(HiveError, match=r"is refused on sales\.patients_own: the rule patients"):
            session.execute(f"ALTER TABLE patients_own {statement}")
    session.close()


def test_a_compaction_keeps_what_the_owner_does_not_see(warehouse: Warehouse) -> None:
    table = "CREATE TABLE patients_kept (id INT, ssn STRING, region STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    session = warehouse.session(BOB, table, "INSERT INTO patients_kept VALUES (1, '123456789', 'eu')")
    session.execute("INSERT INTO patients_kept VALUES (2, '987654321', 'us')")
    session.close()
    everything = [(1, "123456789"), (2, "987654321")]
    admin = warehouse.session(ADMIN, "SET ROLE admin", "ALTER TABLE patients_kept COMPACT 'major' AND WAIT")
    states = [row[5] for row in admin.execute("SHOW COMPACTIONS") if row[2] == "patients_kept"]
    assert states and set(states) <= {"ready for cleaning", "succeeded"}, states
    assert admin.execute("SELECT id, ssn FROM patients_kept ORDER BY id") == everything
    admin.close()
    assert warehouse.rows(BOB, "SELECT id, ssn FROM patients_kept") == [(1, "xxxxx6789")]


def test_a_result_in_the_cache_is_not_shown_to_others(warehouse: Warehouse) -> None:
    query = "SELECT id, ssn, name FROM patients ORDER BY id"
    for _ in range(2):
        assert len(warehouse.rows(ADMIN, query)) == 2
    for _ in range(2):
        assert warehouse.rows(BOB, query) == [(1, "xxxxx6789", "Ann")]


def test_materialized_views_answer_with_masks(warehouse: Warehouse) -> None:
    plan = str(warehouse.rows(ADMIN, "EXPLAIN CBO SELECT id, ssn FROM patients WHERE id > 0"))
    assert "stored" in plan
    assert warehouse.rows(BOB, "SELECT id, ssn FROM patients WHERE id > 0") == [(1, "xxxxx6789")]


@pytest.mark.parametrize("detail", ["", "CBO", "EXTENDED", "FORMATTED", "AST", "LOCKS", "ANALYZE"])
def test_explain_shows_nothing_hidden(warehouse: Warehouse, detail: str) -> None:
    session = warehouse.session(BOB)
    for query in ("SELECT id, ssn FROM patients", "SELECT id, ssn FROM every", "SELECT id FROM staff"):
        shown = str(session.execute(f"EXPLAIN {detail} {query}"))
        assert not [secret for secret in TEXTS if secret in shown]
    session.close()


def test_a_change_counts_from_the_next_statement_on(warehouse: Warehouse) -> None:
    session = warehouse.session(BOB)
    query = "SELECT id, ssn FROM patients ORDER BY id"
    assert session.execute(query) == [(1, "xxxxx6789")]
    warehouse.write(render(read(POLICY.replace("'eu'", "'us'").replace("last4", "first4"), "policy.yml")))
    assert session.execute(query) == [(2, "9876xxxxx")]
    warehouse.write(render([]))
    assert session.execute(query) == [(1, "123456789"), (2, "987654321")]
    session.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "the file is empty or no JSON object"),
        ("{", "Unexpected end-of-input"),
        ('{"version": 2, "rules": []}', "the version is 2"),
        ('{"version": 1, "rules": [], "more": 1}', "the policy: more is unknown"),
        ('{"version": 1, "rules": [{"name": "a", "tables": "b", "refused": []}]}', "a: the rule has no filter"),
        (
            '{"version": 1, "rules": [{"name": "a", "tables": "(", "refused": ["b"]}]}',
            "a: tables is no regular expression",
        ),
        (
            '{"version": 1, "rules": [{"name": "a", "tables": "b", "refused": ["c"]}]}',
            "a: to and except must name people",
        ),
        (None, "the file is missing"),
    ],
)
def test_a_broken_file_refuses_all_but_administrators(warehouse: Warehouse, content: str | None, why: str) -> None:
    bob, admin = warehouse.session(BOB), warehouse.session(ADMIN)
    if content is None:
        warehouse.file.unlink()
    else:
        warehouse.write(content)
    for statement in (
        "SELECT text FROM mine",
        "INSERT INTO mine VALUES (1, 'a')",
        "DESCRIBE mine",
        "SELECT ssn FROM every",
    ):
        with pytest.raises(HiveError, match="only administrators can run statements") as refused:
            bob.execute(statement)
        assert why in str(refused.value)
    assert admin.execute("SELECT count(*) FROM patients") == [(2,)]
    # Health checks ask this.
    assert bob.execute("SHOW DATABASES LIKE 'default'") == [("default",)]
    for session in (bob, admin):
        session.close()
