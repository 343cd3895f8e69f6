"""The archive of Spark's jars."""

import zipfile
from pathlib import Path

import pytest

from hopshive.install.jars import main, pack


def test_the_archive_holds_each_jar_flat_and_stored(tmp_path: Path) -> None:
    (tmp_path / "b.jar").write_bytes(b"bb")
    (tmp_path / "a.jar").write_bytes(b"a")
    (tmp_path / "notes.txt").write_text("no jar")
    assert pack(tmp_path, tmp_path / "jars.zip") == 2
    with zipfile.ZipFile(tmp_path / "jars.zip") as archive:
        assert archive.namelist() == ["a.jar", "b.jar"]
        assert archive.read("b.jar") == b"bb"
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_a_directory_without_jars_leaves_no_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no jar files there"):
        pack(tmp_path, tmp_path / "jars.zip")
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "jars.zip")]) == 1
    assert "nowhere: no jar files there" in capsys.readouterr().err
