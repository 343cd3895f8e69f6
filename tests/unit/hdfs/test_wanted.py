"""Which operations bring a path to its wanted state."""

from __future__ import annotations

import pytest

from hopshive.hdfs.wanted import (
    Delete,
    MakeDirectory,
    Operation,
    SetMode,
    SetOwner,
    SetReplication,
    Status,
    Upload,
    Wanted,
    WebHdfsError,
    ancestors,
    decide,
    foresee,
    normal_mode,
    normal_path,
)

DIRECTORY = Status("DIRECTORY", "hive", "hadoop", "1777")


FILE = Status("FILE", "hdfs", "hadoop", "644", length=5, replication=2)


@pytest.mark.parametrize(
    ("wanted", "there", "operations"),
    [
        (Wanted("/a"), None, [MakeDirectory("/a")]),
        (Wanted("/a"), DIRECTORY, []),
        (Wanted("/a", owner="hive", group="hadoop", mode="1777"), DIRECTORY, []),
        (Wanted("/a", mode="777"), DIRECTORY, [SetMode("/a", "777")]),
        (Wanted("/a", owner="spark", group="hadoop"), DIRECTORY, [SetOwner("/a", "spark", None)]),
        (Wanted("/a", owner="x", group="y", mode="700"), None, [MakeDirectory("/a", "700"), SetOwner("/a", "x", "y")]),
        (Wanted("/a", "absent"), None, []),
        (Wanted("/a", "absent"), DIRECTORY, [Delete("/a", recursive=False)]),
        (Wanted("/a", "absent", recursive=True), FILE, [Delete("/a", recursive=True)]),
        (Wanted("/f", "file", length=5), FILE, []),
        (Wanted("/f", "file", length=5, replication=3), FILE, [SetReplication("/f", 3)]),
        (Wanted("/f", "file", length=6), FILE, [Upload(Wanted("/f", "file", length=6))]),
        (Wanted("/f", "file", length=6), None, [Upload(Wanted("/f", "file", length=6))]),
    ],
)
def test_only_what_differs_is_done(wanted: Wanted, there: Status | None, operations: list[Operation]) -> None:
    assert decide(wanted, there) == operations


@pytest.mark.parametrize(
    ("wanted", "there", "sentence"),
    [
        (Wanted("/a"), FILE, "/a on HDFS is a file, and a directory is wanted"),
        (Wanted("/a", "file"), DIRECTORY, "/a on HDFS is a directory, and a file is wanted"),
        (Wanted("/", "absent"), DIRECTORY, "root of HDFS cannot be made absent"),
    ],
)
def test_nothing_is_replaced_by_another_kind(wanted: Wanted, there: Status, sentence: str) -> None:
    with pytest.raises(WebHdfsError, match=sentence):
        decide(wanted, there)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (Wanted("/a", owner="x", group="y", mode="700"), None),
        (Wanted("/a", owner="x", mode="1770"), DIRECTORY),
        (Wanted("/f", "file", owner="x", group="y", mode="600", length=6, replication=1), FILE),
        (Wanted("/f", "absent"), FILE),
    ],
)
def test_what_is_foreseen_needs_nothing_more(wanted: Wanted, there: Status | None) -> None:
    after = foresee(there, decide(wanted, there), "hdfs")
    assert decide(wanted, after) == []


def test_modes_and_paths_have_one_form() -> None:
    assert [normal_mode(mode) for mode in ("01777", "1777", "0755", "0o700", "0")] == [
        "1777",
        "1777",
        "755",
        "700",
        "0",
    ]
    for mode in ("4755", "u+x", "888", "-1"):
        with pytest.raises(ValueError):
            normal_mode(mode)
    assert [normal_path(path) for path in ("/", "//a/./b/", "/a")] == ["/", "/a/b", "/a"]
    assert ancestors("/a/b/c") == ["/a", "/a/b"]
    for path in ("a", "/a/../b", ""):
        with pytest.raises(WebHdfsError, match="not absolute"):
            normal_path(path)
