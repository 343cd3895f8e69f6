"""The NameNode's stream of events (inotify.proto): events about the place of a directory are decoded, others are counted.

InotifyFSEditLogOpTranslator makes events of the edits:

- A directory and everything below it goes with one `unlink`.
- A move to the trash is a `rename`.
- A rename that overwrites is one `rename`: what was at its target is gone without an event of its own.
- Each directory that `mkdir -p` makes has its own `mkdir`.
- Snapshots, quotas and leases make no events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hopshive.hdfs.namenode.wire import Message, fields, signed

# EventType of inotify.proto; CLOSE 1, APPEND 2, METADATA 4 and TRUNCATE 6 never concern a directory's place.
CREATE, RENAME, UNLINK = 0, 3, 5
# INodeType of inotify.proto.
DIRECTORY = 1

EventKind = Literal["unlink", "rename", "mkdir"]


@dataclass(frozen=True, slots=True)
class Event:
    """A path that came or went; `target` is where a rename leads to, else empty. `time_ms` is the NameNode's clock."""

    kind: EventKind
    txid: int
    path: str
    target: str
    time_ms: int


@dataclass(frozen=True, slots=True)
class EventBatches:
    """The edits after a position, up to some hundred or thousand of them (dfs.namenode.inotify.max.events.per.rpc).

    `last_txid` is the position to continue from: what was asked for, if there is nothing new. Edits may have come without any
    event. `sync_txid` is the last durable transaction; minus `last_txid` it is how many are still unread.
    `skipped` counts the events that concern no directory's place.
    """

    events: list[Event]
    first_txid: int
    last_txid: int
    sync_txid: int
    skipped: int

    @property
    def lag(self) -> int:
        """Transactions that are durable and not yet read."""
        return max(0, self.sync_txid - self.last_txid)


def decode(edits: bytes) -> EventBatches:
    """An EventsListProto; `first_txid` and `last_txid` are -1 if there was nothing. Raises WireError."""
    events: list[Event] = []
    skipped = 0
    bounds = {2: -1, 3: -1, 4: 0}
    for number, value in fields(edits):
        if number == 5 and isinstance(value, bytes):
            txid = 0
            # A Java server writes the fields of a batch in the order of their numbers: txid, then events.
            for part, item in fields(value):
                if part == 1 and isinstance(item, int):
                    txid = item
                elif part == 2 and isinstance(item, bytes):
                    event = _event(txid, item)
                    if event:
                        events.append(event)
                    else:
                        skipped += 1
        elif number in bounds and isinstance(value, int):
            bounds[number] = signed(value)
    return EventBatches(events, bounds[2], bounds[3], bounds[4], skipped)


def _event(txid: int, data: bytes) -> Event | None:
    kind, contents = -1, b""
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            kind = value
        elif isinstance(value, bytes):
            contents = value
    if kind == UNLINK:
        unlink = Message(contents)
        return Event("unlink", txid, unlink.text(1), "", unlink.number(2))
    if kind == RENAME:
        rename = Message(contents)
        return Event("rename", txid, rename.text(1), rename.text(2), rename.number(3))
    # The type is the first field of a creation, so nothing else of a file's is read.
    if kind == CREATE and next(fields(contents), None) == (1, DIRECTORY):
        create = Message(contents)
        return Event("mkdir", txid, create.text(2), "", create.number(3))
    return None
