"""Looks for a secret where others could read it: on a host, by shell commands; on the controller, in what runs left.

Nothing here shows the secret: commands carry it encoded and keep it in a file of root's alone, findings name places.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

ROOTS = ("/etc", "/opt", "/var/lib/hopshive", "/var/cache/hopshive", "/var/log", "/tmp", "/run")  # noqa: S108 searched
# Their processes must know it.
OWNERS = ("root", "mysql", "hive")
LOGS = (".log", ".json", ".txt", ".out", ".xml", ".md")


@dataclass(frozen=True)
class Secret:
    """A secret that no failed assertion can show."""

    name: str
    value: str = field(repr=False)


def _with_needle(secret: Secret, search: str) -> str:
    """A shell command with the secret in the file "$needle", which is gone when it ends."""
    encoded = base64.b64encode(secret.value.encode()).decode()
    return (
        "umask 077; needle=$(mktemp) && trap 'rm -f \"$needle\"' EXIT"
        f' && printf %s {encoded} | base64 -d > "$needle" && test -s "$needle" && {{ {search}; }}'
    )


def command_lines(secret: Secret) -> str:
    """Prints the processes whose command line holds the secret."""
    search = (
        "for process in /proc/[0-9]*; do"
        ' if grep -qsaF -f "$needle" "$process/cmdline"; then echo "$process $(cat "$process/comm")"; fi; done'
    )
    return _with_needle(secret, search)


def environments(secret: Secret, owners: Iterable[str] = OWNERS) -> str:
    """Prints the processes of others than its owners whose environment holds the secret."""
    search = (
        'for process in /proc/[0-9]*; do user=$(stat -c %U "$process" 2>/dev/null);'
        f' case "$user" in {"|".join(owners)}) continue;; esac;'
        ' if grep -qsaF -f "$needle" "$process/environ"; then echo "$process $user $(cat "$process/comm")"; fi; done'
    )
    return _with_needle(secret, search)


def journal(secret: Secret) -> str:
    """Prints who wrote the secret into the journal."""
    return _with_needle(
        secret, "journalctl --no-pager --all --output short | grep -aF -f \"$needle\" | awk '{print $5}' | sort -u"
    )


def world_readable_files(secret: Secret, roots: Iterable[str] = ROOTS) -> str:
    """Prints the world-readable files that hold the secret. Archives are left out: they came from the controller."""
    search = (
        'for root in {roots}; do test ! -d "$root" || find "$root" -xdev -type f -perm -004 ! -name "*.jar"'
        ' ! -name "*.gz" -exec grep -lsaF -f "$needle" {{}} +; done; true'
    )
    return _with_needle(secret, search.format(roots=" ".join(roots)))


def logs(secret: Secret, directory: Path) -> Iterator[Path]:
    """The logs and reports below a directory of the controller that hold the secret."""
    for path in sorted(directory.rglob("*")):
        if path.suffix in LOGS and path.is_file() and secret.value.encode() in path.read_bytes():
            yield path


# The scans of a host, each a shell command.
OF_HOSTS = (command_lines, environments, journal, world_readable_files)


def found_on(host: Any, secrets: Iterable[Secret], command: Callable[[Secret], str]) -> dict[str, list[str]]:
    """The places where a scan found secrets, by the secret's name; `host` is testinfra's."""
    known = list(secrets)
    # A line is a pattern of its own. Each secret is looked for alone only if one was found.
    if not _places(host, Secret("any", "\n".join(secret.value for secret in known)), command):
        return {}
    found = {secret.name: _places(host, secret, command) for secret in known}
    return {name: places for name, places in found.items() if places}


def _places(host: Any, secret: Secret, command: Callable[[Secret], str]) -> list[str]:
    result = host.run(command(secret))
    assert result.rc in (0, 1), f"the scan for {secret.name} ended with {result.rc}: {result.stderr}"
    return [line for line in str(result.stdout).splitlines() if line]
