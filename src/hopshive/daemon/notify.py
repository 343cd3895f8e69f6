"""What a service of systemd tells its manager: sd_notify(3), by the socket that it names in the environment."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Notifier:
    """Tells systemd how the service is; tells nobody where it was not started by systemd."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._socket: socket.socket | None = None
        if address[:1] in ("/", "@"):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            # A name that begins with @ is not in the file system: a null byte stands for it.
            self._address = "\0" + address[1:] if address[0] == "@" else address
            self._socket.setblocking(False)
        self._status = ""

    def ready(self) -> None:
        """The service is up."""
        self._tell("READY=1")

    def stopping(self) -> None:
        """It is about to end."""
        self._tell("STOPPING=1")

    def alive(self) -> None:
        """It is not hung: WatchdogSec begins anew."""
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`; told when it changes."""
        if text != self._status:
            self._status = text
            self._tell(f"STATUS={' '.join(text.split())}")

    def _tell(self, message: str) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendto(message.encode(), self._address)
