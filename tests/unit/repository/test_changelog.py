"""CHANGELOG.md keeps the form of keepachangelog.com, and names no release beyond the project's version."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).parents[3]
# In the order in which a release lists them.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
RELEASE = re.compile(r"\[(?P<version>\d+\.\d+\.\d+)\] - (?P<day>\d{4}-\d{2}-\d{2})( \[YANKED\])?")
# A subject may be code with an asterisk in it.
ENTRY = re.compile(r"\*\*(`[^`]+`|[^*])+\*\*: .+ \*\*To do\*\*: .+\.")


def sections(text: str, mark: str) -> list[tuple[str, str]]:
    """Heading and text of each section of one level, in their order."""
    parts = re.split(rf"^{mark} (.+)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def entries(text: str) -> list[str]:
    """The entries of a section, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"^- ", text, flags=re.MULTILINE) if part.strip()]


def faults(text: str, version: str, today: date) -> list[str]:
    """What in a changelog is not in the form, a sentence each."""
    found = []
    releases = sections(text, "##")
    if not releases or releases[0][0] != "[Unreleased]":
        found.append("the first section is not `## [Unreleased]`")
    headings = [heading for heading, _ in releases if heading != "[Unreleased]"]
    matches = [RELEASE.fullmatch(heading) for heading in headings]
    found += [
        f"not `[version] - date`: {heading}" for heading, match in zip(headings, matches, strict=True) if not match
    ]
    versions = [Version(match["version"]) for match in matches if match]
    days = [date.fromisoformat(match["day"]) for match in matches if match]
    if versions != sorted(set(versions), reverse=True) or days != sorted(days, reverse=True):
        found.append("the newest release does not come first")
    if versions and versions[0] > Version(version):
        found.append(f"{versions[0]} is released, and the project's version is {version}")
    if days and days[0] > today:
        found.append(f"{days[0]} has not come yet")
    for release, body in releases:
        kinds = [kind for kind, _ in sections(body, "###")]
        if kinds != [kind for kind in KINDS if kind in kinds]:
            found.append(
                f"{release} has {', '.join(kinds)}: allowed, once each and in this order, are {', '.join(KINDS)}"
            )
        for kind, listed in sections(body, "###"):
            found += [] if entries(listed) else [f"{release} has no entry below {kind}"]
            found += [
                f"{release}, {kind}: not `**subject**: change. **To do**: what.`: {entry}"
                for entry in entries(listed)
                if not ENTRY.fullmatch(entry)
            ]
    return found


def test_the_changelog_keeps_its_form() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert faults((ROOT / "CHANGELOG.md").read_text(), version, date.today()) == []


RELEASED = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01
### Added
- **A thing**: is new.
  **To do**: nothing.

## [0.1.0] - 2026-11-01
### Fixed
- **`cluster_*_mb`**: counts
  right. **To do**: set it.
"""


def test_releases_are_read() -> None:
    assert faults(RELEASED, "0.2.0", date(2026, 12, 1)) == []


def test_a_release_is_neither_beyond_the_version_nor_beyond_today() -> None:
    assert faults(RELEASED, "0.1.9", date(2026, 11, 30)) == [
        "0.2.0 is released, and the project's version is 0.1.9",
        "2026-12-01 has not come yet",
    ]


def test_what_is_out_of_form_is_named() -> None:
    text = RELEASED.replace("## [Unreleased]", "").replace("0.1.0] - 2026-11-01", "0.3.0] - 2026-11-01")
    text = text.replace("### Fixed", "### Bugs").replace("  **To do**: nothing.", "")
    text += "\n### Security\n\n## 0.0.1\n"
    assert faults(text, "0.4.0", date(2026, 12, 1)) == [
        "the first section is not `## [Unreleased]`",
        "not `[version] - date`: 0.0.1",
        "the newest release does not come first",
        "[0.2.0] - 2026-12-01, Added: not `**subject**: change. **To do**: what.`: **A thing**: is new.",
        "[0.3.0] - 2026-11-01 has Bugs, Security: allowed, once each and in this order, are "
        "Added, Changed, Deprecated, Removed, Fixed, Security",
        "[0.3.0] - 2026-11-01 has no entry below Security",
    ]
