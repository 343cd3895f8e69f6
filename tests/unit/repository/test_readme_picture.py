"""README's picture: made of the transcript in docs/quickstart.md, by nothing that lies elsewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click import ClickException
from click.testing import CliRunner

from tools import readme_picture
from tools.readme_picture import COLUMNS, PAGE, PICTURE, Span, render, shown, transcript

ROOT = Path(__file__).parents[3]


def test_a_prompt_says_where_a_command_runs_and_as_whom() -> None:
    lines = [
        "$ docker exec -u hdfs edge hdfs dfs -ls /",
        "...",
        "Found",
        "$ docker exec master hopshive wait",
        "$ make lab",
    ]
    assert shown(lines) == [
        (Span("prompt", "hdfs@edge $ "), Span("command", "hdfs dfs -ls /")),
        (Span("output", "Found"),),
        (Span("prompt", "root@master $ "), Span("command", "hopshive wait")),
        (Span("prompt", "$ "), Span("command", "make lab")),
    ]


def test_a_line_that_is_too_long_is_cut() -> None:
    ((error,),) = shown(["Error: " + "x" * 200])
    assert error == Span("error", "Error: " + "x" * (COLUMNS - 8) + "…")
    prompt, command = shown(["$ docker exec master " + "y" * 200])[0]
    assert len(prompt.text + command.text) == COLUMNS


def test_a_page_without_the_transcript_is_named() -> None:
    with pytest.raises(ClickException, match=r"docs/quickstart\.md has no block below '## Delete a table"):
        transcript("# Quick start\n")


def test_what_xml_would_misread_is_escaped() -> None:
    picture = ElementTree.fromstring(render(shown(["a < b & c"])))  # noqa: S314 - it was made here
    assert "a < b & c" in list(picture.itertext())


def test_the_picture_needs_nothing_beside_itself() -> None:
    text = (ROOT / PICTURE).read_text()
    assert re.findall(r"https?:[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|@font-face|<image|<script", text)


def test_check_fails_on_a_stale_picture_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / PAGE, tmp_path / PAGE)
    runner = CliRunner()
    arguments = ["--root", str(tmp_path)]
    assert runner.invoke(readme_picture.main, arguments).exit_code == 0
    assert runner.invoke(readme_picture.main, [*arguments, "--check"]).exit_code == 0
    (tmp_path / PICTURE).write_text("old")
    stale = runner.invoke(readme_picture.main, [*arguments, "--check"])
    assert stale.exit_code == 1
    assert "docs/undo.svg is not up to date: run `make docs`." in stale.output
    assert (tmp_path / PICTURE).read_text() == "old"


def test_the_picture_in_the_repository_is_up_to_date_and_readme_shows_it() -> None:
    checked = CliRunner().invoke(readme_picture.main, ["--root", str(ROOT), "--check"])
    assert checked.exit_code == 0, checked.output
    assert f"]({PICTURE})" in (ROOT / "README.md").read_text()
