"""What every kind of garbage has in common: it is found page by page, seen twice, and collected a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopshive.database import Transaction


@dataclass(frozen=True)
class Page:
    """What a page of a table holds: the keys of garbage, and where the next page begins (None: it was the last)."""

    garbage: Sequence[Any]
    after: Any


@dataclass
class Collected:
    """What a transaction deleted: rows by table; `left` are keys that were locked by others, or too many at once."""

    rows: dict[str, int] = field(default_factory=dict)
    left: list[Any] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Rows of all tables."""
        return sum(self.rows.values())

    def add(self, table: str, rows: int) -> None:
        """Count deleted rows."""
        if rows:
            self.rows[table] = self.rows.get(table, 0) + rows


class Subject(Protocol):
    """One kind of garbage."""

    @property
    def name(self) -> str:
        """The table, for metrics and for {state}.candidate."""

    @property
    def by_name(self) -> bool:
        """Whether what needs it is known by name only, so that no lock of the database guards it."""

    def page(self, tx: Transaction, after: Any, size: int) -> Page:
        """Look at about `size` rows after `after` (None: from the start). Reads without a lock."""

    def collect(self, tx: Transaction, keys: Sequence[Any]) -> Collected:
        """Delete those of some keys that are garbage still. Never waits for the lock of a row that others may need."""

    def count(self, tx: Transaction) -> Mapping[str, int]:
        """Garbage now, by table. Reads the whole table, without a lock."""
