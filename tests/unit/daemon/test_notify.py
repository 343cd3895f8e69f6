"""What systemd is told, over the socket that it names."""

from __future__ import annotations

import os
import socket

from hopshive.daemon.notify import Notifier


def test_an_abstract_socket_is_told_and_no_socket_is_no_error() -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"hopshive-test-{os.getpid()}"
    listener.bind("\0" + name)
    notifier = Notifier({"NOTIFY_SOCKET": "@" + name})
    notifier.status("two\nlines")
    notifier.status("two\nlines")
    notifier.ready()
    assert [listener.recv(100) for _ in range(2)] == [b"STATUS=two lines", b"READY=1"]
    Notifier({}).ready()
    Notifier({"NOTIFY_SOCKET": "/not/there"}).ready()
