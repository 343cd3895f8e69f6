"""The command `hopshive`: what it says of itself, and where it cannot work."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.config import ConfigError, read

if TYPE_CHECKING:
    from collections.abc import Iterator

ARTIFACTS = Path(__file__).parents[3] / "artifacts"
LEAST = "hdfs: {uris: ['hdfs://nn'], namenodes: ['127.0.0.1:1']}\n"
# What the commands for systemd write is a log.
LOGS = {"cleaner", "watchdog", "lost-hosts", "abandoned"}


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
        f"Error: {missing} does not exist. Run this command in the repository of hopshive, or give --artifacts.\n"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("artifacts_tarballs: [", "{} is not YAML: while parsing a flow node"),
        ("", "{} must hold artifacts_tarballs: for each product its source, sha256 and version."),
        (
            "artifacts_tarballs: {hive: x}",
            "{} must hold artifacts_tarballs: for each product its source, sha256 and version.",
        ),
        ("artifacts_tarballs: {hive: {}}", "artifacts_tarballs.hive lacks sha256, source, version."),
    ],
)
def test_a_wrong_file_of_tarballs_is_said_in_one_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "tarballs.yml"
    path.write_text(text)
    done = CliRunner().invoke(main, ["artifacts", "--artifacts", str(ARTIFACTS), "--tarballs", str(path), "list"])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {sentence.format(path)}")
    assert len(done.stderr.splitlines()) == 1


def test_a_cache_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = tmp_path / "file" / "cache"
    done = CliRunner().invoke(
        main, ["artifacts", "--artifacts", str(ARTIFACTS), "--cache", str(cache), "build", "hive"]
    )
    assert (done.exit_code, done.stderr) == (1, f"Error: {cache} cannot be used: Not a directory.\n")


# --- who may not ------------------------------------------------------------------------------------------------------


@contextmanager
def nobody() -> Iterator[str]:
    """This process opens files as a user who is not root; its name."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid()).pw_name
        return
    groups, found = os.getgroups(), pwd.getpwnam("nobody")
    os.setgroups([])
    os.setegid(found.pw_gid)
    os.seteuid(found.pw_uid)
    try:
        yield found.pw_name
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@pytest.fixture
def etc() -> Iterator[Path]:
    """A directory that everybody may enter; pytest's own is for its user alone."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        directory.chmod(0o755)
        yield directory
        for found in directory.rglob("*"):
            found.chmod(0o700)


def close(path: Path) -> str:
    """Let only a group in that this process, under another user, is not in; its name."""
    if os.geteuid() == 0:
        os.chown(path, 0, 1)
    path.chmod(0o050 if path.is_dir() else 0o060)
    return grp.getgrgid(path.stat().st_gid).gr_name


def commands() -> list[list[str]]:
    """All that read the cleaner's configuration, with what they need."""
    needed = {"restore": ["1"], "undo": ["1"], "approve": ["--yes"]}
    return [[name, *needed.get(name, [])] for name in main.commands if name not in LOGS | {"artifacts", "login"}]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command[0])
@pytest.mark.parametrize("closed", ["directory", "file"])
def test_who_may_not_read_the_configuration_is_told_what_lets_him(etc: Path, closed: str, command: list[str]) -> None:
    directory = etc / "hopshive"
    directory.mkdir()
    path = directory / "hopshive.yml"
    path.write_text(LEAST)
    group = close(directory if closed == "directory" else path)
    with nobody() as user:
        done = CliRunner().invoke(main, [*command, "--config", str(path)])
    sentence = (
        f"{path} cannot be read: Permission denied for the user {user}; run the command with sudo, or as a member of the"
        f" group {group}.\n"
    )
    assert (done.exit_code, done.output) == (1, f"Error: {sentence}")


def test_a_configuration_that_is_not_there_is_looked_for_where_it_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["status", "--config", str(tmp_path / "none.yml")])
    assert (done.exit_code, done.output) == (
        1,
        f"Error: {tmp_path}/none.yml cannot be read: No such file or directory. The hosts of the group cleaner have this file;"
        " --config names another one.\n",
    )


def test_who_may_not_read_the_password_is_told_what_lets_him(etc: Path) -> None:
    password = etc / "password"
    password.write_text("secret\n")
    (etc / "hopshive.yml").write_text(f"{LEAST}database: {{password_file: {password}}}\n")
    group = close(password)
    config = read(etc / "hopshive.yml")
    with nobody() as user, pytest.raises(ConfigError) as raised:
        config.server()
    assert str(raised.value) == (
        f"{password} (database.password_file) cannot be read: Permission denied for the user {user}; run the command with"
        f" sudo, or as a member of the group {group}."
    )


def test_who_may_not_open_the_databases_socket_is_told_what_lets_him(etc: Path) -> None:
    place = etc / "run"
    place.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "socket"))
        (etc / "hopshive.yml").write_text(f"{LEAST}database: {{unix_socket: {place}/socket}}\n")
        group = close(place)
        with nobody() as user:
            done = CliRunner().invoke(main, ["journal", "--config", str(etc / "hopshive.yml")])
    assert done.exit_code == 1
    assert done.output.endswith(
        f" Permission denied for the user {user}; run the command with sudo, or as a member of the group {group}.\n"
    )
