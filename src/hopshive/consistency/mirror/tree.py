"""The mirrored inodes: which directories the metastore refers to, as rows that its foreign keys can point at.

A row is (parent id, name, id) of a directory. Only the mirror writes rows and only the mirror binds storage descriptors to
them, so a row that nothing is bound to may be deleted: deleting a row with something bound would take it along.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.database import GIVEN, chunks, given, marks
from hopshive.hdfs.paths import encoded, prefixes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hopshive.database import Database, Transaction

# HDFS, INodeId.ROOT_INODE_ID: the inode of /.
ROOT = 16385
# The SDS columns that bind; see hopshive.consistency.schema. All NULL: not looked at yet.
NOT_OURS = b""  # NAME of a descriptor that lies elsewhere, or nowhere
MISSING = b"/"  # NAME of a descriptor whose directory was not there; no directory is called so


@dataclass(frozen=True, slots=True)
class Key:
    """Primary key of a row."""

    parent: int
    name: bytes


@dataclass(frozen=True, slots=True)
class Bound:
    """A storage descriptor and where it points."""

    sd_id: int
    location: str
    key: Key


@dataclass(slots=True)
class Found:
    """What the NameNode said of some paths: the file id of each that exists, `/` and all ancestors included."""

    ids: dict[str, int] = field(default_factory=dict)

    def key(self, path: str) -> Key | None:
        """The row of a path, or None if the path is not there (or is the root, which is no row)."""
        parent, _, name = path.rpartition("/")
        above = self.ids.get(parent or "/")
        if path not in self.ids or above is None or not name:
            return None
        return Key(above, encoded(name))

    def chain(self, path: str) -> list[tuple[str, Key, int]]:
        """Path, key and id of each inode from below the root to `path`, which exists."""
        rows = []
        for prefix in prefixes(path):
            key = self.key(prefix)
            if key is not None:
                rows.append((prefix, key, self.ids[prefix]))
        return rows


class Known:
    """Paths that an event may be about: those of mirrored directories and of what is missing, with their ancestors.

    Hashes of this process, 8 bytes each: a path that only seems known costs one pending check that finds nothing.
    """

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, path: str) -> bool:
        return hash(path) in self._hashes

    def add(self, path: str) -> None:
        """Add a path and its ancestors."""
        hashes = self._hashes
        while path and path != "/":
            code = hash(path)
            if code in hashes:
                return
            hashes.add(code)
            path = path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A directory that was made again: under its key stands another inode now."""

    path: str
    inode: int


def write_chains(tx: Transaction, found: Found, paths: Iterable[str]) -> list[Replaced]:
    """Insert the inodes of some paths, all there; returns those whose id has changed and below which something is mirrored."""
    wanted: dict[Key, tuple[str, int]] = {}
    for path in paths:
        for prefix, key, inode in found.chain(path):
            wanted[key] = (prefix, inode)
    there = read_rows(tx, wanted)
    fresh = [(key.parent, key.parent, key.name, inode) for key, (_, inode) in wanted.items() if key not in there]
    tx.many("INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (%s, %s, %s, %s)", fresh)
    replaced = []
    for key, (path, inode) in wanted.items():
        before = there.get(key)
        if before is not None and before != inode:
            tx.execute(
                "UPDATE {inodes} SET id = %s WHERE partition_id = %s AND parent_id = %s AND name = %s",
                (inode, key.parent, key.parent, key.name),
            )
            replaced.append(Replaced(path, before))
    deep = set(with_children(tx, [one.inode for one in replaced]))
    return [one for one in replaced if one.inode in deep]


def read_rows(tx: Transaction, keys: Iterable[Key]) -> dict[Key, int]:
    """The ids of those rows that are there, locked: no other session may prune what is about to be bound to, or to lie below."""
    by_parent: dict[int, list[bytes]] = {}
    for key in keys:
        by_parent.setdefault(key.parent, []).append(key.name)
    there: dict[Key, int] = {}
    for parent, names in by_parent.items():
        there |= _ids(tx, parent, names, "LOCK IN SHARE MODE")
    return there


def _ids(tx: Transaction, parent: int, names: Collection[bytes], lock: str = "") -> dict[Key, int]:
    """The ids of those rows of one parent that are there."""
    found: dict[Key, int] = {}
    for some in chunks(names):
        where = f"partition_id = %s AND parent_id = %s AND name IN ({marks(some)})"
        rows = tx.rows(f"SELECT name, id FROM {{inodes}} WHERE {where} {lock}", (parent, parent, *some))
        found |= {Key(parent, bytes(name)): int(inode) for name, inode in rows}
    return found


def rows_of(tx: Transaction, paths: Iterable[str]) -> dict[str, tuple[Key, int]]:
    """Key and id of the rows of some paths and of all above them, followed from the root; without those not mirrored."""
    levels: list[dict[str, None]] = []
    for path in paths:
        for depth, prefix in enumerate(prefixes(path)):
            if depth == len(levels):
                levels.append({})
            levels[depth][prefix] = None
    found: dict[str, tuple[Key, int]] = {}
    for level in levels:
        by_parent: dict[int, dict[bytes, str]] = {}
        for path in level:
            above, _, name = path.rpartition("/")
            if not above or above in found:
                by_parent.setdefault(found[above][1] if above else ROOT, {})[encoded(name)] = path
        for parent, names in by_parent.items():
            found |= {names[key.name]: (key, inode) for key, inode in _ids(tx, parent, names).items()}
    return found


def lock(tx: Transaction, locations: Mapping[int, str]) -> list[int]:
    """Lock storage descriptors, sd_id to location: those that still lie there and that no other session has locked.

    The metastore holds a lock on what it is changing; who waited for it would stand in its way with everything else.
    """
    if not locations:
        return []
    sql = f"SELECT SD_ID, LOCATION FROM SDS WHERE SD_ID IN ({marks(list(locations))}) FOR UPDATE SKIP LOCKED"
    return [int(sd_id) for sd_id, location in tx.rows(sql, list(locations)) if location == locations[int(sd_id)]]


def bind(tx: Transaction, keys: Mapping[int, Key]) -> int:
    """Set the foreign keys of storage descriptors that this transaction has locked."""
    rows = [(key.parent, key.name, sd_id) for sd_id, key in sorted(keys.items())]
    if not rows:
        return 0
    union = "SELECT %s AS parent_id, %s AS name, %s AS sd_id" + " UNION ALL SELECT %s, %s, %s" * (len(rows) - 1)
    sql = (
        f"UPDATE SDS s JOIN ({union}) v ON v.sd_id = s.SD_ID"
        " SET s.PARTITION_ID = v.parent_id, s.PARENT_ID = v.parent_id, s.NAME = v.name"
    )
    return tx.execute(sql, [value for row in rows for value in row])


def mark(tx: Transaction, sd_ids: Sequence[int], name: bytes | None) -> int:
    """Take storage descriptors out of the queue without binding them; with None, put them back."""
    if not sd_ids:
        return 0
    sql = f"UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = %s WHERE SD_ID IN ({marks(sd_ids)})"
    return tx.execute(sql, (name, *sd_ids))


def requeue(tx: Transaction, sd_ids: Sequence[int]) -> None:
    """Put storage descriptors back into the queue: their place is to be looked at again."""
    mark(tx, sd_ids, None)


def subtree(database: Database, root: Key | None, inode: int | None, page: int) -> Iterator[list[Bound]]:
    """What is bound at a row and below an inode, in pages of at most about `page` rows.

    Each page is a transaction of its own. What was bound, unbound or removed since is in a page or not.
    """
    if root is not None:
        with database.reading() as tx:
            at = _bound(tx, root.parent, root.name, root.name)
        if at:
            yield at
    stack = [inode] if inode is not None else []
    seen: set[int] = set()
    while stack:
        parent = stack.pop()
        if parent in seen:  # a directory that was moved stands under both of its names for a while
            continue
        seen.add(parent)
        for rows in _pages(database, parent, page):
            with database.reading() as tx:
                bound = _bound(tx, parent, rows[0][0], rows[-1][0])
                stack += with_children(tx, [inode for _, inode in rows])
            if bound:
                yield bound


def children(tx: Transaction, parent: int, after: bytes, limit: int) -> list[tuple[bytes, int]]:
    """Names and ids of the rows below an inode, a page."""
    rows = tx.rows(
        "SELECT name, id FROM {inodes} WHERE partition_id = %s AND parent_id = %s AND name > %s ORDER BY name LIMIT %s",
        (parent, parent, after, limit),
    )
    return [(bytes(name), int(inode)) for name, inode in rows]


def with_children(tx: Transaction, inodes: Sequence[int]) -> list[int]:
    """Those that have rows below them."""
    if not inodes:
        return []
    # One look for each: a table may have a million partitions below it.
    sql = f"SELECT v.id, (SELECT 1 FROM {{inodes}} i WHERE i.partition_id = v.id LIMIT 1) AS has FROM {GIVEN} HAVING has = 1"
    return [int(row[0]) for row in tx.rows(sql, [given(inodes)])]


def bound_at(tx: Transaction, parent: int, names: Sequence[bytes]) -> list[Bound]:
    """What is bound at some rows of one parent."""
    rows = tx.rows(
        f"SELECT SD_ID, LOCATION, NAME FROM SDS WHERE PARTITION_ID = %s AND PARENT_ID = %s AND NAME IN ({marks(names)})",
        (parent, parent, *names),
    )
    return [Bound(int(sd_id), location, Key(parent, bytes(name))) for sd_id, location, name in rows]


def _bound(tx: Transaction, parent: int, first: bytes, last: bytes) -> list[Bound]:
    rows = tx.rows(
        "SELECT SD_ID, LOCATION, NAME FROM SDS WHERE PARTITION_ID = %s AND PARENT_ID = %s AND NAME BETWEEN %s AND %s",
        (parent, parent, first, last),
    )
    return [Bound(int(sd_id), location, Key(parent, bytes(name))) for sd_id, location, name in rows]


def prune(database: Database, path: str, inode: int | None, page: int) -> None:
    """Delete the rows that nothing needs: below an inode, at a path, and above it as far as that goes."""
    if inode is not None:
        prune_below(database, inode, page)
    with database.transaction() as tx:
        prune_upwards(tx, path)


def prune_upwards(tx: Transaction, path: str) -> None:
    """Delete the rows that nothing needs from a path upwards."""
    rows = rows_of(tx, [path])
    for key in [rows[prefix][0] for prefix in reversed(list(prefixes(path))) if prefix in rows]:
        if not prune_rows(tx, key.parent, [key.name]):
            return


def prune_below(database: Database, inode: int, page: int) -> None:
    """The same for all that lies below an inode, the deepest first, a page a transaction."""
    above = [inode]
    # Directories that were moved into each other may go round in a circle for a while.
    seen = {inode}
    for parent in above:
        for rows in _pages(database, parent, page):
            with database.reading() as tx:
                deeper = [child for child in with_children(tx, [child for _, child in rows]) if child not in seen]
            above += deeper
            seen.update(deeper)
    for parent in reversed(above):
        for rows in _pages(database, parent, page):
            with database.transaction() as tx:
                prune_rows(tx, parent, [name for name, _ in rows])


def _pages(database: Database, parent: int, page: int) -> Iterator[list[tuple[bytes, int]]]:
    """Names and ids of the rows below an inode, each page read in a transaction of its own."""
    rows: list[tuple[bytes, int]] = []
    while True:
        with database.reading() as tx:
            rows = children(tx, parent, rows[-1][0] if rows else b"", page)
        if rows:
            yield rows
        if len(rows) < page:
            return


def prune_rows(tx: Transaction, parent: int, names: Sequence[bytes], *, moved: bool = False) -> int:
    """Delete those of some rows that nothing is bound to and nothing lies below.

    `moved`: these are former names of directories that have another name now, and what lies below stays with the new name. A
    caller that does not know leaves both: without the right one, nothing below would be found from the root.

    They are locked first and looked at in statements of their own, each of which sees what was committed when it began.
    """
    where = f"partition_id = %s AND parent_id = %s AND name IN ({marks(names)})"
    arguments = (parent, parent, *names)
    found = tx.rows(f"SELECT name, id FROM {{inodes}} WHERE {where} FOR UPDATE", arguments)
    rows = {bytes(name): int(inode) for name, inode in found}
    if not rows:
        return 0
    used = {one.key.name for one in bound_at(tx, parent, list(rows))}
    needed = set(with_children(tx, list(rows.values())))
    if moved:
        needed -= _twins(tx, list(rows.values()))
    free = [name for name, inode in rows.items() if name not in used and inode not in needed]
    if not free:
        return 0
    where = f"partition_id = %s AND parent_id = %s AND name IN ({marks(free)})"
    return tx.execute(f"DELETE FROM {{inodes}} WHERE {where}", (parent, parent, *free))


def _twins(tx: Transaction, inodes: Sequence[int]) -> set[int]:
    """Those that stand under two names."""
    sql = f"SELECT id FROM {{inodes}} WHERE id IN ({marks(inodes)}) GROUP BY id HAVING COUNT(*) > 1"
    return {int(row[0]) for row in tx.rows(sql, inodes)}
