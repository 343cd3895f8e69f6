"""Where files come from: the public repositories, or one mirror that serves both; and how a mirror is filled."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape, unescape
from pathlib import Path, PurePosixPath
from urllib.parse import urldefrag, urljoin

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.fetch import as_url, read_url
from hopshive.install.artifacts.lock import LockedFile

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
PYPI = "https://pypi.org/simple"
PYPI_FILES = "https://files.pythonhosted.org"
_LINK = re.compile(r"<a\s[^>]*?href\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)


@dataclass(frozen=True)
class Sources:
    """The repositories that files are fetched from.

    With a mirror, `<mirror>/maven2` has Maven's layout and `<mirror>/pypi/simple` is a package index (PEP 503), so that
    a proxy of a repository manager will do as well as a directory that `hopshive artifacts mirror` has filled.
    """

    mirror: str = ""

    @property
    def maven(self) -> str:
        return f"{as_url(self.mirror)}/maven2" if self.mirror else MAVEN_CENTRAL

    @property
    def index(self) -> str:
        return f"{as_url(self.mirror)}/pypi/simple" if self.mirror else PYPI

    def maven_url(self, file: LockedFile) -> str:
        """The URL of a file that is locked by its path in a Maven repository."""
        return f"{self.maven}/{file.path}"

    def python_url(self, file: LockedFile) -> str:
        """The URL of a file that is locked by its path on files.pythonhosted.org; a mirror is asked for its own."""
        if not self.mirror:
            return f"{PYPI_FILES}/{file.path}"
        project = project_of(file.name)
        for url in index_links(self.index, project):
            if PurePosixPath(urldefrag(url).url).name == file.name:
                return urldefrag(url).url
        raise ArtifactError(f"The mirror's index of {project} ({self.index}/{project}/) does not name {file.name}.")

    def python_address(self, file: LockedFile) -> str:
        """Where a Python file would be fetched from, said without asking a mirror for the last part."""
        return f"{self.index}/{project_of(file.name)}/#{file.name}" if self.mirror else self.python_url(file)


def project_of(file_name: str) -> str:
    """The normalized project (PEP 503) of a wheel's or a source archive's file name."""
    stem = file_name.removesuffix(".tar.gz").removesuffix(".zip")
    project = file_name.split("-", 1)[0] if file_name.endswith(".whl") else stem.rsplit("-", 1)[0]
    return re.sub(r"[-_.]+", "-", project).lower()


@lru_cache(maxsize=256)
def index_links(index: str, project: str) -> tuple[str, ...]:
    """The absolute URLs that an index names for a project, with their `#sha256=` fragments."""
    page = f"{index}/{project}/"
    document = page + "index.html" if page.startswith("file:") else page
    return tuple(urljoin(page, unescape(link)) for link in _LINK.findall(read_url(document, "text/html").decode()))


def fill(directory: Path, maven: Iterable[LockedFile], python: Iterable[LockedFile], files: Path) -> int:
    """Make `directory` a mirror of the cache's files; returns how many files were added."""
    added = 0
    for file in maven:
        added += _copy(files / "maven2" / file.path, directory / "maven2" / file.path)
    projects: dict[str, list[LockedFile]] = {}
    for file in python:
        added += _copy(files / "pypi" / file.path, directory / "pypi" / file.path)
        projects.setdefault(project_of(file.name), []).append(file)
    simple = directory / "pypi" / "simple"
    _write_index(simple, [f'<a href="{escape(project)}/">{escape(project)}</a>' for project in sorted(projects)])
    for project, members in projects.items():
        links = [f'<a href="../../{escape(f.path)}#sha256={f.sha256}">{escape(f.name)}</a>' for f in sorted(members)]
        _write_index(simple / project, links)
    return added


def _copy(source: Path, destination: Path) -> int:
    if destination.is_file() and destination.stat().st_size == source.stat().st_size:
        return 0
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = destination.with_name(f".{destination.name}.{os.getpid()}")
    shutil.copyfile(source, temporary)
    temporary.replace(destination)
    return 1


def _write_index(directory: Path, links: list[str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    body = "<br>\n".join(links)
    (directory / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{body}\n</body></html>\n", encoding="utf-8")
