"""Rows that nothing refers to: descriptors, their columns and serializers, what materialized views and events left.

Why a row that is in use is never deleted, and no statement of the metastore fails for it (InnoDB, READ COMMITTED):

- The metastore makes an object in one transaction, so a row is seen together with what refers to it, or not at all.
- Who refers to a row takes a shared lock on it (the foreign key's check) and keeps it until the transaction ends. So we lock
  first, skipping what is locked; then we look, in a statement of its own, which sees all that was committed; only then we
  delete. No reference can come in between, and none can be there uncommitted. Deleting without that order would be worse
  than an error for SDS: its foreign keys cascade, so a new table would go along.
- A transaction of the metastore may have read an id when it was in use and may refer to it later, after it became garbage.
  Only columns of a table are shared in that way (ObjectStore.convertToMPart), and what makes them garbage is that the table
  went or its columns were changed: then the same transaction fails in the stock metastore too, at its foreign key to TBLS, or
  because ALTER TABLE removes unused columns at once. Besides, a sweep deletes what it saw unused twice, with time between.
- The collector skips locked rows and writes only unused rows, so it never waits for a session that waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.consistency.garbage.subject import Collected, Page
from hopshive.database import GIVEN, given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.consistency.garbage.references import GarbageKind
    from hopshive.database import Transaction

LOWEST = -(1 << 63)


@dataclass(frozen=True)
class Rows:
    """One kind of row; keys are its ids."""

    kind: GarbageKind

    @property
    def name(self) -> str:
        """The table."""
        return self.kind.root.table

    @property
    def by_name(self) -> bool:
        """Whether its owner is known by name."""
        return self.kind.root.owner is not None

    def page(self, tx: Transaction, after: int | None, size: int) -> Page:
        """The ids of garbage among the next `size` rows."""
        table, key = self.name, self.kind.root.key
        start = LOWEST if after is None else after
        end = tx.value(
            f"SELECT MAX(p.{key}), COUNT(*) FROM (SELECT {key} FROM {table} WHERE {key} > %s ORDER BY {key} LIMIT %s) p",
            (start, size),
        )
        if end is None:
            return Page([], None)
        found = tx.rows(
            f"SELECT g.{key} FROM {table} g FORCE INDEX (PRIMARY)"
            f" WHERE g.{key} > %s AND g.{key} <= %s AND {self.kind.unused}",
            (start, end),
        )
        return Page([int(row[0]) for row in found], int(end))

    def collect(self, tx: Transaction, keys: Sequence[int]) -> Collected:
        """Delete what is garbage with its parts; what it referred to becomes a candidate in the same transaction."""
        done = Collected()
        if not keys:
            return done
        key = self.kind.root.key
        among = f"{GIVEN} STRAIGHT_JOIN {self.name} g FORCE INDEX (PRIMARY) ON g.{key} = v.id"
        locked = _ids(tx, f"SELECT g.{key} FROM {among} FOR UPDATE SKIP LOCKED", keys)
        if len(locked) < len(set(keys)):
            done.left = sorted(set(_ids(tx, f"SELECT g.{key} FROM {among}", keys)) - set(locked))
        unused = _ids(tx, f"SELECT g.{key} FROM {among} WHERE {self.kind.unused}", locked) if locked else []
        if not unused:
            return done
        ids = (given(unused),)
        for onward in self.kind.onward:
            tx.execute(
                f"INSERT IGNORE INTO {{state}}.candidate (kind, id) SELECT DISTINCT %s, o.{onward.column}"
                f" FROM {GIVEN} STRAIGHT_JOIN {onward.table} o ON o.{onward.key} = v.id WHERE o.{onward.column} IS NOT NULL",
                (onward.kind, *ids),
            )
        for part in self.kind.parts:
            rows = f"{GIVEN} STRAIGHT_JOIN {part.table} p FORCE INDEX ({part.index}) ON p.{part.column} = v.id"
            done.add(part.table, tx.execute(f"DELETE p FROM {rows}", ids))
        done.add(self.name, tx.execute(f"DELETE g FROM {among}", ids))
        return done

    def count(self, tx: Transaction) -> Mapping[str, int]:
        """How many rows are garbage, without their parts."""
        sql = f"SELECT COUNT(*) FROM {self.name} g WHERE {self.kind.unused}"
        return {self.name: int(tx.value(sql))}


def _ids(tx: Transaction, sql: str, ids: Sequence[int]) -> list[int]:
    return [int(row[0]) for row in tx.rows(sql, (given(ids),))]
