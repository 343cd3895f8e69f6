"""The metastore's Thrift port, under any name."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hopshive import tls
from hopshive.metastore.thrift import SocketStream, TType, call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attack.site import Site


@contextmanager
def metastore(site: Site, user: str = "") -> Iterator[SocketStream]:
    """A connection to the metastore's Thrift port under any name, or without one."""
    host = site.lab.one("metastore")
    with socket.create_connection((host.address, 9083), timeout=30) as plain:
        plain.settimeout(30)
        with tls.wrapped(plain, host.address, str(site.inventory.authority)) as connection:
            stream = SocketStream(connection)
            if user:
                call(
                    stream, "set_ugi", {1: (TType.STRING, user), 2: (TType.LIST, (TType.STRING, [user.split("__")[0]]))}
                )
            yield stream
