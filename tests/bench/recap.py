"""The last lines of an ansible-playbook run: what became of each host."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"^(?P<host>\S+)\s+: ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)\s+failed=(?P<failed>\d+)"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class HostRecap:
    """The tasks of one host: those that ran well (`ok`, the changed ones among them), and the others."""

    host: str
    ok: int
    changed: int
    unreachable: int
    failed: int


def read(output: str) -> list[HostRecap]:
    """The recap in the output of ansible-playbook, a line a host; empty if the run ended before it."""
    found = []
    for line in output.rpartition("PLAY RECAP")[2].splitlines():
        if match := _LINE.match(_COLOUR.sub("", line)):
            counts = {name: int(match[name]) for name in ("ok", "changed", "unreachable", "failed")}
            found.append(HostRecap(match["host"], **counts))
    return found
