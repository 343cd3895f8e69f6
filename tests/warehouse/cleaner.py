"""hopshive's daemon and commands on a host of the group `cleaner`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.warehouse.hosts import CommandError
from tests.warehouse.service import Service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.warehouse.hosts import Host

UNIT = "hopshive-cleaner"
CONFIG = "/etc/hopshive/hopshive.yml"


@dataclass(frozen=True)
class Difference:
    """What `hopshive check` found: `kind`, and all that it says of it."""

    kind: str
    text: str
    content: dict[str, Any] = field(hash=False, default_factory=dict)


class Cleaner(Service):
    """The daemon and the command of one host."""

    def __init__(self, host: Host) -> None:
        super().__init__(host, UNIT)

    @property
    def config(self) -> str:
        """The text of the settings that it starts with."""
        return self.host.run("cat", CONFIG).stdout

    @config.setter
    def config(self, text: str) -> None:
        # Written in place, so that owner and mode stay.
        self.host.run("sh", "-c", f"cat >{CONFIG}", stdin=text)

    def command(self, *arguments: str, check: bool = True, timeout: float = 300) -> str:
        """What `hopshive ...` prints. Raises CommandError with what it says on standard error."""
        return self.host.run("hopshive", *arguments, check=check, timeout=timeout).stdout

    def status(self) -> dict[str, Any]:
        """`hopshive status --json`."""
        return self._told("status")

    def check(self) -> list[Difference]:
        """`hopshive check --json`: the differences between file system and metastore."""
        found = self._told("check")["differences"]
        return [Difference(str(one["kind"]), json.dumps(one, sort_keys=True), one) for one in found]

    def _told(self, command: str) -> dict[str, Any]:
        """The JSON of a command whose exit code says what it found."""
        done = self.host.run("hopshive", command, "--json", check=False)
        try:
            content: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            said = done.stderr.strip() or done.stdout
            raise CommandError(f"hopshive {command}: exit {done.returncode}: {said}") from None
        return content


def merged(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with changes, mapping by mapping."""
    both = dict(settings)
    for name, value in changes.items():
        both[name] = merged(both.get(name) or {}, value) if isinstance(value, dict) else value
    return both
