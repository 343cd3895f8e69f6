"""Edits of HDFS: whether the JournalNodes take them.

A restarted JournalNode refuses edits until the active NameNode begins a segment (IPCLoggerChannel and Journal of Hadoop
3.3.6). The NameNode does so by itself only after dfs.ha.log-roll.period. If the next JournalNode is restarted before, the
NameNode reaches fewer than half of them, and ends. So a rolling restart begins a segment between two JournalNodes, and
asks the NameNode for the state of each.
"""

from __future__ import annotations

import json
import re
import socket
import time
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode import NameNode, NameNodeError
from hopshive.services.health import ATTEMPT_TIMEOUT, NoAnswer, bean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

# How often the NameNode is asked about a segment's first edit before another segment is begun.
POLLS_PER_SEGMENT = 10
# Seconds between two of these questions.
POLL_SECONDS = 0.2
# QuorumOutputStream.generateReport and IPCLoggerChannel.appendReport.
_JOURNAL = re.compile(r"(\S+:\d+) \(Written txid (-?\d+)")
_REFUSES = "re-sync on next segment"


def refusing(report: str, since: int = 0) -> list[str]:
    """JournalNodes (`address:port`) that a NameNode does not write to, or that have not written the edit `since`.

    `report`: the NameNode's NameJournalStatus. It is empty for a standby, which writes to none.
    """
    found = []
    for journal in json.loads(report or "[]"):
        stream = str(journal.get("stream", ""))
        parts = _JOURNAL.split(stream)
        journals = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
        found += [place for place, written, state in journals if int(written) < since or _REFUSES in state]
    return found


def addresses(host: str) -> set[str]:
    """The IP addresses of a host. Raises NoAnswer."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise NoAnswer(f"the name {host} has no address: {error}") from None


def begin_segment(address: tuple[str, int]) -> int:
    """Begin a segment at the active NameNode (`hdfs dfsadmin -rollEdits`); returns its first edit. Raises NameNodeError."""
    with NameNode([address]) as namenode:
        return namenode.roll_edits()


def wait_taken(
    namenodes: Sequence[str],
    timeout: float,
    *,
    besides: Collection[str] = (),
    authority: str = "",
    begin: Callable[[tuple[str, int]], int] = begin_segment,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Begin a segment of edits, and wait until the active NameNode writes it to every JournalNode except those at `besides`.

    `namenodes`: URLs. If none of them answers, no NameNode writes edits, and the function returns. Raises NoAnswer.
    """
    until = clock() + timeout
    while True:
        try:
            active = _active(namenodes, authority)
            if active is None:
                return
            url, address = active
            first = begin(address)
            for _ in range(POLLS_PER_SEGMENT):
                sleep(POLL_SECONDS)
                info = bean(url, "Hadoop:service=NameNode,name=NameNodeInfo", ATTEMPT_TIMEOUT, authority)
                late = refusing(info["NameJournalStatus"], first)
                places = [place for place in late if place.rpartition(":")[0] not in besides]
                if not places:
                    return
            problem = f"{url} writes no edits to {', '.join(places)}: see journalctl -u hadoop-hdfs-journalnode there"
        except (NoAnswer, NameNodeError) as error:
            problem = str(error)
        if clock() >= until:
            raise NoAnswer(f"Not all JournalNodes take edits: {problem}.")
        sleep(POLL_SECONDS)


def _active(namenodes: Sequence[str], authority: str) -> tuple[str, tuple[str, int]] | None:
    """URL and RPC address of the active NameNode; None if no NameNode answers. Raises NoAnswer if only standbys answer."""
    states = {}
    for url in namenodes:
        try:
            status = bean(url.rstrip("/"), "Hadoop:service=NameNode,name=NameNodeStatus", ATTEMPT_TIMEOUT, authority)
        except NoAnswer:
            continue
        states[url] = str(status.get("State"))
        if states[url] == "active":
            host, _, port = str(status["HostAndPort"]).rpartition(":")
            return url.rstrip("/"), (host, int(port))
    if states:
        said = ", ".join(f"{url} is {state}" for url, state in states.items())
        raise NoAnswer(f"no NameNode is active ({said})")
    return None
