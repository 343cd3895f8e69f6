"""Spark jobs of people who log in to a client host: as whom they run, what they reach of other projects, and when they end."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.warehouse.hdfs import Hdfs
from tests.warehouse.hiveserver2 import HiveError
from tests.warehouse.playbook import run_playbook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.warehouse.hosts import Host
    from tests.warehouse.people import PeopleLab

ALICE, DAVE, ERIN = "sales__alice", "plans__dave", "sales__erin"
PLACE = "/var/lib/spark-jobs-of-tests"
HOMES = "/var/lib/hopshive/home"
TABLE = "of_spark"
EXTERNAL = "/warehouse/hopshive/external/sales.db"
# Of its refusal Spark says only that it made no plan.
FILES = f"SELECT * FROM parquet.`{EXTERNAL}/{TABLE}`"
# Each statement becomes a line: what it returned, or why it failed.
STATEMENTS = """
import json, os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("statements").enableHiveSupport().getOrCreate()
for sql in sys.argv[1:]:
    try:
        said = {"rows": [list(row) for row in spark.sql(sql).collect()]}
    except Exception as error:
        said = {"error": str(error).split("\\n\\tat ")[0]}
    print("SAID", json.dumps({"sql": sql, **said}), flush=True)
try:
    key = open("/etc/hopshive-tls/host.key").readline()
except OSError as error:
    key = type(error).__name__
print("KEY", key)
spark.stop()
"""
WAITING = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("waiting").enableHiveSupport().getOrCreate()
time.sleep(600)
"""
SMALL = "--conf spark.executor.instances=1 --conf spark.yarn.maxAppAttempts=1"
ALONE = "--master 'local[1]' --conf spark.ui.enabled=false"
CREATED = (f"DROP TABLE IF EXISTS sales.{TABLE}", f"CREATE TABLE sales.{TABLE} (id INT) USING parquet")


def login(host: Host, user: str, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A command in a login shell of an account."""
    return host.run("su", "--login", user, "--command", command, check=check, timeout=600)


def submit(options: str, *statements: str) -> str:
    """The command that runs statements."""
    return f"spark-submit {options} {PLACE}/statements.py " + " ".join(f'"{sql}"' for sql in statements)


def said(output: str) -> dict[str, Any]:
    """What each statement returned, or the text of its error."""
    lines = [json.loads(line.removeprefix("SAID ")) for line in output.splitlines() if line.startswith("SAID ")]
    return {one["sql"]: one.get("rows", one.get("error")) for one in lines}


def application_of(output: str) -> str:
    found = re.search(r"Submitted application (application_\w+)", output)
    assert found, output[-3000:]
    return found[1]


def logs(host: Host, user: str, application: str) -> subprocess.CompletedProcess[str]:
    """What an application printed, once YARN has collected it; of another person's nothing comes."""
    command = f"yarn logs -applicationId {application} -log_files stdout"
    return login(host, user, f"for _ in $(seq 30); do {command} && exit; sleep 2; done; exit 1", check=False)


def application(people: PeopleLab, name: str, user: str = "yarn") -> dict[str, Any] | None:
    """What YARN shows of an application to a user; None if the list has it not."""
    url = f"http://{people.lab.one('resourcemanager').address}:8088/ws/v1/cluster/apps?user.name={user}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        listed = (json.load(answer)["apps"] or {}).get("app") or []
    return next((one for one in listed if one["id"] == name), None)


@pytest.fixture(name="edge", scope="module")
def client_host(people: PeopleLab) -> Iterator[Host]:
    host = people.lab.one("client")
    host.run("install", "--directory", PLACE)
    for name, text in (("statements.py", STATEMENTS), ("waiting.py", WAITING)):
        host.run("sh", "-c", f"cat > {PLACE}/{name}", stdin=text)
    yield host
    host.run("rm", "--recursive", PLACE)


@pytest.fixture(name="hdfs", scope="module")
def file_system(people: PeopleLab) -> Iterator[Hdfs]:
    addresses = {one.name: one.address for one in people.lab.hosts.values()}
    with closing(Hdfs(people.lab.group("namenode"), addresses=addresses, authority=people.authority)) as found:
        yield found


@pytest.fixture(name="job", scope="module")
def job_of_alice(edge: Host, people: PeopleLab) -> Iterator[str]:
    """An application in cluster mode that has made a table; its driver ran on a NodeManager."""
    statements = (*CREATED, f"INSERT INTO sales.{TABLE} VALUES (1), (2)", f"SELECT sum(id) FROM sales.{TABLE}")
    done = login(edge, ALICE, submit(f"--deploy-mode cluster {SMALL}", *statements) + " 2>&1")
    yield application_of(done.stdout)
    with closing(people.session(people.person("alice"), "sales")) as session:
        session.execute(f"DROP TABLE IF EXISTS {TABLE}")


@pytest.fixture(name="other", scope="module")
def statements_of_dave(edge: Host, job: str) -> dict[str, Any]:
    """What statements about another project's table gave in a job."""
    assert job
    statements = (
        "SHOW DATABASES",
        "SHOW TABLES IN sales",
        f"SELECT * FROM sales.{TABLE}",
        f"INSERT INTO sales.{TABLE} VALUES (3)",
        f"DROP TABLE sales.{TABLE}",
        "CREATE TABLE sales.of_dave (id INT) STORED AS PARQUET",
        FILES,
        f"CREATE TABLE plans.stolen (id INT) STORED AS PARQUET LOCATION '{EXTERNAL}/{TABLE}'",
        "CREATE DATABASE of_dave",
    )
    escaped = [sql.replace("`", "\\`") for sql in statements]
    return said(login(edge, DAVE, submit(ALONE, *escaped)).stdout)


def test_a_job_is_the_project_users_to_yarn(people: PeopleLab, job: str) -> None:
    listed = application(people, job)
    assert listed
    assert (listed["user"], listed["applicationType"], listed["finalStatus"]) == (ALICE, "SPARK", "SUCCEEDED")


def test_its_driver_printed_what_its_user_reads(edge: Host, job: str) -> None:
    found = logs(edge, ALICE, job)
    assert found.returncode == 0, found.stderr
    assert said(found.stdout)[f"SELECT sum(id) FROM sales.{TABLE}"] == [[3]]
    # Containers run as yarn, which cannot read the key of the host.
    assert "KEY PermissionError" in found.stdout.splitlines()


def test_directory_and_files_of_its_table_are_the_project_users(hdfs: Hdfs, job: str) -> None:
    assert job
    directory = hdfs.status(f"{EXTERNAL}/{TABLE}")
    assert directory
    found = hdfs.listing(f"{EXTERNAL}/{TABLE}")
    assert [item.name for item in found if item.name.startswith("part-")]
    assert {directory.owner, *(item.owner for item in found)} == {ALICE}
    assert {item.mode for item in found} == {"660"}


def test_another_member_reads_the_table_through_hiveserver2(people: PeopleLab, job: str) -> None:
    assert job
    with closing(people.session(people.person("bob"), "sales")) as session:
        assert session.execute(f"SELECT id FROM {TABLE} ORDER BY id") == [(1,), (2,)]
        described = session.execute(f"DESCRIBE FORMATTED {TABLE}")
    owner = next(row[1] for row in described if str(row[0]).strip() == "Owner:")
    assert str(owner).strip() == ALICE


def test_another_project_does_not_read_it_through_hiveserver2(people: PeopleLab, job: str) -> None:
    assert job
    with (
        closing(people.session(people.person("dave"), "plans")) as session,
        pytest.raises(HiveError, match=f"Permission denied: user={DAVE}"),
    ):
        session.execute(f"SELECT id FROM sales.{TABLE}")


def test_a_job_of_another_project_is_refused_and_told_why(other: dict[str, Any]) -> None:
    refused = {sql: why for sql, why in other.items() if sql not in ("SHOW DATABASES", FILES)}
    assert len(refused) == 7, other
    for sql, why in refused.items():
        assert isinstance(why, str), (sql, why)
        assert f"Permission denied: user={DAVE}" in why, (sql, why)


def test_files_of_another_project_are_refused_without_its_tables_too(other: dict[str, Any]) -> None:
    assert "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY" in other[FILES]


def test_names_of_databases_are_all_that_a_job_sees_of_other_projects(other: dict[str, Any]) -> None:
    assert {("sales",), ("plans",)} <= {tuple(row) for row in other["SHOW DATABASES"]}


def test_another_project_sees_neither_job_nor_logs(edge: Host, people: PeopleLab, job: str) -> None:
    assert application(people, job, ALICE)
    assert application(people, job, DAVE) is None
    said_to_dave = login(edge, DAVE, f"yarn logs -applicationId {job} -log_files stdout 2>&1", check=False)
    assert said_to_dave.returncode != 0
    assert "SAID" not in said_to_dave.stdout


@pytest.mark.parametrize("place", [f"/user/{ALICE}", f"/app-logs/{ALICE}", f"/tmp/hive/{ALICE}"])  # noqa: S108 - on HDFS
def test_directories_of_a_person_on_hdfs_are_closed_to_others(edge: Host, job: str, place: str) -> None:
    assert job
    looked = login(edge, DAVE, f"hdfs dfs -ls {place}", check=False)
    assert looked.returncode != 0
    assert f"Permission denied: user={DAVE}" in looked.stderr


def test_the_home_of_a_person_is_closed_to_others(edge: Host) -> None:
    assert login(edge, ALICE, "stat --format '%U %a' ~").stdout.split() == [ALICE, "700"]
    looked = login(edge, DAVE, f"ls ~{ALICE}", check=False)
    assert looked.returncode != 0
    assert "Permission denied" in looked.stderr


# --- people who join and leave --------------------------------------------------------------------------------------------


def bring_projects(people: PeopleLab, projects: dict[str, Any]) -> None:
    """Run the playbook with these projects in place of those of the inventory."""
    variables = json.dumps({"projects": projects})
    run_playbook("--inventory", str(people.lab.inventory), "--extra-vars", variables, "playbooks/projects.yml")


@pytest.fixture(name="erin", scope="module")
def a_member_for_a_while(
    edge: Host, people: PeopleLab, hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The command by which a new member logs in to the client host. The host gets sshd for these tests."""
    variables = yaml.safe_load((people.lab.inventory.parent / "group_vars/all/tenancy.yml").read_text())
    projects: dict[str, Any] = variables["projects"]
    key = Ed25519PrivateKey.generate()
    file: Path = tmp_path_factory.mktemp("erin") / "key"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    edge.run("sh", "-c", f"umask 77; cat > {PLACE}/key", stdin=file.read_text())
    install = "apt-get install --yes --no-install-recommends openssh-server"
    edge.run("sh", "-c", f"DEBIAN_FRONTEND=noninteractive {install}")
    sales = projects["sales"]
    erin = {"id": 30090, "ssh_keys": [public]}
    bring_projects(people, {**projects, "sales": {**sales, "members": {**sales["members"], "erin": erin}}})
    options = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    yield f"ssh -i {PLACE}/key {options} {ERIN}@localhost"
    if not edge.run("id", ERIN, check=False).returncode:
        bring_projects(people, projects)
    edge.run("apt-get", "purge", "--yes", "openssh-server", "openssh-sftp-server")
    edge.run("rm", "--recursive", f"{HOMES}/{ERIN}")
    for path in (f"/user/{ERIN}", f"/tmp/hive/{ERIN}"):  # noqa: S108 - on HDFS
        hdfs.delete(path)


@pytest.fixture(name="left", scope="module")
def job_of_a_member_who_leaves(edge: Host, people: PeopleLab, erin: str) -> str:
    """An application that waits when its user is taken out of the project."""
    options = f"--deploy-mode cluster {SMALL} --conf spark.yarn.submit.waitAppCompletion=false"
    submitted = edge.run("sh", "-c", f"{erin} 'spark-submit {options} {PLACE}/waiting.py 2>&1'").stdout
    name = application_of(submitted)
    deadline = time.monotonic() + 300
    while not (found := application(people, name)) or found["state"] != "RUNNING":
        assert time.monotonic() < deadline, found
        time.sleep(1)
    assert found["user"] == ERIN
    variables = yaml.safe_load((people.lab.inventory.parent / "group_vars/all/tenancy.yml").read_text())
    bring_projects(people, variables["projects"])
    return name


def test_a_new_member_logs_in_by_a_key_and_runs_a_job(edge: Host, erin: str, job: str) -> None:
    assert job
    whoami = edge.run("sh", "-c", f"{erin} 'id --user --name; id --groups --name'").stdout.split()
    assert (whoami[0], {"sales", "sales__writers"} <= set(whoami)) == (ERIN, True)
    select = f"SELECT count(*) FROM sales.{TABLE}"
    done = edge.run("sh", "-c", f"{erin} '{submit(ALONE.replace(chr(39), ''), select)}'", timeout=600)
    assert said(done.stdout)[select] == [[2]]


def test_a_key_that_a_member_puts_into_the_home_lets_no_person_in(edge: Host, erin: str) -> None:
    own = f"{PLACE}/own"
    edge.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", own)
    edge.run("sh", "-c", f"cat {own}.pub | {erin} 'umask 77; mkdir -p .ssh; cat > .ssh/authorized_keys'")
    tried = edge.run("sh", "-c", erin.replace(f"{PLACE}/key", own) + " true", check=False)
    assert tried.returncode != 0
    assert "Permission denied" in tried.stderr


def test_the_job_of_a_member_who_left_ends(people: PeopleLab, left: str) -> None:
    deadline = time.monotonic() + 60
    while not (found := application(people, left)) or found["state"] in ("RUNNING", "ACCEPTED"):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    assert (found["user"], found["finalStatus"]) == (ERIN, "KILLED")


def test_a_member_who_left_runs_nothing_and_does_not_log_in(edge: Host, erin: str, left: str) -> None:
    assert left
    assert edge.run("pgrep", "--uid", "30090", check=False).returncode == 1
    assert edge.run("id", ERIN, check=False).returncode != 0
    assert edge.run("sh", "-c", f"{erin} true", check=False).returncode != 0
    home = edge.run("stat", "--format", "%U %a", f"{HOMES}/{ERIN}").stdout.split()
    assert home == ["root", "700"]


def test_under_the_name_of_a_member_who_left_a_job_fails(edge: Host, job: str, left: str) -> None:
    assert job
    assert left
    select = f"SELECT count(*) FROM sales.{TABLE}"
    done = login(edge, "spark", f"HADOOP_USER_NAME={ERIN} {submit(ALONE, select)}")
    assert f"Permission denied: user={ERIN}" in said(done.stdout)[select]
