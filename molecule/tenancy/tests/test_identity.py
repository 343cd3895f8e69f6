"""Whom a session acts as, in all that others see of it: on HDFS, in YARN's list of applications, as owner in the metastore."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.hdfs import Hdfs
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warehouse import HiveSession
    from tests.warehouse.people import PeopleLab

EXTERNAL, MANAGED = "/warehouse/hopshive/external/sales.db", "/warehouse/hopshive/managed/sales.db"
TABLES = {"own_plain": f"{EXTERNAL}/own_plain", "own_acid": f"{MANAGED}/own_acid"}
USER = "sales__alice"
DENIED = r"(?i)permission denied|privilege"


@pytest.fixture(name="alice", scope="module")
def session_of_alice(people: PeopleLab) -> Iterator[HiveSession]:
    """With two tables of hers that have a row each, which Tez has written."""
    session = people.session(people.person("alice"), "sales")
    try:
        for table in TABLES:
            session.execute(f"DROP TABLE IF EXISTS {table}")
        purged = "TBLPROPERTIES ('external.table.purge' = 'true')"
        session.execute(f"CREATE EXTERNAL TABLE own_plain (id INT) STORED AS PARQUET {purged}")
        session.execute("CREATE TABLE own_acid (id INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
        for table in TABLES:
            session.execute(f"INSERT INTO {table} VALUES (1)")
        yield session
        for table in TABLES:
            session.execute(f"DROP TABLE IF EXISTS {table}")
    finally:
        session.close()


@pytest.fixture(name="hdfs", scope="module")
def file_system(people: PeopleLab) -> Iterator[Hdfs]:
    addresses = {one.name: one.address for one in people.lab.hosts.values()}
    found = Hdfs(people.lab.group("namenode"), addresses=addresses, authority=people.authority)
    yield found
    found.close()


def applications(people: PeopleLab, user: str) -> list[dict[str, Any]]:
    """YARN's list, of one user. It shows them to that user and to yarn alone."""
    url = f"http://{people.lab.one('resourcemanager').address}:8088/ws/v1/cluster/apps?user={user}&user.name=yarn"
    with urllib.request.urlopen(url, timeout=30) as answer:
        found: list[dict[str, Any]] = ((json.load(answer)["apps"] or {}).get("app")) or []
    return found


def below(hdfs: Hdfs, path: str) -> Iterator[tuple[str, str]]:
    """Paths of all that a directory has, each with its owner."""
    for item in hdfs.listing(path):
        yield f"{path}/{item.name}", item.owner
        if item.is_dir:
            yield from below(hdfs, f"{path}/{item.name}")


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("table", TABLES)
def test_directories_and_files_are_the_project_user_s(hdfs: Hdfs, table: str) -> None:
    found = dict(below(hdfs, TABLES[table]))
    assert any(re.match(r"(bucket_)?0{5}", path.rpartition("/")[2]) for path in found), found
    directory = hdfs.status(TABLES[table])
    assert directory
    assert {directory.owner, *found.values()} == {USER}
    assert [item.owner for item in hdfs.listing(TABLES[table].rpartition("/")[0]) if item.name == table] == [USER]


@pytest.mark.parametrize("table", TABLES)
def test_the_owner_of_a_table_is_the_project_user(alice: HiveSession, table: str) -> None:
    rows = {str(row[0]).strip(): str(row[1]).strip() for row in alice.execute(f"DESCRIBE FORMATTED {table}")}
    assert (rows["Owner:"], rows["OwnerType:"]) == (USER, "USER")


def test_the_application_is_the_project_user_s(people: PeopleLab, alice: HiveSession) -> None:
    assert alice.execute("SELECT current_user(), logged_in_user()") == [(USER, USER)]
    assert [one["applicationType"] for one in applications(people, USER)]
    assert applications(people, "alice") == []


@pytest.mark.usefixtures("alice")
def test_no_application_waits_for_queries_that_cannot_use_it(people: PeopleLab) -> None:
    """One that a compaction had may wait for the next."""
    found = [one for one in applications(people, "hive") if one["state"] in ("ACCEPTED", "RUNNING")]
    assert [one["name"] for one in found if one["name"].startswith("HIVE-") and one["queue"] != "compaction"] == []


@pytest.mark.usefixtures("alice")
def test_the_scratch_directory_is_the_user_s_alone(hdfs: Hdfs) -> None:
    own = hdfs.status(f"/tmp/hive/{USER}")  # noqa: S108 - on HDFS
    assert own
    assert (own.owner, own.mode) == (USER, "700")


@pytest.mark.usefixtures("alice")
def test_a_member_writes_and_a_reader_reads(people: PeopleLab) -> None:
    bob, carol = people.person("bob"), people.person("carol")
    with_bob = people.session(bob, "sales")
    with_carol = people.session(carol, "sales", carol.password_and_code())
    try:
        assert with_carol.execute("SELECT id FROM own_acid") == [(1,)]
        with_bob.execute("ALTER TABLE own_plain SET TBLPROPERTIES ('seen' = 'by bob')")
        with pytest.raises(HiveError, match=DENIED):
            with_carol.execute("ALTER TABLE own_plain SET TBLPROPERTIES ('seen' = 'by carol')")
    finally:
        with_bob.close()
        with_carol.close()


def test_a_project_that_shares_is_read_and_not_written(people: PeopleLab) -> None:
    carol = people.person("carol")
    owner = people.session(carol, "plans", carol.password_and_code())
    reader = people.session(people.person("bob"), "sales")
    try:
        owner.execute("DROP TABLE IF EXISTS shared")
        owner.execute("CREATE EXTERNAL TABLE shared (id INT) TBLPROPERTIES ('external.table.purge' = 'true')")
        owner.execute("INSERT INTO shared VALUES (7)")
        assert reader.execute("SELECT id FROM plans.shared") == [(7,)]
        with pytest.raises(HiveError, match=DENIED):
            reader.execute("DROP TABLE plans.shared")
        owner.execute("DROP TABLE shared")
    finally:
        owner.close()
        reader.close()
