"""Run the programs of NDB Cluster."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Lines of a program's output that a message quotes at most.
_QUOTED_LINES = 6


class NdbError(Exception):
    """A backup or restore failed or cannot be done; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Tools:
    """NDB Cluster's programs. `directory`: where they lie; `connect`: the management node, as host:port."""

    directory: Path
    connect: str

    def run(self, program: str, *arguments: str, seconds: float | None = None) -> str:
        """What a program printed. Raises NdbError with its last lines if it failed."""
        argv = [str(self.directory / program), f"--ndb-connectstring={self.connect}", *arguments]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, timeout=seconds)
        except OSError as error:
            raise NdbError(f"{argv[0]} cannot be run: {error.strerror}.") from None
        except subprocess.TimeoutExpired:
            raise NdbError(f"{program} had not ended after {seconds:g} s and was stopped.") from None
        output = done.stdout + done.stderr
        if done.returncode:
            raise NdbError(f"{program} failed: {last_lines(output)}")
        return output


def last_lines(output: str) -> str:
    """The end of an output, as one line of a message."""
    lines = [line.strip(" *\t") for line in output.splitlines() if line.strip(" *\t")]
    return " | ".join(lines[-_QUOTED_LINES:]) or "it printed nothing."
