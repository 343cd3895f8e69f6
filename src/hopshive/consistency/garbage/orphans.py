"""Rows whose owner is gone, on a server that may leave out a cascade and report success (`Transaction.is_ndb`, docs/ndb.md).

A removal deletes what it has journalled row by row, so these are of others: a NameNode of HopsFS, a human. A row of a table or
a partition that stays alone is worse than garbage, for Hive shows it. The foreign keys say what belongs to what, and no number is
given twice; so what had no owner twice, with time between, gets none, except by a restore, which this daemon writes itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopshive.consistency.garbage.references import leading_indexes, plain
from hopshive.consistency.garbage.subject import Collected, Page
from hopshive.database import marks
from hopshive.database.foreign_keys import INODE_KEY, outgoing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database import Transaction
    from hopshive.database.foreign_keys import ForeignKey

    # Which of the keys, and what the row's columns of it hold.
    Orphan = tuple[int, tuple[Any, ...]]

# Rows of one table that one transaction deletes; each takes its own dependants along.
MAX_ROWS = 1000


@dataclass(frozen=True)
class Orphans:
    """Rows that one of `keys` should have taken along. `indexes`: one that begins with a key's first column, for each."""

    keys: tuple[ForeignKey, ...]
    indexes: tuple[str, ...]

    @property
    def name(self) -> str:
        """For metrics: they are of many tables."""
        return "orphans"

    @property
    def by_name(self) -> bool:
        """A foreign key says what they belong to."""
        return False

    def page(self, tx: Transaction, after: tuple[int, Any] | None, size: int) -> Page:
        """What is missing for the next `size` rows of one key, which ends with all rows that have the same first column."""
        at, last = after or (0, None)
        key = self.keys[at]
        first = f"c.{key.columns[0]}"
        beyond, argument = (f"{first} > %s", [last]) if last is not None else (f"{first} IS NOT NULL", [])
        found = tx.row(
            f"SELECT MAX(v), COUNT(*) FROM (SELECT {first} AS v FROM {key.table} c FORCE INDEX ({self.indexes[at]})"
            f" WHERE {beyond} ORDER BY {first} LIMIT %s) p",
            (*argument, size),
        )
        end, seen = found or (None, 0)
        orphans = self._alone(tx, at, f"{beyond} AND {first} <= %s", [*argument, end]) if seen else []
        if seen == size:
            return Page(orphans, (at, end))
        return Page(orphans, (at + 1, None) if at + 1 < len(self.keys) else None)

    def collect(self, tx: Transaction, keys: Sequence[Orphan]) -> Collected:
        """Delete those that have no owner still; they are left if that was too much for one transaction."""
        done = Collected()
        by_key: dict[int, list[tuple[Any, ...]]] = {}
        for at, values in keys:
            by_key.setdefault(at, []).append(values)
        for at, some in by_key.items():
            key = self.keys[at]
            gone = [values for _, values in self._alone(tx, at, *_having("c", key, some))]
            if gone:
                condition, arguments = _having(key.table, key, gone)
                rows = tx.execute(f"DELETE FROM {key.table} WHERE {condition} LIMIT {MAX_ROWS}", arguments)
                done.add(key.table, rows)
                if rows >= MAX_ROWS:
                    done.left += [(at, values) for values in gone]
        return done

    def _alone(self, tx: Transaction, at: int, condition: str, arguments: Sequence[object]) -> list[Orphan]:
        """Which of the rows `c` for which a condition holds have lost their owner by one of the keys."""
        key = self.keys[at]
        columns = ", ".join(f"c.{column}" for column in key.columns)
        rows = tx.rows(
            f"SELECT DISTINCT {columns} FROM {key.table} c FORCE INDEX ({self.indexes[at]}) {_owner(key, 'p')}"
            f" WHERE {condition} AND {_missing(key, 'p')}",
            arguments,
        )
        return [(at, tuple(row)) for row in rows]

    def count(self, tx: Transaction) -> Mapping[str, int]:
        """Rows by table, each once however many owners it lacks."""
        of_table: dict[str, list[ForeignKey]] = {}
        for key in self.keys:
            of_table.setdefault(key.table, []).append(key)
        found: Counter[str] = Counter()
        for table, keys in of_table.items():
            owners = " ".join(_owner(key, f"p{number}") for number, key in enumerate(keys))
            missing = " OR ".join(f"({_missing(key, f'p{number}')})" for number, key in enumerate(keys))
            found[table] = int(tx.value(f"SELECT COUNT(*) FROM {table} c {owners} WHERE {missing}"))
        return found


def read_orphans(tx: Transaction, source: str) -> Orphans:
    """By the cascading keys of the metastore's database. Raises ReferencesError.

    Where the inodes are hopshive's own, a descriptor without one is none of these: the mirror asks the file system about it.
    """
    keys = tuple(key for key in outgoing(tx) if key.cascades and (source != "hdfs" or key.name != INODE_KEY))
    for key in keys:
        for name in (key.table, key.to, *key.columns, *key.to_columns):
            plain(name)
    indexes = leading_indexes(tx)
    return Orphans(keys, tuple(plain(indexes[key.table, key.columns[0]]) for key in keys))


def _owner(key: ForeignKey, alias: str) -> str:
    """The join of a row `c` with what it belongs to."""
    pairs = zip(key.columns, key.to_columns, strict=True)
    return f"LEFT JOIN {key.to} {alias} ON {' AND '.join(f'{alias}.{to} = c.{column}' for column, to in pairs)}"


def _missing(key: ForeignKey, alias: str) -> str:
    """That a row `c` says what it belongs to, and that is not there."""
    return " AND ".join(
        [*(f"c.{column} IS NOT NULL" for column in key.columns), f"{alias}.{key.to_columns[0]} IS NULL"]
    )


def _having(rows: str, key: ForeignKey, values: Sequence[tuple[Any, ...]]) -> tuple[str, list[object]]:
    """The condition that rows hold one of some values in a key's columns, and its arguments."""
    columns = ", ".join(f"{rows}.{column}" for column in key.columns)
    some = ", ".join([f"({marks(key.columns)})"] * len(values))
    return f"({columns}) IN ({some})", [item for value in values for item in value]
