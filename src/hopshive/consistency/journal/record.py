"""Reading the journal: what can come back, what happened, and letting go of what is too old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopshive.database import chunks, marks, state
from hopshive.hdfs.paths import normal, path_hash
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from hopshive.consistency.journal.batch import ObjectKind
    from hopshive.database import Row, Transaction

# Rows that wait for the other object that they belong to have an entry of their own, found by this hash of no path.
WAITING = path_hash("rows that wait")
REFERENCE = "reference"
COLUMNS = "j.id, j.removal, j.kind, j.name, j.path, j.inode, j.replacement, j.removed, j.state, j.message"


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in the journal. `inode`: file id of its directory, if known; 0 if that went for good. `path`: empty for a view.

    `replacement`: file id of the directory that lay there last, if that was another one, which the mirror was not bound to.
    `state`: removed, restored. `message`: why it was not restored the last time. Times are UTC.
    """

    id: int
    removal: int
    kind: ObjectKind
    name: str
    path: str
    inode: int | None
    replacement: int | None
    removed: datetime
    state: str
    message: str


@dataclass(frozen=True, slots=True)
class Removal:
    """Objects that went for one reason. `objects`: removed so far; `left`: of them, those that can come back.

    `what`: of what kind and name they were; empty when the journal has forgotten them.
    """

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
    what: str


def entry(row: Row) -> Entry:
    """From the columns of `COLUMNS`."""
    id_, removal, kind, name, path, inode, replacement, removed, state, message = row
    return Entry(id_, removal, kind, _text(name), _text(path), inode, replacement, removed, state, message)


def restorable(
    tx: Transaction,
    *,
    removal: int | None = None,
    path: str | None = None,
    name: str | None = None,
) -> list[Entry]:
    """Objects that can come back: those that meet all conditions, with what went with them. The newest first.

    `path`: its directory or one below it. `name`: hive.db, hive.db.table, hive.db.table/part=1, or what belongs to it.
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


# At a path or below it.
_THERE = f"(path_hash = %s AND path = %s OR {state.BELOW})"


def _place(path: str) -> list[object]:
    """The arguments of _THERE."""
    above = normal(path)
    prefix = above.rstrip("/").encode("utf-8", "surrogateescape")
    return [path_hash(above), prefix or b"/", *state.below(prefix)]


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
    return _removals(tx, "TRUE", [], limit)


def one_removal(tx: Transaction, number: int) -> Removal | None:
    """One of them."""
    return next(iter(_removals(tx, "r.id = %s", [number], 1)), None)


def _removals(tx: Transaction, where: str, arguments: Sequence[int], limit: int) -> list[Removal]:
    rows = tx.rows(
        "SELECT r.id, r.kind, r.path, r.target, r.txid, r.event_at, r.begun, r.ended, r.objects,"
        " (SELECT COUNT(*) FROM {state}.journal j WHERE j.removal = r.id AND j.state = 'removed')"
        f" FROM {{state}}.removal r WHERE {where} ORDER BY r.id DESC LIMIT %s",
        (*arguments, limit),
    )
    what = _summaries(tx, [row[0] for row in rows])
    return [
        Removal(id_, kind, _text(path), _text(target), txid, event_at, begun, ended, objects, left, what.get(id_, ""))
        for id_, kind, path, target, txid, event_at, begun, ended, objects, left in rows
    ]


def _summaries(tx: Transaction, removals: Sequence[int]) -> dict[int, str]:
    """What went in each removal: `table shop.orders with 3 partitions`, `111 partitions of sales.trips`."""
    counts: dict[int, dict[str, tuple[int, str, str]]] = {}
    for some in chunks(removals):
        sql = (
            "SELECT removal, kind, COUNT(*), MIN(name), MAX(name) FROM {state}.journal"
            f" WHERE removal IN ({marks(some)}) AND kind <> %s GROUP BY removal, kind"
        )
        for removal, kind, count, first, last in tx.rows(sql, [*some, REFERENCE]):
            counts.setdefault(removal, {})[kind] = (int(count), _text(first), _text(last))
    return {removal: summary(kinds) for removal, kinds in counts.items()}


def summary(kinds: Mapping[str, tuple[int, str, str]]) -> str:
    """Of how many objects of each kind, with the first and the last name in the order of bytes: what went, in words."""
    present = [kind for kind in ("database", "table", "partition") if kind in kinds]
    number, first, last = kinds[present[0]]
    said = counted(number, present[0])
    if number == 1:
        said = f"{present[0]} {first.partition('.')[2]}"
    elif present[0] == "partition" and first.partition("/")[0] == last.partition("/")[0]:
        # What lies between the two in the order has the same table.
        said += f" of {first.partition('/')[0].partition('.')[2]}"
    beneath = ", ".join(counted(kinds[kind][0], kind) for kind in present[1:])
    return f"{said} with {beneath}" if beneath else said


def sample(tx: Transaction, removal: int) -> Entry | None:
    """The object that went last of those that can come back and have a directory: the others lie below it, or beside it."""
    row = tx.row(
        f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE j.removal = %s AND j.state = 'removed' AND j.path <> ''"
        " ORDER BY j.id DESC LIMIT 1",
        (removal,),
    )
    return entry(row) if row else None


def latest(tx: Transaction, path: str, standing: Literal["removed", "restored"]) -> Entry | None:
    """Of the objects at or below a path that are still away, or that came back, the one that went last."""
    row = tx.row(
        f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE j.state = %s AND j.kind <> %s AND {_THERE}"
        " ORDER BY j.id DESC LIMIT 1",
        (standing, REFERENCE, *_place(path)),
    )
    return entry(row) if row else None


def objects(tx: Transaction, removal: int, *, limit: int | None = None) -> list[Entry]:
    """The objects of one removal, in the order in which they went, in whatever state."""
    rows = tx.rows(
        f"SELECT {COLUMNS} FROM {{state}}.journal j WHERE j.removal = %s AND j.kind <> %s ORDER BY j.id LIMIT %s",
        (removal, REFERENCE, 2**63 - 1 if limit is None else limit),
    )
    return [entry(row) for row in rows]


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
