"""The official release of a product instead of the set from Maven: verified, and repacked without its top directory."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.fetch import Download, as_url, temporary_beside
from hopshive.install.artifacts.lock import LockedFile, sha256_of
from hopshive.install.artifacts.pack import write_checksum
from hopshive.install.artifacts.product import Identity

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class OfficialTarball:
    """An entry of `artifacts_tarballs`: a path or URL, the sha256 of that file, and the version it holds."""

    product: str
    source: str
    sha256: str
    version: str

    def identity(self) -> Identity:
        """Its digest8 is the head of the tarball's own checksum."""
        return Identity(self.product, self.version, self.sha256[:8])

    def download(self, files: Path) -> Download:
        """How the tarball comes into the cache."""
        name = PurePosixPath(self.source).name
        url = as_url(self.source)
        return Download(LockedFile(self.source, self.sha256), url, files / "tarballs" / self.sha256 / name)


def parse_tarballs(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, OfficialTarball]:
    """The entries of the variable `artifacts_tarballs`; raises ArtifactError that names what is missing or wrong."""
    tarballs: dict[str, OfficialTarball] = {}
    for product, entry in entries.items():
        missing = {"source", "sha256", "version"} - set(entry)
        if missing:
            raise ArtifactError(f"artifacts_tarballs.{product} lacks {', '.join(sorted(missing))}.")
        if not _SHA256.fullmatch(str(entry["sha256"])):
            raise ArtifactError(f"artifacts_tarballs.{product}.sha256 is not 64 hexadecimal digits: {entry['sha256']}.")
        tarballs[product] = OfficialTarball(product, str(entry["source"]), str(entry["sha256"]), str(entry["version"]))
    return tarballs


def repack(tarball: Path, destination: Path) -> str:
    """Write the tarball's content, uncompressed and without its top directory; returns the archive's sha256."""
    top = ""
    with temporary_beside(destination) as (stream, temporary):
        with (
            tarfile.open(tarball, "r|*") as source,
            tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            for member in source:
                head, _, rest = member.name.removeprefix("./").partition("/")
                if top not in ("", head) or (not rest and not member.isdir()):
                    raise ArtifactError(
                        f"{tarball.name} has more than one top directory: {top or head} and {member.name}."
                    )
                top = head
                if rest:
                    archive.addfile(
                        _stripped(member, rest, top), source.extractfile(member) if member.isfile() else None
                    )
        stream.close()
        sha256 = sha256_of(temporary)
        temporary.replace(destination)
    write_checksum(destination, sha256)
    return sha256


def _stripped(member: tarfile.TarInfo, name: str, top: str) -> tarfile.TarInfo:
    header = copy(member)
    header.name = name
    header.uid = header.gid = 0
    header.uname = header.gname = "root"
    header.pax_headers = {}
    if member.islnk():
        header.linkname = member.linkname.removeprefix("./").removeprefix(top + "/")
    return header
