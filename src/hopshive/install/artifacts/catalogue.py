"""All that is installed, by name: products from Maven or from official tarballs, and Python environments."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import hopshive
from hopshive.install.artifacts import maven, mirror, pack, pypi, python_env, tarball
from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.fetch import Download, fetch_all
from hopshive.install.artifacts.lock import LockedFile, read_lock
from hopshive.install.artifacts.product import Identity, load_product, product_names

DEFAULT_PYTHON = "3.11"


@dataclass(frozen=True)
class Built:
    """An archive in the cache. `fetched` counts the files that had to be fetched; `packed` says whether it is new."""

    identity: Identity
    archive: Path
    sha256: str
    fetched: int
    packed: bool


@dataclass(frozen=True)
class Listed:
    """One file that a build needs, and where it would come from."""

    product: str
    url: str
    sha256: str


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Catalogue:
    """The repository's `artifacts/`, the cache, and where files come from."""

    artifacts: Path
    cache: Path
    sources: mirror.Sources = field(default_factory=mirror.Sources)
    tarballs: Mapping[str, tarball.OfficialTarball] = field(default_factory=dict)
    python_version: str = DEFAULT_PYTHON

    @property
    def names(self) -> list[str]:
        """Products, those that are only to be had as a tarball, then Python environments as `python-<name>`."""
        products = product_names(self.artifacts)
        return [
            *products,
            *(name for name in self.tarballs if name not in products),
            *(python_env.PREFIX + name for name in python_env.env_names(self.artifacts)),
        ]

    def identity(self, name: str) -> Identity:
        """Which build of a product the repository and the settings ask for; nothing is fetched or built."""
        self._require(name)
        if name in self.tarballs:
            return self.tarballs[name].identity()
        if name.startswith(python_env.PREFIX):
            return self._env(name).identity()
        return load_product(self.artifacts, name).identity()

    def archive(self, identity: Identity) -> Path:
        """Where the cache keeps the archive of a build."""
        return self.cache / "products" / identity.archive

    def find(self, name: str) -> Built | None:
        """The archive of the build that is asked for, if the cache has it."""
        identity = self.identity(name)
        sha256 = pack.recorded_checksum(self.archive(identity))
        return None if sha256 is None else Built(identity, self.archive(identity), sha256, fetched=0, packed=False)

    def build(self, name: str, progress: Progress = lambda *_: None) -> Built:
        """Fetch, verify and pack what is not in the cache yet. Only one process at a time builds in a cache."""
        with self._locked():
            if (built := self.find(name)) is not None:
                return built
            fetched = self._fetch(name, progress)
            identity = self.identity(name)
            sha256 = self._pack(name, self.archive(identity))
            return Built(identity, self.archive(identity), sha256, len(fetched), packed=True)

    def list_files(self, name: str) -> list[Listed]:
        """Every file that a build from an empty cache would fetch; asks no network."""
        self._require(name)
        if name in self.tarballs:
            official = self.tarballs[name]
            return [Listed(name, official.source, official.sha256)]
        if name.startswith(python_env.PREFIX):
            return [Listed(name, self.sources.python_address(file), file.sha256) for file in self._python_files(name)]
        files = load_product(self.artifacts, name).files()
        return [Listed(name, self.sources.maven_url(file), file.sha256) for file in files]

    def update(self, name: str) -> tuple[LockedFile, ...]:
        """Resolve again and rewrite the lock: a product with Maven, an environment (also python-build) with uv."""
        with self._locked():
            if name.startswith(python_env.PREFIX):
                directory = self.artifacts / "python" / name.removeprefix(python_env.PREFIX)
                return pypi.update_lock(directory, self.sources.index)
            self._require(name)
            product = load_product(self.artifacts, name)
            return maven.update_lock(product, self.sources.maven, self.cache / "maven", self.files / "maven2")

    def fill_mirror(self, directory: Path, progress: Progress = lambda *_: None) -> int:
        """Make `directory` serve all that a build from an empty cache fetches; returns how many files were added."""
        with self._locked():
            names = [name for name in self.names if name not in self.tarballs]
            for name in names:
                self._fetch(name, progress)
            envs = [name for name in names if name.startswith(python_env.PREFIX)]
            from_maven = {file for n in names if n not in envs for file in load_product(self.artifacts, n).files()}
            from_pypi = {file for name in envs for file in self._python_files(name)}
            return mirror.fill(directory, from_maven, from_pypi, self.files)

    @property
    def files(self) -> Path:
        """The directory of the cache with the fetched files, unchanged."""
        return self.cache / "files"

    def _require(self, name: str) -> None:
        if name not in self.names:
            raise ArtifactError(f"There is no product {name}; there are {', '.join(self.names)}.")

    def _env(self, name: str) -> python_env.PythonEnv:
        return python_env.load_env(self.artifacts, name.removeprefix(python_env.PREFIX), self.python_version)

    def _build_tools(self) -> tuple[LockedFile, ...]:
        """The files of the build tools, which run on the controller. They are pure Python: the same files for each version."""
        lock = read_lock(self.artifacts / "python" / python_env.BUILD_ENV / "lock.txt")
        return python_env.select_files(lock, self.python_version)

    def _python_files(self, name: str) -> list[LockedFile]:
        """The files of an environment and, when it has wheels to build, of the tools for that."""
        env = self._env(name)
        files = env.files()
        builds = env.project is not None or any(not file.name.endswith(".whl") for file in files)
        return sorted({*files, *(self._build_tools() if builds else ())})

    def _downloads(self, name: str) -> list[Download]:
        if name in self.tarballs:
            return [self.tarballs[name].download(self.files)]
        if name.startswith(python_env.PREFIX):
            missing = [file for file in self._python_files(name) if not self._python_path(file).is_file()]
            return [Download(file, self.sources.python_url(file), self._python_path(file)) for file in missing]
        files = load_product(self.artifacts, name).files()
        return [Download(file, self.sources.maven_url(file), self.files / "maven2" / file.path) for file in files]

    def _fetch(self, name: str, progress: Progress) -> list[Path]:
        downloads = self._downloads(name)
        done = iter(range(1, len(downloads) + 1))
        return fetch_all(downloads, lambda _: progress(name, next(done), len(downloads)))

    def _python_path(self, file: LockedFile) -> Path:
        return self.files / "pypi" / file.path

    def _pack(self, name: str, archive: Path) -> str:
        if name in self.tarballs:
            return tarball.repack(self.tarballs[name].download(self.files).destination, archive)
        if name.startswith(python_env.PREFIX):
            return pack.write_tar(python_env.contents(self._wheels(name)), archive)
        product = load_product(self.artifacts, name)
        return pack.write_tar(pack.contents(product, product.files(), self.files / "maven2"), archive)

    def _wheels(self, name: str) -> Iterable[Path]:
        env = self._env(name)
        tools = [self._python_path(file) for file in self._python_files(name) if file not in env.files()]
        for file in env.files():
            path = self._python_path(file)
            built = self.cache / "wheels" / file.sha256[:16]
            yield path if path.suffix == ".whl" else python_env.build_sdist(path, tools, built)
        if env.project is not None:
            yield python_env.build_project(env.project, tools, self.cache / "wheels" / env.identity().id)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / ".lock").open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def default_artifacts() -> Path:
    """The `artifacts/` of the repository that this package was installed from, or of the working directory."""
    beside_package = Path(hopshive.__file__).parents[2] / "artifacts"
    return beside_package if beside_package.is_dir() else Path.cwd() / "artifacts"


def default_cache() -> Path:
    """`HOPSHIVE_CACHE`, or ~/.cache/hopshive."""
    return Path(os.environ.get("HOPSHIVE_CACHE") or "~/.cache/hopshive").expanduser()
