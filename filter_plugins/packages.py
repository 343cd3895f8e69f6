"""Filters over what apt, dpkg and the artifacts' list print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def apt_mirror(lines: Iterable[str], label: str) -> str:
    """The first mirror of an archive (`Debian`, `Debian-Security`) that is reached over HTTP; empty if there is none.

    `lines` come from `apt-get indextargets --format "$(LABEL) $(REPO_URI)"`.
    """
    for line in lines:
        named, _, address = line.partition(" ")
        if named == label and address.startswith(("http://", "https://")):
            return address.strip()
    return ""


def not_installed(packages: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The packages that are not installed.

    `lines` come from `dpkg-query --show --showformat '${Package} ${db:Status-Status}\\n'`.
    """
    installed = {line.split()[0] for line in lines if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def sha256sum_lines(files: Iterable[Mapping[str, str]]) -> list[str]:
    """Files, each with `sha256` and `url`, as lines that `sha256sum` would print."""
    return [f"{file['sha256']}  {file['url']}" for file in files]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"apt_mirror": apt_mirror, "not_installed": not_installed, "sha256sum_lines": sha256sum_lines}
