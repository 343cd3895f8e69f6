"""The module hopshive_files: every configuration file of a host goes through it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.modules import run_module

if TYPE_CHECKING:
    from pathlib import Path

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}


def run(*, check: bool = False, **arguments: Any) -> dict[str, Any]:
    return run_module("hopshive_files", {**ME, **arguments}, check=check)


def mode_of(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def test_directories_and_files_get_content_and_mode(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    wanted: dict[str, Any] = {
        "directories": [{"path": str(conf), "mode": "0750"}],
        "files": [
            {"path": str(conf / "a.xml"), "content": "<a/>\n"},
            {"path": str(conf / "run"), "content": "", "mode": "0755"},
        ],
        "mode": "0640",
    }
    result = run(**wanted)
    assert result["paths"] == [str(conf), str(conf / "a.xml"), str(conf / "run")]
    assert (conf / "a.xml").read_text() == "<a/>\n"
    assert [mode_of(conf), mode_of(conf / "a.xml"), mode_of(conf / "run")] == ["0750", "0640", "0755"]
    assert run(**wanted)["changed"] is False


def test_a_changed_text_is_told_with_its_difference(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n")
    result = run(files=[{"path": str(tmp_path / "a"), "content": "new\n"}])
    assert [(part["before"], part["after"]) for part in result["diff"]] == [("old\n", "new\n")]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_check_mode_tells_and_changes_nothing(tmp_path: Path) -> None:
    result = run(
        check=True, directories=[{"path": str(tmp_path / "d")}], files=[{"path": str(tmp_path / "d/a"), "content": "x"}]
    )
    assert result["paths"] == [str(tmp_path / "d"), str(tmp_path / "d/a")]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_mode_alone_is_mended(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    (tmp_path / "a").chmod(0o666)
    result = run(files=[{"path": str(tmp_path / "a"), "content": "same", "mode": "0600"}])
    assert result["changed"] is True
    assert mode_of(tmp_path / "a") == "0600"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"owner": "nobody-knows"}, "the user nobody-knows does not exist on this host"),
        ({"mode": "rw"}, "the mode 'rw' is not octal, such as 0640"),
    ],
)
def test_wrong_input_is_told_and_nothing_written(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    result = run(files=[{"path": str(tmp_path / "a"), "content": "x"}], **arguments)
    assert result["failed"] is True
    assert sentence in result["msg"]
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_a_files_place_is_left_alone(tmp_path: Path) -> None:
    result = run(files=[{"path": str(tmp_path), "content": "x"}])
    assert result["msg"] == f"{tmp_path} is a directory, not a file"


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    result = run(files=[{"path": str(tmp_path / "gone/a"), "content": "x"}])
    assert result["msg"] == f"{tmp_path}/gone/a: No such file or directory"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away: run the tests as root")
def test_a_link_in_a_service_users_directory_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "etc"
    victim.mkdir(mode=0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / "scratch").symlink_to(victim)
    os.chown(home, 65534, 65534)
    result = run(directories=[{"path": str(home / "scratch"), "mode": "0700"}])
    assert "is a symbolic link in a directory that is not root's" in result["msg"]
    assert mode_of(victim) == "0755"
