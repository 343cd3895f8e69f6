"""What a product is made of: `artifacts/<product>/product.yml` and the identity that follows from it and its lock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from hopshive.install.artifacts.errors import ArtifactError, MissingFileError
from hopshive.install.artifacts.lock import LockedFile, read_lock

# Part of every identity: an archive that is packed in another way is another archive.
PACK_FORMAT = "hopshive-pack-1"


@dataclass(frozen=True)
class Identity:
    """Which build of a product: its directory on a host is named by `id`, its archive in the cache by all three."""

    product: str
    version: str
    digest: str

    @property
    def id(self) -> str:
        return f"{self.version}-{self.digest}"

    @property
    def archive(self) -> str:
        return f"{self.product}-{self.id}.tar"


@dataclass(frozen=True)
class Exclusion:
    """Files that Maven resolves and that the lock leaves out."""

    files: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Placement:
    """Where the files that match a pattern go: into the directory `to`, or unpacked by the heads of their members."""

    files: tuple[str, ...]
    to: str | None
    unpack: Mapping[str, str]


@dataclass(frozen=True)
class Bundle:
    """A flat tar.gz that is made of the placed files and becomes part of the product."""

    archive: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Product:
    """One product as `artifacts/<name>/` describes it."""

    name: str
    directory: Path
    version: str
    exclude: tuple[Exclusion, ...]
    layout: tuple[Placement, ...]
    bundles: tuple[Bundle, ...]

    @property
    def lock_path(self) -> Path:
        return self.directory / "lock.txt"

    @property
    def pom(self) -> Path:
        return self.directory / "pom.xml"

    def files(self) -> tuple[LockedFile, ...]:
        """The files of the lock."""
        return read_lock(self.lock_path)

    def identity(self) -> Identity:
        """The identity of the build that lock and layout give; no file but these two is read."""
        inputs = [self.directory / "product.yml", self.lock_path]
        return Identity(self.name, self.version, digest_of(_content(path) for path in inputs))

    def placement(self, path: str) -> Placement:
        """The first line of the layout that matches a path of the repository."""
        for placement in self.layout:
            if matches(path, placement.files):
                return placement
        raise ArtifactError(f"No line of `layout` in {self.directory / 'product.yml'} matches {path}.")

    def excludes(self, path: str) -> bool:
        """Whether a file that Maven resolved stays out of the lock."""
        return any(matches(path, exclusion.files) for exclusion in self.exclude)


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches one of the shell patterns, whose `*` also matches `/`."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def digest_of(inputs: Iterable[bytes]) -> str:
    """The digest8 of a build: the head of a sha256 over its inputs and the pack format."""
    digest = hashlib.sha256(PACK_FORMAT.encode())
    for content in inputs:
        digest.update(b"\0%d\0" % len(content))
        digest.update(content)
    return digest.hexdigest()[:8]


def load_product(artifacts: Path, name: str) -> Product:
    """Read `<artifacts>/<name>/product.yml`; raises ArtifactError when it is missing or malformed."""
    path = artifacts / name / "product.yml"
    try:
        data: Any = yaml.safe_load(_content(path))
        return Product(
            name=name,
            directory=path.parent,
            version=str(data["version"]),
            exclude=tuple(Exclusion(tuple(line["files"]), line["reason"]) for line in data.get("exclude", ())),
            layout=tuple(
                Placement(tuple(line["files"]), line.get("to"), dict(line.get("unpack", {}))) for line in data["layout"]
            ),
            bundles=tuple(Bundle(line["archive"], tuple(line["files"])) for line in data.get("bundles", ())),
        )
    except (KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path} does not describe a product: {error!r}.") from error


def product_names(artifacts: Path) -> list[str]:
    """The products of a repository that come from Maven, in the order of their names."""
    return sorted(path.parent.name for path in artifacts.glob("*/pom.xml"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingFileError(path, "it is part of a product's description") from None
