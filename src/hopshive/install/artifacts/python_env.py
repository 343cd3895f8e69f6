"""Python environments of the hosts: wheels that are locked, or built from locked sources, in one archive each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from hopshive.install.artifacts.errors import ArtifactError, MissingFileError
from hopshive.install.artifacts.lock import LockedFile, read_lock, sha256_of
from hopshive.install.artifacts.mirror import project_of
from hopshive.install.artifacts.pack import MTIME_S, Content
from hopshive.install.artifacts.product import Identity, digest_of

PREFIX = "python-"
# The tools that build wheels on the controller.
BUILD_ENV = "build"
# The hosts' Pythons that a lock has wheels for.
LOCKED_PYTHONS = ("3.11", "3.12", "3.13")
# Ubuntu 22.04 has glibc 2.35; no wheel needs a newer one.
_GLIBC_MINORS = range(35, 4, -1)
_BUILD_WHEEL = "import importlib, sys; m, _, o = sys.argv[1].partition(':'); b = importlib.import_module(m); \
b = getattr(b, o) if o else b; print(b.build_wheel(sys.argv[2]))"


@dataclass(frozen=True)
class PythonEnv:
    """One environment as `artifacts/python/<name>/` describes it, for the hosts' Python `python_version`."""

    name: str
    directory: Path
    version: str
    python_version: str
    # The repository whose own package is part of the environment.
    project: Path | None = None

    def lock(self) -> tuple[LockedFile, ...]:
        """All files of the lock, for all Pythons."""
        return read_lock(self.directory / "lock.txt")

    def files(self) -> tuple[LockedFile, ...]:
        """The one file of each distribution that suits the hosts' Python."""
        return select_files(self.lock(), self.python_version)

    def identity(self) -> Identity:
        """The identity of the build that lock, Python and, for the project's own package, its source give."""
        inputs = [(self.directory / "product.yml").read_bytes(), self.python_version.encode()]
        inputs.append("".join(f"{file.sha256}\n" for file in self.files()).encode())
        if self.project is not None:
            for path in project_sources(self.project):
                inputs += [path.relative_to(self.project).as_posix().encode(), path.read_bytes()]
        return Identity(PREFIX + self.name, self.version, digest_of(inputs))


def load_env(artifacts: Path, name: str, python_version: str) -> PythonEnv:
    """Read `<artifacts>/python/<name>`; raises ArtifactError when it is missing or malformed."""
    path = artifacts / "python" / name / "product.yml"
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        project = artifacts.parent if data.get("project") else None
        version = project_version(project) if project else str(data["version"])
    except FileNotFoundError:
        raise MissingFileError(path, "there is no such Python environment") from None
    except (KeyError, AttributeError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path} does not describe a Python environment: {error!r}.") from error
    return PythonEnv(name, path.parent, version, python_version, project)


def env_names(artifacts: Path) -> list[str]:
    """The environments of a repository that hosts get, in the order of their names."""
    return sorted(path.parent.name for path in artifacts.glob("python/*/product.yml"))


def project_version(project: Path) -> str:
    """The version in a project's pyproject.toml."""
    return str(tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def project_sources(project: Path) -> list[Path]:
    """What the wheel of the project is made of, sorted."""
    sources = (path for path in (project / "src").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return [project / "pyproject.toml", *sorted(sources)]


def select_files(lock: Iterable[LockedFile], python_version: str) -> tuple[LockedFile, ...]:
    """The best wheel for each project, or its source archive if no wheel fits.

    Raises ArtifactError if a project has neither; the message says what to do.
    """
    ranks = {tag: rank for rank, tag in enumerate(host_tags(python_version))}
    best: dict[str, tuple[int, LockedFile]] = {}
    seen: set[str] = set()
    for file in lock:
        project = project_of(file.name)
        seen.add(project)
        rank = _rank(file.name, ranks)
        if rank is not None and (project not in best or rank < best[project][0]):
            best[project] = (rank, file)
    if missing := seen - best.keys():
        raise ArtifactError(
            f"The lock has no file of {', '.join(sorted(missing))} for Python {python_version}: "
            f"set artifacts_python_version to one of {', '.join(LOCKED_PYTHONS)}."
        )
    return tuple(sorted(file for _, file in best.values()))


def host_tags(python_version: str) -> list[Tag]:
    """The wheel tags of a host with this CPython on x86_64 Linux, best first."""
    major, minor = (int(part) for part in python_version.split(".")[:2])
    platforms = [*(f"manylinux_2_{minor}_x86_64" for minor in _GLIBC_MINORS), "manylinux2014_x86_64", "linux_x86_64"]
    return [
        *cpython_tags((major, minor), platforms=platforms),
        *compatible_tags((major, minor), f"cp{major}{minor}", platforms),
    ]


def contents(wheels: Iterable[Path]) -> dict[str, Content]:
    """The files of an environment's archive: its wheels, and requirements.txt with a checksum of each."""
    placed: dict[str, Content] = {}
    lines: list[str] = []
    for wheel in wheels:
        name, version, _, _ = parse_wheel_filename(wheel.name)
        lines.append(f"{name}=={version} --hash=sha256:{sha256_of(wheel)}\n")
        placed[f"wheels/{wheel.name}"] = wheel
    return placed | {"requirements.txt": "".join(sorted(lines)).encode()}


def build_sdist(sdist: Path, tools: Sequence[Path], destination: Path) -> Path:
    """Build the wheel of a verified source archive into the directory `destination`, once."""
    if built := sorted(destination.glob("*.whl")):
        return built[0]
    with tempfile.TemporaryDirectory(prefix="hopshive-sdist-") as temporary:
        with tarfile.open(sdist) as archive:
            archive.extractall(temporary)  # noqa: S202 - its sha256 is that of the lock
        (source,) = (path for path in Path(temporary).iterdir() if path.is_dir())
        return _build_wheel(source, tools, destination)


def build_project(project: Path, tools: Sequence[Path], destination: Path) -> Path:
    """Build the wheel of this repository's package from nothing but its declared sources."""
    with tempfile.TemporaryDirectory(prefix="hopshive-project-") as temporary:
        source = Path(temporary)
        for path in project_sources(project):
            copy = source / path.relative_to(project)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        # Named by pyproject.toml; its text would be in the wheel and is not part of the build's identity.
        (source / "README.md").touch()
        return _build_wheel(source, tools, destination)


def _build_wheel(source: Path, tools: Sequence[Path], destination: Path) -> Path:
    """Call the build backend of `source` (PEP 517) with the locked tools; the wheel appears when it is complete."""
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hopshive-build-", dir=destination.parent) as temporary:
        path = Path(temporary, "tools")
        for tool in tools:
            with zipfile.ZipFile(tool) as wheel:
                wheel.extractall(path)  # noqa: S202 - its sha256 is that of the lock
        command = [sys.executable, "-c", _BUILD_WHEEL, _backend(source), temporary]
        environment = os.environ | {"PYTHONPATH": str(path), "SOURCE_DATE_EPOCH": str(MTIME_S)}
        done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ArtifactError(f"Cannot build a wheel of {source.name}: {done.stderr.strip()[-2000:]}")
        name = done.stdout.split()[-1]
        Path(temporary, name).replace(destination / name)
    return destination / name


def _backend(source: Path) -> str:
    pyproject = source / "pyproject.toml"
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8")) if pyproject.exists() else {}
    return str(settings.get("build-system", {}).get("build-backend", "setuptools.build_meta:__legacy__"))


def _rank(file_name: str, ranks: dict[Tag, int]) -> int | None:
    """How well a file suits: the place of its best tag, after all wheels for a source archive, None if not at all."""
    if not file_name.endswith(".whl"):
        return len(ranks)
    places = [ranks[tag] for tag in parse_wheel_filename(file_name)[3] if tag in ranks]
    return min(places, default=None)


def distribution(file_name: str) -> tuple[str, str]:
    """The normalized project and the version of a distribution's file name."""
    parse = parse_wheel_filename if file_name.endswith(".whl") else parse_sdist_filename
    parsed = parse(file_name)
    return canonicalize_name(parsed[0]), str(parsed[1])
