"""The command `hopshive`: what it says of itself, and where it cannot work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from hopshive.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_help_says_each_command_in_a_whole_sentence() -> None:
    done = CliRunner().invoke(main, ["--help"])
    lines = done.output.partition("Commands:\n")[2].splitlines()
    assert len(lines) > 8
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


def test_artifacts_without_the_repository_say_where_they_work(tmp_path: Path) -> None:
    missing = tmp_path / "artifacts"
    done = CliRunner().invoke(main, ["artifacts", "--artifacts", str(missing), "list"])
    assert done.exit_code == 1
    assert done.output == (
        f"Error: {missing} is not there: say this in the repository of hopshive, or name its --artifacts.\n"
    )
