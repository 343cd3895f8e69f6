"""The scan for secrets finds what it looks for, and shows nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import secrets_scan
from tests.support.secrets_scan import Secret

if TYPE_CHECKING:
    from pathlib import Path

SECRET = Secret("demo_password", "s3cr3t+of$this'test")


def run(command: str) -> list[str]:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_no_command_and_no_failure_shows_the_secret() -> None:
    commands = [
        secrets_scan.command_lines(SECRET),
        secrets_scan.environments(SECRET),
        secrets_scan.journal(SECRET),
        secrets_scan.world_readable_files(SECRET),
    ]
    assert not [command for command in commands if SECRET.value in command]
    assert SECRET.value not in repr(SECRET)


def test_a_world_readable_file_is_found_and_a_private_one_is_not(tmp_path: Path) -> None:
    for name, mode in (("open", 0o644), ("private", 0o640)):
        (tmp_path / name).write_text(f"x\npassword={SECRET.value}\n")
        (tmp_path / name).chmod(mode)
    (tmp_path / "other").write_text("nothing")
    assert run(secrets_scan.world_readable_files(SECRET, [str(tmp_path), "/no/such"])) == [str(tmp_path / "open")]


def test_the_file_with_the_secret_is_gone_after_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run(secrets_scan.world_readable_files(SECRET, ["/no/such"]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("owner", [True, False])
def test_an_environment_counts_unless_its_owner_may_know(owner: bool) -> None:
    me = run("id -un")[0]
    child = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    environment = {**os.environ, "DEMO": SECRET.value}
    with subprocess.Popen(child, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = run(secrets_scan.environments(SECRET, [me] if owner else ["nobody-else"]))
    assert [line.split()[0] for line in found] == ([] if owner else [f"/proc/{process.pid}"])


def test_a_command_line_with_the_secret_is_found() -> None:
    child = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()", SECRET.value]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = run(secrets_scan.command_lines(SECRET))
    assert [line.split()[0] for line in found] == [f"/proc/{process.pid}"]


def test_a_log_of_the_controller_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/run.log").write_text(f"ok: {SECRET.value}")
    (tmp_path / "b.log").write_text("ok")
    assert list(secrets_scan.logs(SECRET, tmp_path)) == [tmp_path / "a/run.log"]
