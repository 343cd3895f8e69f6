"""Python environments: which files a host needs, and the wheels that are built from source."""

from __future__ import annotations

import io
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.lock import LockedFile, sha256_of
from hopshive.install.artifacts.mirror import project_of
from hopshive.install.artifacts.pypi import candidates
from hopshive.install.artifacts.python_env import (
    PythonEnv,
    build_project,
    build_sdist,
    contents,
    env_names,
    load_env,
    select_files,
)

ARTIFACTS = Path(__file__).parents[4] / "artifacts"

# A build backend (PEP 517) in a few lines: real ones are for the network.
BACKEND = """
import zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        wheel.writestr("thing.py", "")
    print("a talkative backend")
    return name
"""


def names(*files: str) -> list[LockedFile]:
    return [LockedFile(f"packages/{name}", "0" * 64) for name in files]


def selected(*files: str, python: str = "3.11") -> list[str]:
    return [file.name for file in select_files(names(*files), python)]


@pytest.fixture
def tools(tmp_path: Path) -> list[Path]:
    wheel = tmp_path / "backend-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small_backend.py", BACKEND)
    return [wheel]


def test_the_wheel_for_the_hosts_python_is_chosen() -> None:
    wheels = [f"numpy-2.4-cp3{n}-cp3{n}-manylinux_2_28_x86_64.whl" for n in (11, 12)]
    assert selected(*wheels, python="3.12") == [wheels[1]]


def test_a_binary_wheel_is_better_than_a_source_archive() -> None:
    wheel = "numpy-2.4-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert selected("numpy-2.4.tar.gz", wheel) == [wheel]


def test_a_source_archive_does_when_there_is_no_wheel() -> None:
    assert selected("pyspark-4.3.0.tar.gz") == ["pyspark-4.3.0.tar.gz"]


@pytest.mark.parametrize(
    "platform", ["macosx_11_0_arm64", "win_amd64", "manylinux_2_28_aarch64", "musllinux_1_2_x86_64"]
)
def test_wheels_of_other_platforms_are_never_chosen(platform: str) -> None:
    with pytest.raises(ArtifactError, match=r"no file of numpy for Python 3\.11"):
        selected(f"numpy-2.4-cp311-cp311-{platform}.whl")


def test_a_wheel_that_needs_a_newer_glibc_than_the_oldest_host_is_not_chosen() -> None:
    with pytest.raises(ArtifactError, match="artifacts_python_version"):
        selected("numpy-2.4-cp311-cp311-manylinux_2_36_x86_64.whl")


@pytest.mark.parametrize("name", env_names(ARTIFACTS))
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_each_lock_has_a_file_of_each_project_for_each_python(name: str, python: str) -> None:
    env = load_env(ARTIFACTS, name, python)
    assert {project_of(file.name) for file in env.files()} == {project_of(file.name) for file in env.lock()}


@pytest.mark.parametrize("name", [*env_names(ARTIFACTS), "build"])
def test_each_locked_file_has_a_checksum_of_the_compiled_requirements(name: str) -> None:
    directory = ARTIFACTS / "python" / name
    requirements = (directory / "requirements.txt").read_text()
    assert [f for f in PythonEnv(name, directory, "", "3.11").lock() if f.sha256 not in requirements] == []


def test_the_archive_lists_each_wheel_with_its_own_checksum(tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    assert contents([wheel])["requirements.txt"] == f"thing==1.0 --hash=sha256:{sha256_of(wheel)}\n".encode()


def test_a_source_archive_becomes_a_wheel(tmp_path: Path, tools: list[Path]) -> None:
    pyproject = b"[build-system]\nrequires = []\nbuild-backend = 'small_backend'\n"
    with tarfile.open(tmp_path / "thing-1.0.tar.gz", "w:gz") as archive:
        header = tarfile.TarInfo("thing-1.0/pyproject.toml")
        header.size = len(pyproject)
        archive.addfile(header, io.BytesIO(pyproject))
    wheel = build_sdist(tmp_path / "thing-1.0.tar.gz", tools, tmp_path / "wheels/x")
    assert wheel == tmp_path / "wheels/x/thing-1.0-py3-none-any.whl"


def test_a_wheel_is_built_once(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/thing-1.0-py3-none-any.whl").touch()
    assert build_sdist(tmp_path / "not-read.tar.gz", [], tmp_path / "x").name == "thing-1.0-py3-none-any.whl"


def project(directory: Path, source: str) -> Path:
    (directory / "src/thing").mkdir(parents=True, exist_ok=True)
    (directory / "src/thing/__init__.py").write_text(source)
    (directory / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'small_backend'\n")
    return directory


def project_env(directory: Path, source: str) -> PythonEnv:
    (directory / "product.yml").write_text("project: true\n")
    (directory / "lock.txt").touch()
    return PythonEnv("hopshive", directory, "1.0", "3.11", project(directory, source))


def test_a_changed_source_of_the_package_is_another_build(tmp_path: Path) -> None:
    before = project_env(tmp_path, "x = 1\n").identity()
    assert project_env(tmp_path, "x = 2\n").identity() != before


def test_compiled_files_do_not_change_the_build(tmp_path: Path) -> None:
    env = project_env(tmp_path, "x = 1\n")
    before = env.identity()
    (tmp_path / "src/thing/__pycache__").mkdir()
    (tmp_path / "src/thing/__pycache__/x.pyc").write_bytes(b"compiled")
    assert env.identity() == before


def test_the_packages_wheel_is_built_without_touching_the_working_copy(tmp_path: Path, tools: list[Path]) -> None:
    working_copy = project(tmp_path / "repo", "")
    before = sorted(working_copy.rglob("*"))
    build_project(working_copy, tools, tmp_path / "wheels")
    assert sorted(working_copy.rglob("*")) == before


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="small_backend"):
        build_project(project(tmp_path / "repo", ""), [], tmp_path / "wheels")


def test_an_index_names_the_files_of_one_version(tmp_path: Path) -> None:
    page = tmp_path / "thing"
    page.mkdir()
    links = [f'<a href="../files/thing-{v}-py3-none-any.whl#sha256={"0" * 63}{v}">x</a>' for v in (1, 2)]
    (page / "index.html").write_text("\n".join(links))
    found = candidates(tmp_path.as_uri(), "thing", "2")
    assert [(file.name, file.sha256[-1]) for file in found] == [("thing-2-py3-none-any.whl", "2")]


def test_the_controllers_python_does_not_matter_for_the_choice() -> None:
    other = "3.12" if sys.version_info[:2] == (3, 11) else "3.11"
    tag = "cp" + other.replace(".", "")
    assert selected(f"numpy-2.4-{tag}-{tag}-manylinux2014_x86_64.whl", python=other)


def test_the_hosts_get_all_that_the_package_depends_on() -> None:
    """`pip install --no-deps` does not look for what is missing."""
    declared = tomllib.loads((ARTIFACTS.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    locked = {project_of(file.name) for file in load_env(ARTIFACTS, "hopshive", "3.11").files()}
    assert {canonicalize_name(Requirement(line).name) for line in declared} <= locked
