"""The client of the NameNode against a real one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.hdfs.namenode import (
    ROOT_ID,
    Entry,
    Event,
    EventBatches,
    MissingEdits,
    NameNode,
    NameNodeError,
    NameNodeUnavailable,
)
from hopshive.hdfs.webhdfs import WebHdfs
from tests.support.patience import within
from tests.support.servers import connect, free_port

if TYPE_CHECKING:
    from tests.support.servers import Hdfs

SAFEMODE_LEAVE, SAFEMODE_ENTER = 1, 2
# FsPermissionProto of 0755.
MODE = b"\x08\xed\x03"
NAMES = ["ä ö", "a+b%2F", "日本", "😀", "x='1'"]


@pytest.fixture(scope="module")
def namenode(hdfs: Hdfs) -> Iterator[NameNode]:
    with connect(hdfs) as namenode:
        yield namenode


@pytest.fixture(scope="module")
def web(hdfs: Hdfs, namenode: NameNode) -> Iterator[WebHdfs]:
    """Another client, to do what is to be seen. The NameNode is out of safe mode."""
    assert namenode.identity()
    web = WebHdfs([hdfs.url], hdfs.user)
    yield web
    web.close()


@pytest.fixture
def top(web: WebHdfs, request: pytest.FixtureRequest) -> Iterator[str]:
    """A directory for one test."""
    path = f"/nn/{request.node.name.split('[')[0]}"
    mkdirs(web, path)
    yield path
    web._call("DELETE", path, "DELETE", recursive="true")


def mkdirs(web: WebHdfs, *paths: str) -> None:
    for path in paths:
        assert web._call("PUT", path, "MKDIRS")["boolean"]


def rename(web: WebHdfs, source: str, target: str, **options: str) -> None:
    web._call("PUT", source, "RENAME", destination=target, **options)


def delete(web: WebHdfs, path: str) -> None:
    assert web._call("DELETE", path, "DELETE", recursive="true")["boolean"]


def seen(batches: EventBatches) -> list[tuple[str, str, str]]:
    return [(event.kind, event.path, event.target) for event in batches.events]


def ask(namenode: NameNode, method: str, request: dict[int, int | bytes | str]) -> None:
    """A call that only tests make."""
    namenode._one(namenode._call(method, request))


def create(namenode: NameNode, path: str) -> None:
    """An empty file, still open."""
    ask(namenode, "create", {1: path, 2: MODE, 3: "test", 4: 1, 5: 1, 6: 1, 7: 1 << 27})


# --- inodes -----------------------------------------------------------------------------------------------------------


def test_the_identity_is_that_of_the_file_system(hdfs: Hdfs, namenode: NameNode) -> None:
    version = dict(
        line.split("=", 1)
        for line in (hdfs.conf.parent / "name/current/VERSION").read_text().splitlines()
        if "=" in line
    )
    identity = namenode.identity()
    assert (identity.cluster_id, str(identity.namespace_id), identity.block_pool_id) == (
        version["clusterID"],
        version["namespaceID"],
        version["blockpoolID"],
    )


def test_safe_mode_is_told_and_forbids_deleting(namenode: NameNode, top: str) -> None:
    assert not namenode.safe_mode()
    ask(namenode, "setSafeMode", {1: SAFEMODE_ENTER})
    try:
        assert namenode.safe_mode()
        assert namenode.entry(top)
        with pytest.raises(NameNodeUnavailable, match="safe mode"):
            namenode.delete(top)
    finally:
        ask(namenode, "setSafeMode", {1: SAFEMODE_LEAVE})
    assert not namenode.safe_mode()


def test_a_chain_has_the_inodes_that_webhdfs_reports(namenode: NameNode, web: WebHdfs, top: str) -> None:
    path = f"{top}/db.db/t/{NAMES[0]}"
    mkdirs(web, path)
    chain = namenode.chain(path)
    assert chain is not None
    assert [entry.name for entry in chain] == path.strip("/").split("/")
    for depth, entry in enumerate(chain):
        ancestor = "/" + "/".join(one.name for one in chain[: depth + 1])
        status = web._call("GET", ancestor, "GETFILESTATUS")["FileStatus"]
        assert (entry.file_id, entry.modified, entry.is_dir) == (status["fileId"], status["modificationTime"], True)
    assert namenode.entry(path) == chain[-1]


def test_the_root_has_its_number_and_an_empty_chain(namenode: NameNode) -> None:
    root = namenode.entry("/")
    assert root is not None
    assert (root.name, root.file_id, root.is_dir) == ("", ROOT_ID, True)
    assert namenode.chain("/") == []


def test_what_is_absent_is_none_and_a_file_no_directory(namenode: NameNode, top: str) -> None:
    create(namenode, f"{top}/f")
    file, below, none, forbidden = namenode.entries([f"{top}/f", f"{top}/f/x", f"{top}/none", f"{top}/a:b"])
    assert file is not None
    assert not file.is_dir
    assert (below, none, forbidden) == (None, None, None)
    assert namenode.chain(f"{top}/none/x") is None
    with pytest.raises(ValueError, match="normal path"):
        namenode.entry(f"{top}//f")


@pytest.mark.wall_time
def test_many_paths_are_asked_at_once(namenode: NameNode, web: WebHdfs, top: str) -> None:
    mkdirs(web, *(f"{top}/{number}" for number in range(5)))
    paths = [f"{top}/{number}" for number in range(3000)]
    with within(3):
        found = namenode.entries(paths)
    assert [entry.name for entry in found if entry] == ["0", "1", "2", "3", "4"]
    assert found[5:] == [None] * 2995


def test_a_listing_has_all_pages_in_order(namenode: NameNode, top: str) -> None:
    calls = [namenode._call("mkdirs", {1: f"{top}/d{number:04}", 2: MODE, 3: 1}) for number in range(1100)]
    namenode._answers(calls)
    listed = list(namenode.listing(top))
    assert [entry.name for entry in listed] == [f"d{number:04}" for number in range(1100)]
    assert listed[1050] == namenode.entry(f"{top}/d1050")
    assert [entry.name for entry in namenode.listing(top, start_after="d1097")] == ["d1098", "d1099"]


def test_a_listing_of_nothing_is_an_error(namenode: NameNode, top: str) -> None:
    assert list(namenode.listing(top)) == []
    with pytest.raises(FileNotFoundError, match="/nowhere is not on HDFS"):
        next(namenode.listing(f"{top}/nowhere"))


def test_every_name_comes_as_it_was_given(namenode: NameNode, web: WebHdfs, top: str) -> None:
    before = namenode.current_txid()
    mkdirs(web, *(f"{top}/{name}" for name in NAMES))
    assert sorted(entry.name for entry in namenode.listing(top)) == sorted(NAMES)
    assert all(isinstance(namenode.entry(f"{top}/{name}"), Entry) for name in NAMES)
    assert [event.path for event in namenode.events(before).events] == [f"{top}/{name}" for name in NAMES]


def test_what_is_inside_a_snapshot_is_found(namenode: NameNode, web: WebHdfs, top: str) -> None:
    mkdirs(web, f"{top}/d")
    directory = namenode.entry(f"{top}/d")
    ask(namenode, "allowSnapshot", {1: top})
    ask(namenode, "createSnapshot", {1: top, 2: "s"})
    before = namenode.current_txid()
    delete(web, f"{top}/d")
    assert namenode.entry(f"{top}/.snapshot/s/d") == directory
    ask(namenode, "deleteSnapshot", {1: top, 2: "s"})
    assert seen(namenode.events(before)) == [("unlink", f"{top}/d", "")]


def test_deleting_is_told(namenode: NameNode, web: WebHdfs, top: str) -> None:
    mkdirs(web, f"{top}/scratch/x")
    assert namenode.delete(f"{top}/scratch")
    assert not namenode.delete(f"{top}/scratch")
    assert namenode.entry(f"{top}/scratch") is None


# --- events -----------------------------------------------------------------------------------------------------------


def test_nothing_new_leaves_the_position(namenode: NameNode) -> None:
    position = namenode.current_txid()
    batches = namenode.events(position)
    assert (batches.events, batches.skipped, batches.last_txid, batches.lag) == ([], 0, position, 0)


def test_directories_that_come_and_go_are_events(namenode: NameNode, web: WebHdfs, top: str) -> None:
    before, began = namenode.current_txid(), time.time()
    mkdirs(web, f"{top}/t/p=1")
    rename(web, f"{top}/t/p=1", f"{top}/t/p=2")
    web._call("PUT", f"{top}/t", "SETPERMISSION", permission="700")
    delete(web, f"{top}/t")
    batches = namenode.events(before)
    assert seen(batches) == [
        ("mkdir", f"{top}/t", ""),
        ("mkdir", f"{top}/t/p=1", ""),
        ("rename", f"{top}/t/p=1", f"{top}/t/p=2"),
        ("unlink", f"{top}/t", ""),
    ]
    assert batches.skipped == 1
    assert (batches.first_txid, batches.last_txid) == (before + 1, batches.sync_txid)
    assert [event.txid for event in batches.events] == [before + 1, before + 2, before + 3, before + 5]
    assert all(began - 1 <= event.time_ms / 1000 <= time.time() + 1 for event in batches.events)


def test_a_rename_into_a_directory_names_the_new_place(namenode: NameNode, web: WebHdfs, top: str) -> None:
    mkdirs(web, f"{top}/a", f"{top}/b")
    before = namenode.current_txid()
    rename(web, f"{top}/a", f"{top}/b")
    assert seen(namenode.events(before)) == [("rename", f"{top}/a", f"{top}/b/a")]


def test_a_rename_over_a_directory_is_one_event(namenode: NameNode, web: WebHdfs, top: str) -> None:
    mkdirs(web, f"{top}/a", f"{top}/b")
    before, moved = namenode.current_txid(), namenode.entry(f"{top}/a")
    assert moved is not None
    rename(web, f"{top}/a", f"{top}/b", renameoptions="OVERWRITE")
    assert seen(namenode.events(before)) == [("rename", f"{top}/a", f"{top}/b")]
    there = namenode.entry(f"{top}/b")
    assert there is not None
    assert there.file_id == moved.file_id


def test_a_move_to_the_trash_is_a_rename(namenode: NameNode, web: WebHdfs, top: str) -> None:
    trash = f"{top}/.Trash/Current"
    mkdirs(web, f"{top}/t", trash)
    before = namenode.current_txid()
    rename(web, f"{top}/t", f"{trash}/t", renameoptions="TO_TRASH")
    assert seen(namenode.events(before)) == [("rename", f"{top}/t", f"{trash}/t")]


def test_events_of_files_are_only_counted(namenode: NameNode, top: str) -> None:
    before = namenode.current_txid()
    create(namenode, f"{top}/f")
    ask(namenode, "complete", {1: f"{top}/f", 2: "test"})
    ask(namenode, "setTimes", {1: f"{top}/f", 2: 10**12, 3: 10**12})
    batches = namenode.events(before)
    assert (batches.events, batches.skipped, batches.last_txid) == ([], 3, before + 3)


def test_reading_continues_where_it_ended(namenode: NameNode, top: str) -> None:
    before = namenode.current_txid()
    namenode._answers([namenode._call("mkdirs", {1: f"{top}/{n}", 2: MODE, 3: 1}) for n in range(1500)])
    end, position, found = namenode.current_txid(), before, list[Event]()
    while position < end:
        batches = namenode.events(position)
        found += batches.events
        assert batches.lag == end - batches.last_txid
        position = batches.last_txid
    assert [event.txid for event in found] == list(range(before + 1, before + 1501))
    assert namenode.events(before + 1499).events == found[-1:]


def test_edits_that_were_purged_are_missed(namenode: NameNode, web: WebHdfs, top: str) -> None:
    before = namenode.current_txid()
    ask(namenode, "setSafeMode", {1: SAFEMODE_ENTER})
    try:
        ask(namenode, "saveNamespace", {})
        ask(namenode, "setSafeMode", {1: SAFEMODE_LEAVE})
        mkdirs(web, f"{top}/t")
        middle = namenode.current_txid()
        ask(namenode, "setSafeMode", {1: SAFEMODE_ENTER})
        ask(namenode, "saveNamespace", {})
    finally:
        ask(namenode, "setSafeMode", {1: SAFEMODE_LEAVE})
    with pytest.raises(MissingEdits, match=rf"no longer has the edits after {before - 1}: they begin at \d+"):
        namenode.events(before - 1)
    assert seen(namenode.events(middle - 1)) == [("mkdir", f"{top}/t", "")]


def test_a_position_that_hdfs_has_not_reached_is_missed(namenode: NameNode) -> None:
    with pytest.raises(MissingEdits, match="was put back to an earlier state"):
        namenode.events(namenode.current_txid() + 1000)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_user_who_is_no_superuser_is_told(hdfs: Hdfs) -> None:
    with NameNode([("127.0.0.1", hdfs.rpc_port)], "nobody") as namenode:
        assert namenode.entry("/") is not None
        for call in (lambda: namenode.events(0), namenode.current_txid):
            with pytest.raises(NameNodeError, match=r"does not let the user nobody do .*takes the superuser"):
                call()


def test_a_port_of_something_else_is_told(hdfs: Hdfs, mariadb: Any) -> None:
    for port in (hdfs.namenode_port, mariadb.port):
        with pytest.raises(NameNodeError, match=rf"at 127.0.0.1:{port} .*not a NameNode's RPC port") as raised:
            NameNode([("127.0.0.1", port)], timeout=5).safe_mode()
        assert not isinstance(raised.value, NameNodeUnavailable)


def test_a_second_address_is_tried_and_stays_first(hdfs: Hdfs) -> None:
    down = ("127.0.0.1", free_port())
    with NameNode([down, ("127.0.0.1", hdfs.rpc_port)], hdfs.user) as namenode:
        assert namenode.entry("/") is not None
        assert namenode._addresses == [("127.0.0.1", hdfs.rpc_port), down]


def test_of_several_only_one_that_may_write_is_believed_what_is_absent(
    hdfs: Hdfs, namenode: NameNode, top: str
) -> None:
    there, absent = top, f"{top}/absent"
    with NameNode([("127.0.0.1", hdfs.rpc_port), ("127.0.0.1", free_port())], hdfs.user) as several:
        before = several.current_txid()
        root = several.entry("/")
        assert [entry is None for entry in several.sure_entries([there, absent])] == [False, True]
        # It was asked to write, and wrote what was there.
        assert several.current_txid() == before + 1
        assert several.entry("/") == root
        # It cannot write, as one that the JournalNodes refuse.
        ask(namenode, "setSafeMode", {1: SAFEMODE_ENTER})
        try:
            assert several.entries([absent]) == [None]
            assert several.sure_entries([there]) != [None]
            with pytest.raises(NameNodeUnavailable):
                several.sure_entries([absent])
            assert namenode.sure_entries([absent]) == [None]
        finally:
            ask(namenode, "setSafeMode", {1: SAFEMODE_LEAVE})


def test_a_connection_that_ended_is_made_again(hdfs: Hdfs) -> None:
    with NameNode([("127.0.0.1", hdfs.rpc_port)], hdfs.user) as namenode:
        identity = namenode.identity()
        assert namenode._connection is not None
        namenode._connection.close()
        assert namenode.entry("/") is not None
        assert namenode.identity() == identity


def test_another_file_system_is_refused(hdfs: Hdfs) -> None:
    with NameNode([("127.0.0.1", hdfs.rpc_port)], hdfs.user) as namenode:
        found = namenode.identity()
        namenode._identity = type(found)("CID-other", found.namespace_id, found.block_pool_id)
        namenode.close()
        for _ in itertools.repeat(None, 2):
            with pytest.raises(NameNodeError, match=rf"another file system \({found.cluster_id}"):
                namenode.entry("/")
