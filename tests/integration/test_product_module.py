"""The modules that unpack a product and make a virtual environment, run as a host runs them."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import ansible.module_utils
import pytest
from ansible.module_utils.testing import patch_module_args

from hopshive.install.artifacts.lock import sha256_of
from hopshive.install.artifacts.pack import write_tar
from hopshive.install.artifacts.python_env import contents

ROOT = Path(__file__).parents[2]


def run(module: str, **arguments: Any) -> dict[str, Any]:
    """Run a module with its arguments; module_utils/ is a part of ansible.module_utils, as in AnsiballZ."""
    utils = str(ROOT / "module_utils")
    if utils not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(utils)
    output = io.StringIO()
    with patch_module_args(arguments), redirect_stdout(output), pytest.raises(SystemExit):
        runpy.run_path(str(ROOT / f"library/{module}.py"), run_name="__main__")
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


class Host:
    """The directory of one product on a host, and archives for it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.dest = directory / "opt/thing"

    def archive(self, build_id: str) -> Path:
        path = self.directory / f"thing-{build_id}.tar"
        write_tar({"lib/a.jar": build_id.encode()}, path)
        return path

    def install(self, build_id: str, **more: Any) -> dict[str, Any]:
        archive = self.archive(build_id)
        arguments = {"archive": str(archive), "sha256": sha256_of(archive), "dest": str(self.dest), "id": build_id}
        return run("hopshive_product", **(arguments | more))

    def tree(self) -> list[str]:
        return sorted(str(path.relative_to(self.dest)) for path in self.dest.rglob("*")) if self.dest.exists() else []

    @property
    def in_use(self) -> str:
        return (self.dest / "current/lib/a.jar").read_text()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_product_is_unpacked_and_in_use(host: Host) -> None:
    assert host.install("1-aa")["changed"]
    assert host.in_use == "1-aa"


def test_the_second_run_changes_nothing(host: Host) -> None:
    host.install("1-aa")
    assert not host.install("1-aa")["changed"]


def test_an_installed_version_needs_no_archive(host: Host) -> None:
    host.install("1-aa")
    host.install("2-bb")
    back = run("hopshive_product", archive="/nowhere", sha256="", dest=str(host.dest), id="1-aa")
    assert (back["changed"], back["unpacked"], host.in_use) == (True, False, "1-aa")


def test_check_mode_says_what_would_change_and_changes_nothing(host: Host) -> None:
    result = host.install("1-aa", _ansible_check_mode=True)
    assert (result["changed"], host.tree()) == (True, [])


def test_check_mode_does_not_need_the_archive(host: Host) -> None:
    result = run(
        "hopshive_product", archive="/nowhere", sha256="", dest=str(host.dest), id="1-aa", _ansible_check_mode=True
    )
    assert result["changed"]


def test_the_diff_shows_the_version_in_use(host: Host) -> None:
    host.install("1-aa")
    diff = host.install("2-bb", _ansible_diff=True)["diff"]
    assert (diff["before"]["current"], diff["after"]["current"]) == ("1-aa", "2-bb")


def test_a_wrong_checksum_names_the_archive_and_both_sums(host: Host) -> None:
    archive = host.archive("1-aa")
    message = host.install("1-aa", sha256="0" * 64)["msg"]
    assert message == (
        f"Wrong checksum of {archive}: expected sha256 {'0' * 64}, actual {sha256_of(archive)}. Nothing was changed."
    )


def test_a_wrong_checksum_changes_nothing(host: Host) -> None:
    host.install("1-aa")
    before = host.tree()
    host.install("2-bb", sha256="0" * 64)
    assert host.tree() == before


def test_a_missing_archive_says_what_makes_it(host: Host) -> None:
    assert "playbooks/artifacts.yml" in host.install("1-aa", archive="/nowhere.tar")["msg"]


def test_a_truncated_archive_leaves_nothing(host: Host) -> None:
    archive = host.archive("1-aa")
    archive.write_bytes(archive.read_bytes()[:1200])
    arguments = {"archive": str(archive), "sha256": sha256_of(archive), "dest": str(host.dest), "id": "1-aa"}
    assert run("hopshive_product", **arguments)["failed"]
    assert host.tree() == []


def test_what_an_interrupted_run_left_is_removed_by_the_next(host: Host) -> None:
    (host.dest / ".unpacking-killed/lib").mkdir(parents=True)
    host.install("1-aa")
    assert sorted(path.name for path in host.dest.iterdir()) == ["1-aa", "current"]


def test_old_versions_are_removed_but_not_the_one_before(host: Host) -> None:
    for place, build_id in enumerate(["1-aa", "2-bb", "3-cc", "4-dd"]):
        result = host.install(build_id, keep=0)
        os.utime(host.dest / build_id, (place, place))
    assert result["removed"] == ["2-bb"]
    assert sorted(path.name for path in host.dest.iterdir()) == ["3-cc", "4-dd", "current"]


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside"])  # noqa: S108 - a name inside a tar
def test_a_member_that_leaves_the_archive_is_refused(host: Host, name: str) -> None:
    archive = host.directory / "evil.tar"
    write_tar({name: b"evil"}, archive)
    message = host.install("1-aa", archive=str(archive), sha256=sha256_of(archive))["msg"]
    assert "leads out of the archive" in message


def test_a_current_that_is_no_link_is_left_alone(host: Host) -> None:
    (host.dest / "current").mkdir(parents=True)
    assert "is not a link" in host.install("1-aa")["msg"]


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "thing-1.0.dist-info"
        archive.writestr("thing.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"thing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    path = tmp_path / "python-thing-1.0-aa.tar"
    write_tar(contents([wheel]), path)
    return path


def venv(wheelhouse: Path, dest: Path, **more: Any) -> dict[str, Any]:
    arguments = {"archive": str(wheelhouse), "sha256": sha256_of(wheelhouse), "dest": str(dest), "id": "1.0-aa"}
    return run("hopshive_venv", **(arguments | {"python": sys.executable} | more))


def test_an_environment_is_installed_without_a_network_and_once(wheelhouse: Path, tmp_path: Path) -> None:
    dest = tmp_path / "opt/python"
    (dest / "1.0-aa/bin").mkdir(parents=True)  # what a run that was interrupted left: it lacks .complete
    first, second = venv(wheelhouse, dest), venv(wheelhouse, dest)
    python = dest / "current/bin/python"
    done = subprocess.run(
        [python, "-c", "import thing; print(thing.answer)"], capture_output=True, text=True, check=True
    )
    assert (first["changed"], second["changed"], done.stdout) == (True, False, "42\n")


def test_an_environment_with_a_wrong_checksum_is_not_begun(wheelhouse: Path, tmp_path: Path) -> None:
    message = venv(wheelhouse, tmp_path / "opt/python", sha256="0" * 64)["msg"]
    assert ("Wrong checksum" in message, (tmp_path / "opt/python").exists()) == (True, False)


def test_an_environment_in_check_mode_is_not_begun(wheelhouse: Path, tmp_path: Path) -> None:
    result = venv(wheelhouse, tmp_path / "opt/python", _ansible_check_mode=True)
    assert (result["changed"], (tmp_path / "opt/python").exists()) == (True, False)
