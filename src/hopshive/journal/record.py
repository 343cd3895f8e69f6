"""Reading the journal: what can come back, what happened, and letting go of what is too old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive import state
from hopshive.closure import chunks
from hopshive.database import marks
from hopshive.paths import normal, path_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from hopshive.database import Row, Transaction
    from hopshive.journal.removal import Kind

# Rows that wait for the other object that they belong to have an entry of their own, found by this hash of no path.
WAITING = path_hash("rows that wait")
REFERENCE = "reference"
COLUMNS = "j.id, j.removal, j.kind, j.name, j.path, j.inode, j.removed, j.state, j.message"


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in the journal. `inode`: file id of its directory, if known; 0 if that went for good. `path`: empty for a view.

    `state`: removed, restored. `message`: why it was not restored the last time. Times are UTC.
    """

    id: int
    removal: int
    kind: Kind
    name: str
    path: str
    inode: int | None
    removed: datetime
    state: str
    message: str


@dataclass(frozen=True, slots=True)
class Removal:
    """Objects that went for one reason. `objects`: removed so far; `left`: of them, those that can come back."""

    id: int
    kind: str
    path: str
    target: str
    txid: int
    event_at: datetime | None
    begun: datetime
    ended: datetime | None
    objects: int
    left: int


def entry(row: Row) -> Entry:
    """From the columns of `COLUMNS`."""
    id_, removal, kind, name, path, inode, removed, state, message = row
    return Entry(id_, removal, kind, _text(name), _text(path), inode, removed, state, message)


def restorable(
    tx: Transaction,
    *,
    removal: int | None = None,
    path: str | None = None,
    name: str | None = None,
) -> list[Entry]:
    """Objects that can come back: those that meet all conditions, with what went with them. The newest first.

    `path`: its directory or one beneath it. `name`: hive.db, hive.db.table, hive.db.table/part=1, or what belongs to it.
    What was removed together with a table or database, although it lies elsewhere or nowhere (a view), comes with it. In
    this order each comes before what depends on it.
    """
    conditions, arguments = ["j.state = 'removed'"], list[object]()
    if removal is not None:
        conditions.append("j.removal = %s")
        arguments.append(removal)
    place = _place(path) if path is not None else []
    if place:
        conditions.append(_THERE)
        arguments += place
    if name is not None:
        own = name.encode("utf-8", "surrogateescape")
        conditions.append("(j.name = %s OR LEFT(j.name, %s) IN (%s, %s))")
        arguments += [own, len(own) + 1, own + b".", own + b"/"]
    where = " AND ".join(conditions)
    found = {
        row[0]: entry(row) for row in tx.rows(f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE {where}", arguments)
    }
    if place:
        found |= {one.id: one for one in _dependants(tx, list(found.values()), place)}
    return sorted(found.values(), key=lambda one: one.id, reverse=True)


# At a path or beneath it.
_THERE = f"(path_hash = %s AND path = %s OR {state.BENEATH})"


def _place(path: str) -> list[object]:
    """The arguments of _THERE."""
    above = normal(path)
    prefix = above.rstrip("/").encode("utf-8", "surrogateescape")
    return [path_hash(above), prefix or b"/", *state.beneath(prefix)]


def _dependants(tx: Transaction, entries: Sequence[Entry], place: Sequence[object]) -> Iterator[Entry]:
    """What went in the same removal with one of these tables and databases, and did not lie where they did."""
    owners = {(one.removal, one.name) for one in entries if one.kind != "partition"}
    for some in chunks(sorted({removal for removal, _name in owners})):
        sql = (
            f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE j.state = 'removed' AND j.removal IN ({marks(some)})"
            f" AND NOT {_THERE}"
        )
        for one in map(entry, tx.rows(sql, [*some, *place])):
            if any((one.removal, owner) in owners for owner in owners_of(one.name)):
                yield one


def owners_of(name: str) -> list[str]:
    """The database and the table that something of this name belongs to."""
    container, slash, _partition = name.partition("/")
    parts = container.split(".")
    return [".".join(parts[:2])] * (len(parts) > 2) + [container] * bool(slash)


def expire(tx: Transaction, before: datetime, limit: int) -> int:
    """Forget up to `limit` objects that were removed before a moment (UTC), and removals of which nothing is left."""
    ids = [
        row[0]
        for row in tx.rows(
            "SELECT id FROM {state}.journal WHERE removed < %s ORDER BY removed, id LIMIT %s", (before, limit)
        )
    ]
    gone = 0
    for some in chunks(ids):
        gone += tx.execute(f"DELETE FROM {{state}}.journal WHERE id IN ({marks(some)})", some)
    if len(ids) < limit:
        tx.execute(
            "DELETE FROM {state}.removal WHERE ended IS NOT NULL AND begun < %s AND ended < %s"
            " AND NOT EXISTS (SELECT 1 FROM {state}.journal j WHERE j.removal = removal.id)",
            (before, before),
        )
    return gone


def history(tx: Transaction, *, limit: int = 100) -> list[Removal]:
    """Removals, the newest first."""
    rows = tx.rows(
        "SELECT r.id, r.kind, r.path, r.target, r.txid, r.event_at, r.begun, r.ended, r.objects,"
        " (SELECT COUNT(*) FROM {state}.journal j WHERE j.removal = r.id AND j.state = 'removed')"
        " FROM {state}.removal r ORDER BY r.id DESC LIMIT %s",
        (limit,),
    )
    return [Removal(id_, kind, _text(path), _text(target), *rest) for id_, kind, path, target, *rest in rows]


def objects(tx: Transaction, removal: int, *, limit: int | None = None) -> list[Entry]:
    """The objects of one removal, in the order in which they went, in whatever state."""
    rows = tx.rows(
        f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE j.removal = %s AND j.kind <> %s ORDER BY j.id LIMIT %s",
        (removal, REFERENCE, 2**63 - 1 if limit is None else limit),
    )
    return [entry(row) for row in rows]


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
