"""Compile the requirements of a Python environment and write its lock: for `update` only."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.lock import LockedFile, format_lock
from hopshive.install.artifacts.mirror import index_links
from hopshive.install.artifacts.python_env import LOCKED_PYTHONS, distribution, select_files

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s\\;]+)", re.MULTILINE)


def update_lock(directory: Path, index: str) -> tuple[LockedFile, ...]:
    """Compile requirements.in to requirements.txt, choose the hosts' files of each pin, and rewrite lock.txt."""
    uv = shutil.which("uv")
    if uv is None:
        raise ArtifactError("`uv` is not on the PATH: an update of a Python lock needs it (requirements/dev.txt).")
    command = [
        uv, "pip", "compile", "--quiet", "--upgrade", "--generate-hashes", "--no-annotate", "--no-header",
        f"--python-version={LOCKED_PYTHONS[0]}", f"--index-url={index}", "--output-file=requirements.txt",
        "requirements.in",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ArtifactError(f"uv cannot compile {directory / 'requirements.in'}: {done.stderr.strip()}")
    requirements = (directory / "requirements.txt").read_text(encoding="utf-8")
    files = sorted(
        file
        for name, version in _PIN.findall(requirements)
        for file in choose_files(candidates(index, canonicalize_name(name), version))
    )
    for file in files:
        if file.sha256 not in requirements:
            raise ArtifactError(f"The index names {file.name} with a checksum that uv did not see: {file.sha256}.")
    (directory / "lock.txt").write_text(format_lock(files), encoding="utf-8")
    return tuple(files)


def candidates(index: str, project: str, version: str) -> list[LockedFile]:
    """The files of one version of a project that an index names with their sha256."""
    found: list[LockedFile] = []
    for link in index_links(index, project):
        url = urlsplit(link)
        file = LockedFile(url.path.lstrip("/"), parse_qs(url.fragment).get("sha256", [""])[0])
        try:
            if file.sha256 and distribution(file.name) == (project, version):
                found.append(file)
        except (InvalidSdistFilename, InvalidWheelFilename):
            continue  # old kinds of distributions, such as eggs
    return found


def choose_files(files: list[LockedFile]) -> set[LockedFile]:
    """The files that the hosts' Pythons need, each counted once."""
    return {file for python_version in LOCKED_PYTHONS for file in select_files(files, python_version)}
