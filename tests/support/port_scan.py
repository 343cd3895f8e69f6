"""Which TCP ports of a host are open as seen from an address, and whether they are those that the inventory opens.

`python -m tests.support.port_scan [--source ADDRESS] [--port PORT]... HOST...` prints them as JSON. So another machine or
network namespace can scan.
"""

from __future__ import annotations

import argparse
import errno
import itertools
import json
import select
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hopshive.services.firewall.ports import Opening

ALL = range(1, 65536)
# Connections at a time, below the limit of open files of a session.
AT_A_TIME = 800


def scan(host: str, ports: Iterable[int] = ALL, source: str = "", timeout: float = 2.0) -> set[int]:
    """The ports that accept a connection. `source`: an own address to come from; `timeout`: seconds, where nothing answers."""
    family, *_, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    found: set[int] = set()
    for batch in _batches(ports, AT_A_TIME):
        found |= _open_of(family, str(address[0]), batch, source, timeout)
    return found


def _open_of(family: int, address: str, ports: Sequence[int], source: str, timeout: float) -> set[int]:
    found: set[int] = set()
    waiting: dict[int, tuple[socket.socket, int]] = {}
    poll = select.poll()
    for port in ports:
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        if source:
            connection.bind((source, 0))
        result = connection.connect_ex((address, port))
        if result == errno.EINPROGRESS:
            waiting[connection.fileno()] = (connection, port)
            poll.register(connection, select.POLLOUT)
            continue
        if result == 0:
            found.add(port)
        connection.close()
    until = time.monotonic() + timeout
    while waiting and (left := until - time.monotonic()) > 0:
        for number, _ in poll.poll(left * 1000):
            connection, port = waiting.pop(number)
            poll.unregister(number)
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                found.add(port)
            connection.close()
    for connection, _ in waiting.values():
        connection.close()
    return found


def differences(
    found: Mapping[str, set[int]], openings: Mapping[str, Sequence[Opening]], sources: Iterable[str]
) -> list[str]:
    """A sentence for each port that is open and should not be, or the other way round.

    `found` has the open ports of each host; `openings` is what the inventory opens there; `sources` are those of the
    scanning address. Of a range any port may be closed, since only some job may listen there.
    """
    wanted = {*sources}
    said = []
    for host, ports in found.items():
        own = [one for one in openings[host] if one.source in wanted and one.protocol == "tcp"]
        allowed = {port for one in own for port in _numbers(one)}
        single = {port for one in own if "-" not in one.ports for port in _numbers(one)}
        said += [f"{host}: port {port} is open, and the inventory does not open it" for port in sorted(ports - allowed)]
        said += [f"{host}: port {port} is closed, and the inventory opens it" for port in sorted(single - ports)]
    return said


def _numbers(opening: Opening) -> range:
    first, _, last = opening.ports.partition("-")
    return range(int(first), int(last or first) + 1)


def _batches(items: Iterable[int], size: int) -> Iterator[list[int]]:
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--source", default="")
    arguments.add_argument("--timeout", type=float, default=2.0)
    arguments.add_argument("--port", type=int, action="append", help="only these; by default all")
    arguments.add_argument("host", nargs="+")
    given = arguments.parse_args()
    print(json.dumps({host: sorted(scan(host, given.port or ALL, given.source, given.timeout)) for host in given.host}))


if __name__ == "__main__":
    main()
