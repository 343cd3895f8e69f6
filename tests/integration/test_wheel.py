"""The wheel of the package: what is in it, and that it installs into an empty environment without any network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from hopshive.install.artifacts.catalogue import Catalogue, default_cache
from tests.support.collection import ROOT, VERSION
from tools.wheel import write

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(name="environment", scope="module")
def archive_of_the_environment() -> Path:
    """The wheels that the hosts get, for this machine's Python."""
    if not (default_cache() / "files/pypi").is_dir():
        pytest.skip(f"no wheels in {default_cache()}: make artifacts")
    catalogue = Catalogue(artifacts=ROOT / "artifacts", cache=default_cache(), python_version=PYTHON)
    return catalogue.build("python-hopshive").archive


@pytest.fixture(name="wheel", scope="module")
def the_wheel(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert environment.is_file()
    return write(ROOT, default_cache(), tmp_path_factory.mktemp("wheel"))


def test_it_has_the_package_and_no_tests(wheel: Path) -> None:
    assert wheel.name == f"hopshive-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    information = f"hopshive-{VERSION}.dist-info"
    package = {name for name in names if not name.startswith(information)}
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/hopshive").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert package == sources
    assert not [name for name in names if "test" in name.split("/")]


def test_it_installs_without_a_network_and_tells_its_version(wheel: Path, environment: Path, tmp_path: Path) -> None:
    with tarfile.open(environment) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "wheels" / wheel.name).unlink()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", f"--python={tmp_path}/venv/bin/python", "--isolated", "install"]
    done = subprocess.run(
        [*pip, "--no-index", f"--find-links={tmp_path}/wheels", "--no-cache-dir", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([tmp_path / "venv/bin/hopshive", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split()[-1] == VERSION
