"""What the directories of a project let whom do, on a real HDFS that knows the groups of its users."""

from __future__ import annotations

import io
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from hopshive.hdfs.wanted import Entry, MakeDirectory, Quota, WebHdfsError
from hopshive.hdfs.webhdfs import WebHdfs
from hopshive.tenancy import storage
from hopshive.tenancy.projects import read
from tests.support.servers import connect, run_hdfs, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.servers import Hdfs

PROJECTS = read(
    {
        "sales": {
            "id": 20000,
            "members": {"alice": {"id": 30000, "role": "owner"}, "bob": {"id": 30001, "role": "reader"}},
            "readers": ["plans"],
        },
        "plans": {"id": 20002, "members": {"alice": {"id": 30003, "role": "owner"}}},
    }
)
SALES = PROJECTS["sales"]
GROUPS = {
    "sales__alice": "sales,sales__writers",
    "sales__bob": "sales",
    "plans__alice": "plans,plans__writers",
    "stranger": "stranger",
}
TOP = "/warehouse/sales.db"


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    directory = tmp_path_factory.mktemp("projects")
    overrides = ";".join(f"{user}={groups}" for user, groups in {**GROUPS, "hive": "hadoop"}.items())
    with run_hdfs(
        directory,
        unpack("hadoop", directory),
        {"hadoop.user.group.static.mapping.overrides": overrides, "dfs.datanode.du.reserved": 0},
    ) as hdfs:
        connect(hdfs).close()
        yield hdfs


class As:
    """HDFS as one of several users."""

    def __init__(self, hdfs: Hdfs, stack: ExitStack) -> None:
        self._hdfs = hdfs
        self._stack = stack

    def __call__(self, user: str) -> WebHdfs:
        return self._stack.enter_context(closing(WebHdfs([self._hdfs.url], user, timeout=30)))


@pytest.fixture
def as_user(hdfs: Hdfs) -> Iterator[As]:
    with ExitStack() as stack:
        yield As(hdfs, stack)


@pytest.fixture
def admin(as_user: As, hdfs: Hdfs) -> Iterator[WebHdfs]:
    client = as_user(hdfs.user)
    if not client.status("/warehouse"):
        client.apply(MakeDirectory("/warehouse", "755"))
    yield client
    client._call("DELETE", TOP, "DELETE", recursive="true")


def wanted(readers: bool = True, quota: Quota = Quota()) -> storage.Directory:  # noqa: B008 - frozen
    acl = {entry for entry in SALES.acl("hive") if readers or "plans" not in entry}
    return storage.Directory(TOP, "hive", "sales", frozenset(acl), quota, frozenset(SALES.users))


def may_write(client: WebHdfs, directory: str) -> bool:
    try:
        client.round_trip(directory)
    except WebHdfsError as error:
        assert "does not let the user" in str(error), error
        return False
    return True


def may_read(client: WebHdfs, path: str) -> bool:
    try:
        client._read(path)
    except Exception as error:
        assert "ermission denied" in str(error) or "does not let the user" in str(error), error
        return False
    return True


def write(client: WebHdfs, path: str) -> None:
    """A file, once there is a DataNode."""
    client._patiently(lambda: client._write(path, lambda: io.BytesIO(b"rows"), 4, {"overwrite": "true"}))


def test_writers_write_members_and_readers_read_and_others_see_nothing(admin: WebHdfs, as_user: As) -> None:
    assert storage.ensure(admin, wanted())
    alice = as_user("sales__alice")
    alice.apply(MakeDirectory(f"{TOP}/t"))
    write(alice, f"{TOP}/t/part")
    status = alice.status(f"{TOP}/t/part")
    assert status is not None
    assert (status.owner, status.group) == ("sales__alice", "sales")
    places = [TOP, f"{TOP}/t"]
    seen = {
        user: (
            [may_write(as_user(user), place) for place in places],
            may_read(as_user(user), f"{TOP}/t/part"),
        )
        for user in (*GROUPS, "hive")
    }
    assert seen == {
        "sales__alice": ([True, True], True),
        "sales__bob": ([False, False], True),
        "plans__alice": ([False, False], True),
        "stranger": ([False, False], False),
        "hive": ([True, True], True),
    }


def test_a_second_run_changes_nothing(admin: WebHdfs) -> None:
    quota = Quota(100, 1 << 30)
    assert storage.ensure(admin, wanted(quota=quota))
    assert storage.ensure(admin, wanted(quota=quota)) == []
    assert storage.ensure(admin, wanted(quota=quota), dry=True) == []


def test_a_dry_run_says_the_same_and_does_nothing(admin: WebHdfs) -> None:
    foretold = storage.ensure(admin, wanted(quota=Quota(100)), dry=True)
    assert admin.status(TOP) is None
    assert storage.ensure(admin, wanted(quota=Quota(100))) == foretold


def test_a_database_of_before_becomes_the_projects_with_all_its_files(admin: WebHdfs, as_user: As) -> None:
    # As a warehouse without a login makes it: of the user who runs jobs, and readable for all.
    admin.apply(MakeDirectory(TOP, "777"))
    spark = as_user("spark")
    for path in (f"{TOP}/t", f"{TOP}/t/day=1"):
        spark.apply(MakeDirectory(path, "755"))
    write(spark, f"{TOP}/t/day=1/part")
    assert may_read(as_user("stranger"), f"{TOP}/t/day=1/part")
    assert storage.ensure(admin, wanted())
    assert storage.ensure(admin, wanted()) == []
    seen = {
        user: (may_write(as_user(user), f"{TOP}/t/day=1"), may_read(as_user(user), f"{TOP}/t/day=1/part"))
        for user in (*GROUPS, "spark", "hive")
    }
    assert seen == {
        "sales__alice": (True, True),
        "sales__bob": (False, True),
        "plans__alice": (False, True),
        "stranger": (False, False),
        "spark": (False, False),
        "hive": (True, True),
    }


def test_what_a_member_made_stays_the_members_when_readers_change(admin: WebHdfs, as_user: As) -> None:
    storage.ensure(admin, wanted(readers=False))
    write(as_user("sales__alice"), f"{TOP}/part")
    storage.ensure(admin, wanted())
    status = admin.status(f"{TOP}/part")
    assert status is not None
    assert (status.owner, status.group) == ("sales__alice", "sales")


def test_a_reader_that_is_taken_away_loses_old_files_too(admin: WebHdfs, as_user: As) -> None:
    storage.ensure(admin, wanted(readers=False))
    alice, reader = as_user("sales__alice"), as_user("plans__alice")
    alice.apply(MakeDirectory(f"{TOP}/t/day=1"))
    write(alice, f"{TOP}/t/day=1/part")
    seen = [may_read(reader, f"{TOP}/t/day=1/part")]
    for readers in (True, False):
        assert storage.ensure(admin, wanted(readers=readers))
        seen.append(may_read(reader, f"{TOP}/t/day=1/part"))
    assert seen == [False, True, False]


def test_a_walk_that_was_interrupted_is_done_again(
    admin: WebHdfs, as_user: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.ensure(admin, wanted(readers=False))
    alice = as_user("sales__alice")
    alice.apply(MakeDirectory(f"{TOP}/t"))
    write(alice, f"{TOP}/t/part")

    def gone(_path: str) -> list[Entry]:
        raise WebHdfsError("HDFS is gone.")

    with monkeypatch.context() as patch, pytest.raises(WebHdfsError, match="gone"):
        patch.setattr(admin, "entries", gone)
        storage.ensure(admin, wanted())
    assert not may_read(as_user("plans__alice"), f"{TOP}/t/part")
    assert storage.ensure(admin, wanted())
    assert may_read(as_user("plans__alice"), f"{TOP}/t/part")


def test_a_mode_that_someone_changed_is_set_again(admin: WebHdfs) -> None:
    storage.ensure(admin, wanted())
    admin._call("PUT", TOP, "SETPERMISSION", permission="777")
    assert storage.ensure(admin, wanted())
    assert admin.status(TOP).mode == "770"  # type: ignore[union-attr]


def test_a_quota_holds_and_can_be_taken_away(admin: WebHdfs, as_user: As) -> None:
    storage.ensure(admin, wanted(quota=Quota(names=2)))
    alice = as_user("sales__alice")
    alice.apply(MakeDirectory(f"{TOP}/one"))
    with pytest.raises(WebHdfsError, match="quota"):
        alice.apply(MakeDirectory(f"{TOP}/two"))
    storage.ensure(admin, wanted())
    alice.apply(MakeDirectory(f"{TOP}/two"))
    storage.ensure(admin, wanted(quota=Quota(space=1 << 20)))
    with pytest.raises(Exception, match="quota"):
        write(alice, f"{TOP}/two/part")
