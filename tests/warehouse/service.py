"""A daemon as systemd runs it on one host."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.warehouse.hosts import Host

# Seconds in which systemd has started it again (RestartSec).
RESTARTED = 30


class Service:
    """A unit of systemd on one host."""

    def __init__(self, host: Host, unit: str) -> None:
        self.host = host
        self.unit = unit

    def restart(self) -> None:
        """Restart in order."""
        self.host.run("systemctl", "reset-failed", self.unit, check=False)
        self.host.run("systemctl", "restart", self.unit)

    def start(self) -> None:
        """Start it; returns when the unit says so."""
        self.host.run("systemctl", "reset-failed", self.unit, check=False)
        self.host.run("systemctl", "start", self.unit)

    def stop(self) -> None:
        """Stop it in order."""
        self.host.run("systemctl", "stop", self.unit)

    def kill(self) -> None:
        """kill -9; systemd starts it again after a while (RestartSec), `start` at once."""
        self.signal("KILL")

    def pause(self) -> None:
        """SIGSTOP: it is there and does nothing, as a host that swaps or a virtual machine that is moved."""
        self.signal("STOP")

    def resume(self) -> None:
        """SIGCONT."""
        self.signal("CONT")

    def signal(self, name: str) -> None:
        """Send a signal, once systemd has started it again after the last one."""
        deadline = time.monotonic() + RESTARTED
        while not self.is_running() and time.monotonic() < deadline:
            time.sleep(0.2)
        self.host.run("systemctl", "kill", "--kill-who=main", f"--signal={name}", self.unit)

    def is_running(self) -> bool:
        """Whether the unit is active."""
        return self.host.run("systemctl", "is-active", "--quiet", self.unit, check=False).returncode == 0

    def journal(self, lines: int = 100) -> str:
        """What it logged last."""
        return self.host.run("journalctl", "--no-pager", "--output=short-iso", "-n", str(lines), "-u", self.unit).stdout
