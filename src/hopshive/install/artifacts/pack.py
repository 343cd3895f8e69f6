"""Pack the files of a product into one archive: the same inputs give the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.fetch import temporary_beside
from hopshive.install.artifacts.lock import LockedFile, sha256_of
from hopshive.install.artifacts.product import Product, matches

# A file of the archive is a file of the cache, or the bytes of something that was unpacked or made.
Content = Path | bytes
# 1980-01-01, which zip tools can write too.
MTIME_S = 315_532_800
# Jars are compressed already; a higher level only costs time.
_GZIP_LEVEL = 1


def contents(product: Product, files: Iterable[LockedFile], repository: Path) -> dict[str, Content]:
    """The product's files by their place in it, from the files of the lock below `repository`."""
    placed: dict[str, Content] = {}
    for file in files:
        placement = product.placement(file.path)
        source = repository / file.path
        if placement.to is None:
            for name, data in _members(source, placement.unpack).items():
                _put(placed, name, data, product.name)
        else:
            _put(placed, str(PurePosixPath(placement.to) / file.name), source, product.name)
    for bundle in product.bundles:
        chosen = {PurePosixPath(name).name: content for name, content in placed.items() if matches(name, bundle.files)}
        _put(placed, bundle.archive, flat_tar_gz(chosen), product.name)
    return placed


def write_tar(files: Mapping[str, Content], destination: Path) -> str:
    """Write an uncompressed tar of regular files and their directories, owned by root; returns its sha256.

    The archive appears under its name when it is complete; `<destination>.sha256` is written after it.
    """
    with temporary_beside(destination) as (stream, temporary):
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for directory in sorted({str(parent) for name in files for parent in PurePosixPath(name).parents} - {"."}):
                archive.addfile(_header(directory, tarfile.DIRTYPE, 0o755, 0))
            for name in sorted(files):
                _add(archive, name, files[name])
        stream.close()
        sha256 = sha256_of(temporary)
        temporary.replace(destination)
    write_checksum(destination, sha256)
    return sha256


def write_checksum(archive: Path, sha256: str) -> None:
    """Write `<archive>.sha256`, which says that the archive is complete."""
    with temporary_beside(checksum_path(archive)) as (stream, temporary):
        stream.write(f"{sha256}  {archive.name}\n".encode())
        stream.close()
        temporary.replace(checksum_path(archive))


def recorded_checksum(archive: Path) -> str | None:
    """The sha256 that was recorded when the archive was packed; None if it is absent or changed since then."""
    record = checksum_path(archive)
    if not archive.is_file() or not record.is_file() or record.stat().st_mtime_ns < archive.stat().st_mtime_ns:
        return None
    return record.read_text(encoding="ascii").split()[0]


def checksum_path(archive: Path) -> Path:
    """Where an archive's checksum is recorded."""
    return archive.with_name(archive.name + ".sha256")


def flat_tar_gz(files: Mapping[str, Content]) -> bytes:
    """A tar.gz of files without directories, the same bytes for the same files."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=_GZIP_LEVEL, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name in sorted(files):
            _add(archive, name, files[name])
    return buffer.getvalue()


def _put(placed: dict[str, Content], name: str, content: Content, product: str) -> None:
    if name in placed:
        raise ArtifactError(f"Two files of {product} would be {name}: leave one out in its product.yml.")
    placed[name] = content


def _members(source: Path, heads: Mapping[str, str]) -> dict[str, bytes]:
    """The members of a jar or tarball whose names begin with one of `heads`, under the name that replaces the head."""
    found: dict[str, bytes] = {}
    for name, data in _read_archive(source, tuple(heads)):
        head = next(head for head in heads if name.startswith(head))
        found[heads[head] + name.removeprefix(head)] = data
    if not found:
        raise ArtifactError(f"{source.name} has no member that begins with {' or '.join(heads)}.")
    return found


def _read_archive(source: Path, heads: tuple[str, ...]) -> Iterable[tuple[str, bytes]]:
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as jar:
            for entry in jar.infolist():
                if entry.filename.startswith(heads) and not entry.is_dir():
                    yield entry.filename, jar.read(entry)
        return
    with tarfile.open(source) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() and member.name.startswith(heads) else None
            if stream is not None:
                yield member.name, stream.read()


def _add(archive: tarfile.TarFile, name: str, content: Content) -> None:
    if isinstance(content, bytes):
        archive.addfile(_header(name, tarfile.REGTYPE, 0o644, len(content)), io.BytesIO(content))
        return
    with content.open("rb") as stream:
        archive.addfile(_header(name, tarfile.REGTYPE, 0o644, content.stat().st_size), stream)


def _header(name: str, kind: bytes, mode: int, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type = kind
    header.mode = mode
    header.size = size
    header.mtime = MTIME_S
    header.uname = header.gname = "root"
    return header
