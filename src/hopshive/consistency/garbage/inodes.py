"""Inode rows that no storage descriptor is bound to, nor to anything below: directories that hopshive no longer follows.

Only with the source `hdfs`, where the table is ours. They cost little, a path more that events are compared with: a
page a second is looked at. The mirror is the only other writer; it must keep a shared lock on the rows of a chain that it found
(mirror.tree.read_rows) until what it inserts below them or binds to them is committed. Then locking first, skipping
what is locked, and looking in a statement of its own is safe here as it is for the metastore's rows: see garbage.rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.garbage.subject import Collected, Page
from hopshive.database import marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopshive.database import Row, Transaction

    # parent_id (which is partition_id too) and name.
    Key = tuple[int, bytes]

_UNBOUND = """
(SELECT 1 FROM SDS s WHERE s.PARTITION_ID = i.partition_id AND s.PARENT_ID = i.parent_id AND s.NAME = i.name LIMIT 1) IS NULL
"""
_BENEATH = "(SELECT 1 FROM {inodes} c WHERE c.partition_id = i.id LIMIT 1) IS NOT NULL"
# A directory that was moved stands under both of its names for a while; only the mirror knows which is the former one.
_UNUSED = f"{_UNBOUND} AND NOT {_BENEATH}"
# No path of HDFS is deeper than what 8000 characters hold; a cycle of rows would never end.
DEEPEST = 4000


@dataclass(frozen=True)
class Inodes:
    """The rows of {inodes}."""

    @property
    def name(self) -> str:
        """For metrics."""
        return "hdfs_inodes"

    @property
    def by_name(self) -> bool:
        """A foreign key leads to it."""
        return False

    def page(self, tx: Transaction, after: Key | None, size: int) -> Page:
        """Rows that nothing is bound to and nothing lies below, among the next `size`."""
        # Inodes in snapshots have negative numbers.
        parent, name = after or (-(2**63), b"")
        rows = tx.rows(
            f"SELECT parent_id, name, {_UNUSED} FROM {{inodes}} i"
            " WHERE partition_id > %s OR (partition_id = %s AND parent_id = %s AND name > %s)"
            " ORDER BY partition_id, parent_id, name LIMIT %s",
            (parent, parent, parent, name, size),
        )
        found = [(int(parent), bytes(name)) for parent, name, unused in rows if unused]
        return Page(found, (int(rows[-1][0]), bytes(rows[-1][1])) if len(rows) == size else None)

    def collect(self, tx: Transaction, keys: Sequence[Key]) -> Collected:
        """Delete them, and the directories above that are left with nothing."""
        done = Collected()
        level: set[Key] = set(keys)
        for depth in range(DEEPEST):
            gone, left = _delete(tx, level)
            done.add(self.name, len(gone))
            if depth == 0:
                done.left = left
            if not gone:
                break
            parents = sorted({parent for parent, _ in gone})
            rows = tx.rows(f"SELECT parent_id, name FROM {{inodes}} WHERE id IN ({marks(parents)})", parents)
            level = {(int(parent), bytes(name)) for parent, name in rows}
        return done

    def count(self, tx: Transaction) -> Mapping[str, int]:
        """Without the directories above them."""
        return {self.name: int(tx.value("SELECT COUNT(*) FROM {inodes} i WHERE " + _UNUSED))}


def _delete(tx: Transaction, keys: Iterable[Key]) -> tuple[list[Key], list[Key]]:
    """Delete those of some rows that are unused; returns them, and those that another session has locked."""
    by_parent: dict[int, list[bytes]] = {}
    for parent, name in sorted(keys):
        by_parent.setdefault(parent, []).append(name)
    gone: list[Key] = []
    left: list[Key] = []
    for parent, names in by_parent.items():
        locked = [bytes(row[0]) for row in _select(tx, "i.name", parent, names, "FOR UPDATE SKIP LOCKED")]
        if len(locked) < len(names):
            there = [bytes(row[0]) for row in _select(tx, "i.name", parent, names)]
            left += [(parent, name) for name in sorted(set(there) - set(locked))]
        unused = [bytes(row[0]) for row in _select(tx, "i.name", parent, locked, f"AND {_UNUSED}")]
        if unused:
            tx.execute(f"DELETE i FROM {_given(unused)}", (*unused, parent, parent))
            gone += [(parent, name) for name in unused]
    return gone, left


def _select(tx: Transaction, what: str, parent: int, names: Sequence[bytes], more: str = "") -> list[Row]:
    return tx.rows(f"SELECT {what} FROM {_given(names)} {more}", (*names, parent, parent)) if names else []


def _given(names: Sequence[bytes]) -> str:
    """Some rows below one inode, each found by its key: hopshive.consistency.garbage.rows says why not by IN (...)."""
    values = " UNION ALL ".join(["SELECT %s AS name"] * len(names))
    return (
        f"({values}) v STRAIGHT_JOIN {{inodes}} i FORCE INDEX (PRIMARY) ON i.name = v.name"
        " WHERE i.partition_id = %s AND i.parent_id = %s"
    )
