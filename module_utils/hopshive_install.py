"""Directories of versions on a host: `<dest>/<id>` for each, and the link `<dest>/current` to one of them.

Only the standard library, and nothing newer than Python 3.10: it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

CURRENT = "current"
_BLOCK = 1 << 20
_TEMPORARY = ".unpacking-"


class InstallError(Exception):
    """Why nothing was installed, as a sentence for the operator."""


def sha256_of(path: Path) -> str:
    """The sha256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def verify(archive: Path, sha256: str) -> None:
    """Raise InstallError with the file and both sums unless the archive has this checksum."""
    if not archive.is_file():
        raise InstallError(
            f"{archive} is not on this host: playbooks/artifacts.yml builds it, the role artifacts copies it."
        )
    actual = sha256_of(archive)
    if actual != sha256:
        raise InstallError(
            f"Wrong checksum of {archive}: expected sha256 {sha256}, actual {actual}. Nothing was changed."
        )


def current_id(dest: Path) -> str | None:
    """The id that `current` points to; None if there is no such link."""
    link = dest / CURRENT
    return link.readlink().name if link.is_symlink() else None


def switch(dest: Path, build_id: str) -> None:
    """Let `current` point to a build; at no moment is there no link."""
    if (dest / CURRENT).exists() and not (dest / CURRENT).is_symlink():
        raise InstallError(f"{dest / CURRENT} is not a link: move it away.")
    link = dest / f".{CURRENT}-{os.getpid()}"
    link.unlink(missing_ok=True)
    link.symlink_to(build_id)
    link.replace(dest / CURRENT)


def installed(dest: Path, marker: str = "") -> list[str]:
    """The complete builds, newest last; `marker` is a file that only a complete one has."""
    if not dest.is_dir():
        return []
    found = [path for path in dest.iterdir() if path.is_dir() and not path.is_symlink() and path.name[:1] != "."]
    complete = [path for path in found if not marker or (path / marker).exists()]
    return [path.name for path in sorted(complete, key=lambda path: (path.stat().st_mtime, path.name))]


def superseded(builds: list[str], keep_ids: set[str], keep: int) -> list[str]:
    """Which builds to remove so that, besides `keep_ids`, the `keep` newest stay."""
    old = [build for build in builds if build not in keep_ids]
    return old[: max(0, len(old) - keep)]


def remove(dest: Path, builds: list[str]) -> None:
    """Remove builds and what interrupted runs have left behind."""
    leftovers = [path.name for path in dest.glob(f"{_TEMPORARY}*")]
    for name in [*builds, *leftovers]:
        shutil.rmtree(dest / name)


def unpack_to(archive: Path, dest: Path, build_id: str) -> None:
    """Unpack into a directory beside and rename it to `<dest>/<build_id>`; an interrupted run leaves no such directory."""
    dest.mkdir(parents=True, exist_ok=True, mode=0o755)
    temporary = Path(tempfile.mkdtemp(dir=dest, prefix=_TEMPORARY))
    try:
        temporary.chmod(0o755)
        unpack(archive, temporary)
        # A time that says when it was installed, so that the newest builds can be kept.
        os.utime(temporary)
        temporary.rename(dest / build_id)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def unpack(archive: Path, directory: Path) -> None:
    """Unpack a tar; a member that would leave the directory is an error."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                _require_inside(member)
                members.extract(member, directory, numeric_owner=os.geteuid() == 0)
    except (tarfile.TarError, EOFError) as error:
        raise InstallError(f"{archive} is not a complete tar archive: {error}.") from error


def _require_inside(member: tarfile.TarInfo) -> None:
    name = PurePosixPath(member.name)
    target = name.parent / member.linkname if member.issym() else PurePosixPath(member.linkname)
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise InstallError(f"{member.name} is neither a file nor a directory nor a link.")
    for path in (name, target):
        if path.is_absolute() or os.path.normpath(path).split("/")[0] == "..":
            raise InstallError(f"{member.name} leads out of the archive.")
