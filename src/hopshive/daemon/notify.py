"""Reports a service's state to systemd: sd_notify(3), through the socket that the environment names."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Notifier:
    """Reports to systemd; does nothing in a process that systemd did not start."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._socket: socket.socket | None = None
        if address[:1] in ("/", "@"):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            # A name with @ is an abstract socket: the kernel wants a null byte in place of the @.
            self._address = "\0" + address[1:] if address[0] == "@" else address
            self._socket.setblocking(False)
        self._status = ""

    def ready(self) -> None:
        """Report that the service is up."""
        self._tell("READY=1")

    def stopping(self) -> None:
        """Report that the service is about to end."""
        self._tell("STOPPING=1")

    def alive(self) -> None:
        """Report a sign of life, which restarts the time of WatchdogSec."""
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Set the line of `systemctl status`; sent only when it changes."""
        if text != self._status:
            self._status = text
            self._tell(f"STATUS={' '.join(text.split())}")

    def _tell(self, message: str) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendto(message.encode(), self._address)
