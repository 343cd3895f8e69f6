"""Paths on HDFS: what is decided, what a NameNode and a DataNode make of it, and the modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopshive.hdfs.wanted import (
    Status,
)
from hopshive.hdfs.webhdfs import WebHdfs
from tests.support.modules import run_module
from tests.support.patience import within
from tests.support.servers import Hdfs

# --- a real HDFS ------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(hdfs: Hdfs) -> Iterator[WebHdfs]:
    client = WebHdfs([hdfs.url], hdfs.user, timeout=60)
    yield client
    client.close()


def arguments(hdfs: Hdfs, *paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"url": [hdfs.url], "user": hdfs.user, "paths": list(paths), **more}


def names(client: WebHdfs) -> list[str]:
    """What stands in the root directory, which other files' tests share."""
    return [item["pathSuffix"] for item in client._call("GET", "/", "LISTSTATUS")["FileStatuses"]["FileStatus"]]


def test_a_round_trip_works_as_soon_as_there_is_a_datanode_and_leaves_nothing(hdfs: Hdfs, client: WebHdfs) -> None:
    before = names(client)
    result = run_module("hopshive_hdfs_check", {"url": hdfs.url, "user": hdfs.user})
    assert not result["changed"]
    assert result["seconds"] < 30
    assert names(client) == before


def test_a_round_trip_without_the_right_to_write_is_a_sentence(hdfs: Hdfs) -> None:
    result = run_module("hopshive_hdfs_check", {"url": hdfs.url, "user": "nobody"})
    assert "does not let the user nobody" in result["msg"]
    result = run_module("hopshive_hdfs_check", {"url": hdfs.url, "user": hdfs.user, "directory": "/none"})
    assert "/none is no directory" in result["msg"]


def test_a_directory_gets_owner_and_sticky_mode_once(hdfs: Hdfs, client: WebHdfs) -> None:
    wanted = arguments(hdfs, {"path": "/t/tmp", "owner": "hive", "group": "staff", "mode": "1777"})
    foretold = run_module("hopshive_hdfs", wanted, check=True)
    assert foretold["changed"]
    assert client.status("/t") is None
    made = run_module("hopshive_hdfs", wanted)
    assert made["changes"][1]["after"] == foretold["changes"][1]["after"]
    assert made["diff"]["before"] == {"/t": None, "/t/tmp": None}
    assert client.status("/t/tmp") == Status("DIRECTORY", "hive", "staff", "1777")
    assert client.status("/t") == Status("DIRECTORY", hdfs.user, "hadoop", "755")
    again = run_module("hopshive_hdfs", wanted)
    assert not again["changed"]
    assert again["changes"] == []


def test_what_differs_is_set_right_and_the_rest_left(hdfs: Hdfs, client: WebHdfs) -> None:
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/right", "owner": "hive", "group": "staff", "mode": "0700"}))
    changed = run_module("hopshive_hdfs", arguments(hdfs, {"path": "/right", "mode": "0750"}))
    assert changed["changes"][0]["operations"] == ["SetMode"]
    assert client.status("/right") == Status("DIRECTORY", "hive", "staff", "750")


ACL = ["group:warehouse:rwx", "default:group:warehouse:rwx"]


def test_old_directories_below_get_the_acl_once(hdfs: Hdfs, client: WebHdfs) -> None:
    for path in ("/w/old.db/t/p=1", "/w/other.db"):
        run_module("hopshive_hdfs", arguments(hdfs, {"path": path, "mode": "0755"}))
    wanted = arguments(hdfs, {"path": "/w", "mode": "0775", "acl": ACL, "tree": True})
    foretold = run_module("hopshive_hdfs", wanted, check=True)
    assert set(ACL) <= set(foretold["changes"][0]["after"]["acl"])
    assert client.acl("/w/old.db") == frozenset()
    assert run_module("hopshive_hdfs", wanted)["changes"][0]["operations"] == ["SetAcl", "SetMode"]
    for path in ("/w", "/w/old.db", "/w/old.db/t", "/w/old.db/t/p=1", "/w/other.db"):
        assert client.acl(path) >= set(ACL), path
    assert not run_module("hopshive_hdfs", wanted)["changed"]


def test_a_directory_that_is_closed_later_stays_closed(hdfs: Hdfs, client: WebHdfs) -> None:
    wanted = arguments(hdfs, {"path": "/closing", "mode": "0775", "acl": ACL, "tree": True})
    run_module("hopshive_hdfs", wanted)
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/closing/own", "mode": "0700"}))
    assert not run_module("hopshive_hdfs", wanted)["changed"]
    closed = client.status("/closing/own")
    assert closed
    assert closed.mode == "700"


def test_an_interrupted_walk_begins_again(hdfs: Hdfs, client: WebHdfs) -> None:
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/half/old", "mode": "0755"}))
    # What a run leaves that ends after it has done the top.
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/half", "acl": ACL}, {"path": "/half", "mode": "0755"}))
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/half", "mode": "0775", "acl": ACL, "tree": True}))
    assert client.acl("/half/old") >= set(ACL)


def test_parents_are_made_as_asked_only_if_missing(hdfs: Hdfs, client: WebHdfs) -> None:
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/p", "mode": "0711"}))
    run_module(
        "hopshive_hdfs",
        arguments(hdfs, {"path": "/p/q/r"}, parent_owner="hive", parent_group="staff", parent_mode="0750"),
    )
    assert client.status("/p") == Status("DIRECTORY", hdfs.user, "hadoop", "711")
    assert client.status("/p/q") == Status("DIRECTORY", "hive", "staff", "750")


def test_a_file_appears_whole_with_owner_mode_and_content(hdfs: Hdfs, client: WebHdfs, tmp_path: Path) -> None:
    source = tmp_path / "a b.bin"
    source.write_bytes(bytes(range(256)) * 20_000)
    entry = {
        "path": "/up/ä b+c.bin",
        "state": "file",
        "src": str(source),
        "owner": "hive",
        "group": "staff",
        "mode": "0640",
    }
    wanted = arguments(hdfs, entry)
    assert run_module("hopshive_hdfs", wanted, check=True)["changed"]
    made = run_module("hopshive_hdfs", wanted)
    assert made["changed"], made
    status = client.status("/up/ä b+c.bin")
    assert status == Status("FILE", "hive", "staff", "640", length=5_120_000, replication=1)
    assert client._read("/up/ä b+c.bin") == source.read_bytes()
    assert not run_module("hopshive_hdfs", wanted)["changed"]
    assert not run_module("hopshive_hdfs", wanted, check=True)["changed"]
    names = [one["pathSuffix"] for one in client._call("GET", "/up", "LISTSTATUS")["FileStatuses"]["FileStatus"]]
    assert names == ["ä b+c.bin"]


def test_another_length_replaces_a_file(hdfs: Hdfs, client: WebHdfs, tmp_path: Path) -> None:
    source = tmp_path / "x"
    source.write_text("one")
    wanted = arguments(hdfs, {"path": "/replaced", "state": "file", "src": str(source)})
    run_module("hopshive_hdfs", wanted)
    source.write_text("longer")
    assert run_module("hopshive_hdfs", wanted)["changed"]
    assert client._read("/replaced") == b"longer"


def test_an_empty_file_can_be_uploaded(hdfs: Hdfs, client: WebHdfs, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/empty", "state": "file", "src": str(tmp_path / "empty")}))
    assert client._read("/empty") == b""


def test_absence_takes_a_full_directory_only_if_told_to(hdfs: Hdfs, client: WebHdfs) -> None:
    run_module("hopshive_hdfs", arguments(hdfs, {"path": "/full/of"}))
    refused = run_module("hopshive_hdfs", arguments(hdfs, {"path": "/full", "state": "absent"}))
    assert refused["failed"]
    assert "/full" in refused["msg"]
    wanted = arguments(hdfs, {"path": "/full", "state": "absent", "recursive": True}, {"path": "/full/again"})
    foretold = run_module("hopshive_hdfs", wanted, check=True)
    assert [change["path"] for change in foretold["changes"]] == ["/full", "/full", "/full/again"]
    assert client.status("/full/of") is not None
    made = run_module("hopshive_hdfs", wanted)
    assert [change["path"] for change in made["changes"]] == ["/full", "/full", "/full/again"]
    assert client.status("/full/of") is None


@pytest.mark.wall_time
def test_twenty_paths_take_less_than_a_second(hdfs: Hdfs) -> None:
    paths = [{"path": f"/many/{number}", "owner": "hive", "mode": "0770"} for number in range(20)]
    run_module("hopshive_hdfs", arguments(hdfs, *paths))
    with within(1):
        assert not run_module("hopshive_hdfs", arguments(hdfs, *paths))["changed"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"path": "/m", "mode": "4755"}, "The mode '4755' of /m is none of HDFS"),
        ({"path": "m"}, "not absolute"),
        ({"path": "/m", "state": "file"}, "/m must be a file, so it needs src"),
        ({"path": "/m", "state": "file", "src": "/nowhere/x"}, "The file /nowhere/x cannot be read on this host"),
    ],
)
def test_what_cannot_be_is_told_before_anything_changes(entry: dict[str, Any], sentence: str) -> None:
    result = run_module(
        "hopshive_hdfs", {"url": ["http://127.0.0.1:1"], "timeout": 0, "paths": [{"path": "/a"}, entry]}
    )
    assert sentence in result["msg"]
    assert result["changes"] == []
